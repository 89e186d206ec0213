package crypto

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A share is written to be typed from paper: a prefix with the version, then
// groups of six characters, of which the last proves the five before it. So a
// mistake is found in its group instead of somewhere in the text.
const (
	sharePrefix = "COFFER-SHARE-1"
	shareFlat   = "C0FFERSHARE" // the prefix as flatten makes it, without its version
	shareDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	shareGroup  = 5
	shareGroups = 14

	shareSize = 3 + 4 + 32 + 4 // threshold, total, index; set; value; checksum
)

// ErrShare says that a text is not a share, or is mistyped.
var ErrShare = errors.New("not a usable share")

// shareEncoding is Crockford's base32, which has no letters that look like
// digits or like each other.
var shareEncoding = base32.NewEncoding(shareDigits).WithPadding(base32.NoPadding)

// LooksLikeShare reports whether a text begins as a share does, so that it is
// neither tried nor shown as anything else.
func LooksLikeShare(text string) bool {
	return strings.HasPrefix(flatten(withoutComments(text)), shareFlat)
}

// flatten takes out what people add to a text that they type, and puts digits in
// for the letters that look like them.
func flatten(text string) string {
	return lookalikes.Replace(strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == '_' || r == '.' || r == '\ufeff' || r == ' ' || r >= '\t' && r <= '\r' || r == '\u00a0' || r == '\u2011':
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, text))
}

var lookalikes = strings.NewReplacer("O", "0", "I", "1", "L", "1")

// shareBytes are the bytes of a share, with their checksum.
func (s *Share) shareBytes() []byte {
	b := make([]byte, 0, shareSize)
	b = append(b, byte(s.threshold), byte(s.total), byte(s.index))
	b = append(b, s.set[:]...)
	b = append(b, s.value.Reveal()...)
	return append(b, shareChecksum(b)...)
}

func shareChecksum(b []byte) []byte {
	sum := sha256.Sum256(append([]byte(sharePrefix), b...))
	return sum[:4]
}

// groupCheck is the character that proves the others of a group, and that it is
// the group of this number. A wrong character changes it, and so do two that
// changed places, unless they are half the alphabet apart.
func groupCheck(number int, group string) byte {
	sum := number
	for i := range len(group) {
		sum += (2*i + 3) * strings.IndexByte(shareDigits, group[i])
	}
	return shareDigits[sum%len(shareDigits)]
}

// Reveal returns the text of the share.
func (s *Share) Reveal() string {
	b := s.shareBytes()
	defer clear(b)
	// One character more than the bytes need makes the last group whole.
	digits := shareEncoding.EncodeToString(b) + shareDigits[:1]
	var out strings.Builder
	out.WriteString(sharePrefix)
	for i := range shareGroups {
		group := digits[i*shareGroup : (i+1)*shareGroup]
		out.WriteByte('-')
		out.WriteString(group)
		out.WriteByte(groupCheck(i+1, group))
	}
	return out.String()
}

// ParseShare reads the text of a share. Case, spaces, dashes and line breaks do
// not matter, and O, I and L are taken for the digits that they look like.
// Errors wrap [ErrShare], say which group is wrong, and never quote the text.
func ParseShare(text []byte) (*Share, error) {
	if len(text) > 4<<10 {
		return nil, fmt.Errorf("%w: the text is too long", ErrShare)
	}
	flat, ok := strings.CutPrefix(flatten(withoutComments(string(text))), shareFlat)
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrShare, sharePrefix)
	}
	flat, ok = strings.CutPrefix(flat, "1")
	if !ok {
		return nil, fmt.Errorf("%w: it is of another version; this program knows version 1", ErrShare)
	}
	digits, err := shareData(flat)
	if err != nil {
		return nil, err
	}
	last := len(digits) - 1
	b, err := shareEncoding.DecodeString(digits[:last])
	if err != nil || digits[last] != shareDigits[0] || shareEncoding.EncodeToString(b) != digits[:last] {
		return nil, fmt.Errorf("%w: group %d is mistyped", ErrShare, shareGroups)
	}
	defer clear(b)
	return shareOf(b)
}

