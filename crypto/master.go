package crypto

import (
	"fmt"
	"io"

	"filippo.io/age"
)

// Master is the master identity, a hybrid (ML-KEM-768 and X25519) age identity.
// At rest it exists only inside age files, one for each unseal method. It is
// needed to open or rewrap the root key and to add unseal methods, and should
// be let go after that. It does not print itself.
type Master struct {
	redacted
	id *age.HybridIdentity
}

// NewMaster generates a master identity.
func NewMaster() (*Master, error) {
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("generate master identity: %w", err)
	}
	return &Master{id: id}, nil
}

// Recipient returns the public half, "age1pq1…", of about 2,000 characters.
func (m *Master) Recipient() string { return m.id.Recipient().String() }

// Fingerprint returns a short name of the public half that people can compare,
// such as "3f9a-0c1d-77e2-b84a-19cd". It is public.
func (m *Master) Fingerprint() string { return fingerprint(m.Recipient()) }

// Decrypt returns the content of an age stream encrypted to the master
// recipient, as [Identity.Decrypt] does.
func (m *Master) Decrypt(src io.Reader) (io.Reader, error) {
	return decryptStream(src, hintedIdentity{m.id})
}

// File returns the text of the master as an age identity file, for one that lives
// only inside a backup which a passphrase opens.
func (m *Master) File() []byte { return m.text() }

// ParseMaster reads what [Master.File] wrote. Errors wrap [ErrDamaged] and never
// quote the text, which it wipes.
func ParseMaster(text []byte) (*Master, error) { return parseMaster(text) }

// text is what the age files of unseal methods contain: one line that is an age
// identity file, so that the stock age program can use what it decrypts.
func (m *Master) text() []byte { return []byte(m.id.String() + "\n") }

// parseMaster reads the payload of an unseal method's file. It insists on the
// exact form because that payload was authenticated: anything else was not
// written by coffer.
func parseMaster(payload []byte) (*Master, error) {
	defer clear(payload)
	n := len(payload) - 1
	if n < 0 || payload[n] != '\n' {
		return nil, fmt.Errorf("%w: the content is not a master identity", ErrDamaged)
	}
	id, err := age.ParseHybridIdentity(string(payload[:n]))
	// age's own message is left out: it may quote the text, which is a key.
	if err != nil {
		return nil, fmt.Errorf("%w: the content is not a master identity", ErrDamaged)
	}
	return &Master{id: id}, nil
}
