package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// PushSecrets asks to make an environment hold exactly these secrets.
type PushSecrets struct {
	RepoFullName string            `json:"repoFullName" need:"true"`
	Environment  string            `json:"environment" need:"true"`
	Secrets      map[string]Secret `json:"secrets" need:"true"`
	Mode         *string           `json:"mode"`
	BaseRevision *int              `json:"baseRevision"` // refuse unless the environment is at this revision
	DryRun       bool              `json:"dryRun"`
}

// The two ways a push treats active keys that it does not name.
const (
	ModeReplace = "replace" // they go to the trash
	ModeMerge   = "merge"   // they stay
)

// Repository is the repository the request is about.
func (r PushSecrets) Repository() string { return r.RepoFullName }

// Check holds every name and value against its rule.
func (r PushSecrets) Check(f *Fields) {
	f.repo("repoFullName", r.RepoFullName)
	f.environment("environment", r.Environment)
	if r.Mode != nil {
		f.oneOf("mode", *r.Mode, ModeReplace, ModeMerge)
	}
	f.between("baseRevision", r.BaseRevision, 0, 1<<53)
	if len(r.Secrets) > MaxSecretsPerPush {
		f.Add("secrets", FieldTooLarge, "At most %d secrets in one push; this one has %d.", MaxSecretsPerPush, len(r.Secrets))
		return
	}
	var bad []string
	for key, value := range r.Secrets {
		if !ValidKey(key) || value.Len() > MaxValueLarge {
			bad = append(bad, key)
		}
	}
	slices.Sort(bad)
	for _, key := range bad {
		f.key("secrets."+key, key)
		f.value("secrets."+key, r.Secrets[key])
	}
}

// PushStats counts what a push did, key by key.
type PushStats struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
}

// Pushed answers a push.
type Pushed struct {
	Success  bool         `json:"success"`
	Message  string       `json:"message"`
	Stats    PushStats    `json:"stats"`
	Revision uint64       `json:"revision"`
	DryRun   bool         `json:"dryRun,omitempty"`
	Changes  *PushChanges `json:"changes,omitempty"` // of a dry run
}

// PushChanges names what a push would do.
type PushChanges struct {
	Created []string `json:"created"`
	Updated []string `json:"updated"`
	Deleted []string `json:"deleted"`
}

// PullSecrets asks for an environment's values.
type PullSecrets struct {
	Repo        string `query:"repo" need:"true"`
	Environment string `query:"environment"`
	Limit       *int   `query:"limit"`
	Offset      *int   `query:"offset"`
	Format      string `query:"format"`
	At          string `query:"at"`       // an instant in the past
	Revision    *int   `query:"revision"` // a revision in the past
	IfNoneMatch string `header:"If-None-Match"`
}

// The two forms a pull answers in.
const (
	FormatEnv  = "env"  // one text of KEY=value lines
	FormatJSON = "json" // an object of exact values
)

// DefaultEnvironment is what a pull without an environment asks for.
const DefaultEnvironment = "default"

// Repository is the repository the request is about.
func (r PullSecrets) Repository() string { return r.Repo }

// EnvironmentName is the environment asked for.
func (r PullSecrets) EnvironmentName() string {
	if r.Environment == "" {
		return DefaultEnvironment
	}
	return r.Environment
}

// Check holds names and bounds against their rules.
func (r PullSecrets) Check(f *Fields) {
	f.repo("repo", r.Repo)
	if r.Environment != "" {
		f.environment("environment", r.Environment)
	}
	f.between("limit", r.Limit, 1, MaxSecretsPerPush)
	f.between("offset", r.Offset, 0, 1<<31-1)
	if r.Format != "" {
		f.oneOf("format", r.Format, FormatEnv, FormatJSON)
	}
	f.between("revision", r.Revision, 0, 1<<53)
	if r.At == "" {
		return
	}
	if _, err := parseInstant(r.At); err != nil {
		f.Add("at", InvalidFormat, "An instant in RFC 3339, like 2026-11-20T09:15:00Z.")
	}
	if r.Revision != nil {
		f.Add("revision", NotAllowed, "Ask for an instant or for a revision, not for both.")
	}
}

// Instant is At, or the zero time when it is absent.
func (r PullSecrets) Instant() time.Time {
	at, _ := parseInstant(r.At)
	return at
}

// rfc3339 is stricter than time.Parse, which takes hours of one digit, commas
// and offsets of more than a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseInstant reads RFC 3339, its small letters included.
func parseInstant(text string) (time.Time, error) {
	text = strings.ToUpper(text)
	if !rfc3339.MatchString(text) {
		return time.Time{}, fmt.Errorf("%q is not in RFC 3339", text)
	}
	return time.Parse(time.RFC3339, text)
}

// Pulled answers a pull: Content in the env form, Secrets in the JSON form.
type Pulled struct {
	Content  *Revealed           `json:"content,omitempty"`
	Secrets  map[string]Revealed `json:"secrets,omitzero"`
	Count    int                 `json:"count"`
	Total    int                 `json:"total"`
	Revision uint64              `json:"revision"`

	// Incomplete says of a look into the past that some of it was removed for good.
	Incomplete bool `json:"incomplete,omitempty"`

	// ETag names this answer; NotModified says that the client has it already,
	// and that there is nothing else in here.
	ETag        string `json:"-"`
	NotModified bool   `json:"-"`
}

// Tag is the answer's entity tag and whether the client has the answer already.
func (p Pulled) Tag() (etag string, notModified bool) { return p.ETag, p.NotModified }