// shareStart is where a share begins in a text with several.
var shareStart = regexp.MustCompile(`(?i)c[o0]ffer[-_.\s]*share`)

// ParseShares reads one share, or several that stand one behind another. An error
// says which of them is wrong.
func ParseShares(text []byte) ([]*Share, error) {
	if len(text) > MaxShares*4<<10 {
		return nil, fmt.Errorf("%w: the text is too long", ErrShare)
	}
	all := withoutComments(string(text))
	starts := shareStart.FindAllStringIndex(all, -1)
	if len(starts) < 2 || len(starts) > MaxShares {
		s, err := ParseShare(text)
		return []*Share{s}, err
	}
	var shares []*Share
	for i, at := range starts {
		from, to := at[0], len(all)
		if i == 0 {
			from = 0
		}
		if i+1 < len(starts) {
			to = starts[i+1][0]
		}
		s, err := ParseShare([]byte(all[from:to]))
		if err != nil {
			return nil, fmt.Errorf("share %d of the text: %w", i+1, err)
		}
		shares = append(shares, s)
	}
	return shares, nil
}

// withoutComments drops the lines of a file that say what it is.
func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// shareData proves each group and returns what they hold together.
func shareData(flat string) (string, error) {
	var digits strings.Builder
	var wrong []string
	for i := range shareGroups {
		group := flat[min(len(flat), i*(shareGroup+1)):min(len(flat), (i+1)*(shareGroup+1))]
		if len(group) < shareGroup+1 || strings.Trim(group, shareDigits) != "" || groupCheck(i+1, group[:shareGroup]) != group[shareGroup] {
			wrong = append(wrong, fmt.Sprint(i+1))
			continue
		}
		digits.WriteString(group[:shareGroup])
	}
	const whole = shareGroups * (shareGroup + 1)
	switch {
	case len(flat) != whole && len(wrong) > 0:
		return "", fmt.Errorf("%w: it has %d characters behind %s instead of %d; the first mistake is in group %s", ErrShare, len(flat), sharePrefix, whole, wrong[0])
	case len(flat) != whole:
		return "", fmt.Errorf("%w: it goes on behind its %d groups", ErrShare, shareGroups)
	case len(wrong) == 1:
		return "", fmt.Errorf("%w: group %s is mistyped", ErrShare, wrong[0])
	case len(wrong) > 1:
		return "", fmt.Errorf("%w: groups %s are mistyped", ErrShare, strings.Join(wrong, ", "))
	}
	return digits.String(), nil
}

// shareOf makes a share of its bytes.
func shareOf(b []byte) (*Share, error) {
	body := b[:shareSize-4]
	if !bytes.Equal(shareChecksum(body), b[shareSize-4:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong: two mistakes hide each other, or groups of two shares were mixed", ErrShare)
	}
	s := &Share{threshold: int(b[0]), total: int(b[1]), index: int(b[2]), value: NewSecret(bytes.Clone(body[7:]))}
	copy(s.set[:], body[3:7])
	if checkSplit(s.threshold, s.total) != nil || s.index < 1 || s.index > s.total || scalarOf(s.value.Reveal()) == nil {
		return nil, fmt.Errorf("%w: it was not made by coffer", ErrShare)
	}
	return s, nil
}

// Set names the set that the share belongs to: the beginning of the fingerprint
// of the key that the shares give together.
func (s *Share) Set() string { return setName(s.set) }

func setName(set [4]byte) string {
	return fmt.Sprintf("%04x-%04x", binary.BigEndian.Uint16(set[:2]), binary.BigEndian.Uint16(set[2:]))
}

// setOf are the bytes of the set of an identity.
func setOf(i *Identity) (set [4]byte) {
	_, err := hex.Decode(set[:], []byte(strings.ReplaceAll(i.Fingerprint()[:9], "-", "")))
	if err != nil {
		panic("crypto: internal error: a fingerprint is no hex")
	}
	return set
}
