package crypto

import (
	"bytes"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Identity is the hybrid age identity in a key file or of the recovery key. It
// does not print itself.
type Identity struct {
	redacted
	id *age.HybridIdentity
}

// NewIdentity generates an identity.
func NewIdentity() (*Identity, error) {
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("generate identity: %w", err)
	}
	return &Identity{id: id}, nil
}

// NewIdentity generates an identity, and returns it sealed by k for the place that
// context names.
func (k *DataKey) NewIdentity(context []byte) (*Identity, []byte, error) {
	i, err := NewIdentity()
	if err != nil {
		return nil, nil, err
	}
	return i, k.Seal(nil, []byte(i.Reveal()), context), nil
}

// OpenIdentity opens what [DataKey.NewIdentity] sealed.
func (k *DataKey) OpenIdentity(sealed, context []byte) (*Identity, error) {
	text, err := k.Open(nil, sealed, context)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	return ParseIdentity(text)
}

// maxIdentityText bounds an identity file; a key is 77 characters long.
const maxIdentityText = 64 << 10

// ParseIdentity reads an age identity file: one hybrid identity, beside blank
// lines and comments that begin with "#". Surrounding space, CRLF, a byte order
// mark and lower case are forgiven, because recovery keys are typed and pasted
// by people. Errors wrap [ErrIdentity] and never quote the text.
func ParseIdentity(text []byte) (*Identity, error) {
	if len(text) > maxIdentityText {
		return nil, fmt.Errorf("%w: the file is too long", ErrIdentity)
	}
	var found *Identity
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, err := parseIdentityLine(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %v", ErrIdentity, n, err)
		}
		if found != nil {
			return nil, fmt.Errorf("%w: line %d: a second key; exactly one is expected", ErrIdentity, n)
		}
		found = id
	}
	if found == nil {
		return nil, fmt.Errorf("%w: no line begins with AGE-SECRET-KEY-PQ-1", ErrIdentity)
	}
	return found, nil
}

func parseIdentityLine(line string) (*Identity, error) {
	upper := strings.ToUpper(line)
	switch {
	case strings.HasPrefix(upper, "AGE-SECRET-KEY-PQ-1"):
		// Bech32 forbids mixed case; a mix is a slip of the hand.
		if line != upper && line != strings.ToLower(line) {
			return nil, fmt.Errorf("mixed upper and lower case")
		}
		id, err := age.ParseHybridIdentity(upper)
		if err != nil {
			return nil, fmt.Errorf("the key is incomplete or mistyped (its checksum or length is wrong)")
		}
		return &Identity{id: id}, nil
	case strings.HasPrefix(upper, "AGE-SECRET-KEY-1"):
		return nil, fmt.Errorf("a classic X25519 key; coffer needs a hybrid one (age-keygen -pq)")
	case strings.HasPrefix(upper, "AGE-PLUGIN-"):
		return nil, fmt.Errorf("a plugin identity, which is no key by itself")
	case strings.HasPrefix(upper, "AGE1"):
		return nil, fmt.Errorf("a public recipient; the secret key begins with AGE-SECRET-KEY-PQ-1")
	case strings.HasPrefix(upper, "AGE-ENCRYPTION.ORG/"), strings.HasPrefix(upper, "-----BEGIN AGE ENCRYPTED FILE"):
		return nil, fmt.Errorf("an encrypted age file; decrypt it first")
	}
	return nil, fmt.Errorf("not an age key")
}

// Reveal returns the secret key, "AGE-SECRET-KEY-PQ-1…".
func (i *Identity) Reveal() string { return i.id.String() }

// File returns the text of a key file: comments, the secret key, a newline.
func (i *Identity) File() []byte {
	return fmt.Appendf(nil, "# coffer key, fingerprint %s\n# whoever has this file can unseal; keep it apart from the data\n%s\n",
		i.Fingerprint(), i.Reveal())
}

// Recipient returns the public half, "age1pq1…", of about 2,000 characters.
func (i *Identity) Recipient() string { return i.id.Recipient().String() }

// Fingerprint returns a short name of the public half that people can compare.
func (i *Identity) Fingerprint() string { return fingerprint(i.Recipient()) }

// parseRecipient reads a hybrid recipient. Errors wrap [ErrRecipient] and never
// quote the text: people paste secret keys where public ones belong.
func parseRecipient(text string) (*age.HybridRecipient, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "age1") && !strings.HasPrefix(text, "age1pq1") {
		return nil, fmt.Errorf("%w: not a hybrid one, which begins with age1pq1", ErrRecipient)
	}
	r, err := age.ParseHybridRecipient(text)
	if err != nil {
		return nil, fmt.Errorf("%w: expected a complete age1pq1 recipient", ErrRecipient)
	}
	return r, nil
}

// RecipientFingerprint is the short name of a hybrid recipient. Errors wrap
// [ErrRecipient].
func RecipientFingerprint(recipient string) (string, error) {
	r, err := parseRecipient(recipient)
	if err != nil {
		return "", err
	}
	return fingerprint(r.String()), nil
}
