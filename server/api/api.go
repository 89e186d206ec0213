// Package api is the vocabulary that server and clients share: the requests and
// answers of the wire, the closed list of errors, and the rules a name must meet.
//
// It knows nothing of HTTP, of storage or of who may do what. Its one invariant:
// a value on its way in is a [Secret], which never prints itself; only the few
// answer fields of type [Revealed] show a value in JSON.
package api

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the wire, in bytes unless said otherwise.
const (
	MaxBody           = 1 << 20
	MaxValue          = 64 << 10
	MaxValueLarge     = 256 << 10
	MaxSecretsPerPush = 1000
	DefaultPage       = 25
	MaxPage           = 100
)

// Time is an instant on the wire: RFC 3339 in UTC with three fractional digits.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At makes a wire instant of t.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AtOrNull is At, or nil for the zero time.
func AtOrNull(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	at := At(t)
	return &at
}

// String is the wire form without quotes.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON writes the wire form.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 instant.
func (t *Time) UnmarshalJSON(b []byte) error {
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	if err != nil {
		return fmt.Errorf("api: %q is no RFC 3339 instant", b)
	}
	t.Time = at.UTC()
	return nil
}

// What a rule asks for, in the words an error message uses.
const (
	KeyRule         = "A key starts with A-Z and uses A-Z, 0-9 and _, at most 256 characters."
	EnvironmentRule = "An environment name has 2 to 30 characters: a-z first, then a-z, 0-9, - and _."
	RepoRule        = "A repository is named owner/repo, of letters, digits, '.', '_' and '-'; at most 39 and 100 characters."
	SubgroupRule    = "A repository is named group/repo or group:subgroup/repo, of letters, digits, '.', '_' and '-'; at most 255 and 100 characters."
)

// ValidKey reports whether s may name a secret.
func ValidKey(s string) bool {
	return hasLength(s, 1, 256) && isUpper(s[0]) &&
		every(s, func(c byte) bool { return isUpper(c) || isDigit(c) || c == '_' })
}

// ValidEnvironment reports whether s may name an environment.
func ValidEnvironment(s string) bool {
	return hasLength(s, 2, 30) && isLower(s[0]) &&
		every(s, func(c byte) bool { return isLower(c) || isDigit(c) || c == '_' || c == '-' })
}

// ValidOwner reports whether s may be the first half of a repository's name. At
// GitLab more may; see [ValidGroups].
func ValidOwner(s string) bool {
	return hasLength(s, 1, 39) && every(s, inRepo) && s != "." && s != ".."
}

// ValidGroups reports whether s may be the first half of a repository's name at
// GitLab, where groups are in groups: they are joined by ':'.
func ValidGroups(s string) bool {
	if !hasLength(s, 1, 255) {
		return false
	}
	for group := range strings.SplitSeq(s, ":") {
		if group == "" || group == "." || group == ".." || !every(group, inRepo) {
			return false
		}
	}
	return true
}

// ValidRepo reports whether s may be the second half of a repository's name.
func ValidRepo(s string) bool {
	return hasLength(s, 1, 100) && every(s, inRepo) && s != "." && s != ".."
}

func inRepo(c byte) bool {
	return isUpper(c) || isLower(c) || isDigit(c) || c == '.' || c == '_' || c == '-'
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func hasLength(s string, low, high int) bool { return low <= len(s) && len(s) <= high }

// every is checked by hand and not by a pattern: a push of a thousand secrets
// names a thousand keys.
func every(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// SplitRepo cuts "owner/repo" and reports whether both halves are well formed at
// any code host. What an instance takes from outside is held against its own
// host's rule besides: see [Fields].
func SplitRepo(full string) (owner, repo string, ok bool) {
	owner, repo, ok = strings.Cut(full, "/")
	return owner, repo, ok && ValidGroups(owner) && ValidRepo(repo)
}

// Preview masks a value: eight bullets for up to eight code points, two ends of
// two for up to twelve, two ends of four beyond.
func Preview(value string) string {
	const mask = "••••"
	switch n := utf8.RuneCountInString(value); {
	case n <= 8:
		return mask + mask
	case n <= 12:
		return ends(value, 2, mask)
	default:
		return ends(value, 4, mask)
	}
}

func ends(value string, n int, mask string) string {
	head, tail := 0, len(value)
	for range n {
		_, size := utf8.DecodeRuneInString(value[head:])
		head += size
		_, size = utf8.DecodeLastRuneInString(value[:tail])
		tail -= size
	}
	return value[:head] + mask + value[tail:]
}

// Page asks for a part of a list, and is embedded in the requests that take one.
type Page struct {
	Limit  *int `query:"limit"`
	Offset *int `query:"offset"`
}

// Bounds are the limit and offset asked for, or their defaults.
func (p Page) Bounds() (limit, offset int) {
	limit = DefaultPage
	if p.Limit != nil {
		limit = *p.Limit
	}
	if p.Offset != nil {
		offset = *p.Offset
	}
	return limit, offset
}

func (p Page) check(f *Fields, maxLimit int) {
	f.between("limit", p.Limit, 1, maxLimit)
	f.between("offset", p.Offset, 0, 1<<31-1)
}

// List is one page of a list. Total counts everything the caller may see.
type List[T any] struct {
	Items                []T
	Limit, Offset, Total int
}

// Cut is the page of all that p asks for.
func Cut[T any](all []T, p Page) *List[T] {
	limit, offset := p.Bounds()
	from := min(offset, len(all))
	to := min(from+limit, len(all))
	return &List[T]{Items: all[from:to], Limit: limit, Offset: offset, Total: len(all)}
}

// Pagination tells a client where a page lies.
type Pagination struct {
	Limit   int  `json:"limit"`
	Offset  int  `json:"offset"`
	Total   int  `json:"total"`
	HasMore bool `json:"hasMore"`
}

// Meta stands beside data in every enveloped answer.
type Meta struct {
	RequestID  string      `json:"requestId"`
	Pagination *Pagination `json:"pagination,omitempty"`
}

// Empty is the request or answer without members.
type Empty struct{}

// Check finds nothing wrong.
func (Empty) Check(*Fields) {}
