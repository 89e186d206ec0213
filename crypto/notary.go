package crypto

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
)

// labelStatement begins every text that a Notary signs, so that none of its
// signatures means anything elsewhere.
const labelStatement = "coffer/audit-statement/v1\x00"

// What a [Statement] is about. The list only grows: a number once used keeps
// its meaning.
const (
	Checkpoint   byte = 1 // the log held these records at that time
	Base         byte = 2 // the log begins behind this record; older ones were removed by rule
	ExportBegins byte = 3 // an exported file begins behind this record
	ExportEnds   byte = 4 // an exported file ends with this record
	StreamBegins byte = 5 // a streamed file begins behind this record
	StreamEnds   byte = 6 // a streamed file holds everything up to this record
)

// Statement is what a Notary signs about a log. Every field is signed.
type Statement struct {
	About       byte
	Instance    ID
	Number      uint64 // of the record concerned
	Link        Link   // of that record
	At          int64  // Unix milliseconds
	Base        uint64 // of the log or file: the number behind which it begins
	Vault       ID     // of a file that holds one vault's records only
	VaultNumber uint64 // of the record concerned, among that vault's
}

// text is what is signed: a fixed layout, so that a statement has one text.
func (s Statement) text() []byte {
	b := make([]byte, 0, len(labelStatement)+1+16+8+32+8+8+16+8)
	b = append(b, labelStatement...)
	b = append(b, s.About)
	b = append(b, s.Instance[:]...)
	b = binary.BigEndian.AppendUint64(b, s.Number)
	b = append(b, s.Link[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.At))
	b = binary.BigEndian.AppendUint64(b, s.Base)
	b = append(b, s.Vault[:]...)
	return binary.BigEndian.AppendUint64(b, s.VaultNumber)
}

// Notary signs statements about a log with Ed25519. What it signed can be
// checked by whoever has its public key, and cannot be denied by who holds the
// data: that is what it does and a [Chain] does not. It is safe for concurrent
// use. It does not print itself.
type Notary struct {
	redacted
	state *notaryState
}

type notaryState struct {
	mu      sync.RWMutex // for Destroy
	private *[ed25519.PrivateKeySize]byte
	public  ed25519.PublicKey
}

// NewNotary makes a notary of a random key, and returns that sealed by k for the
// place that context names.
func (k *DataKey) NewNotary(context []byte) (*Notary, []byte) {
	seed := make([]byte, ed25519.SeedSize)
	defer clear(seed)
	_, _ = rand.Read(seed)
	return newNotary(seed), k.Seal(nil, seed, context)
}

// OpenNotary opens what [DataKey.NewNotary] sealed.
func (k *DataKey) OpenNotary(sealed, context []byte) (*Notary, error) {
	seed, err := k.openSecret(sealed, context)
	if err != nil {
		return nil, fmt.Errorf("notary key: %w", err)
	}
	defer clear(seed)
	return newNotary(seed), nil
}

func newNotary(seed []byte) *Notary {
	key := ed25519.NewKeyFromSeed(seed)
	defer clear(key)
	private := [ed25519.PrivateKeySize]byte(key)
	return &Notary{state: &notaryState{private: &private, public: ed25519.PublicKey(append([]byte(nil), key[ed25519.SeedSize:]...))}}
}

// PublicKey is the public half in base64, 44 characters.
func (n *Notary) PublicKey() string { return base64.StdEncoding.EncodeToString(n.state.public) }

// Sign signs a statement. The signature depends on nothing but key and
// statement.
func (n *Notary) Sign(s Statement) ([]byte, error) { return n.sign(s.text()) }

func (n *Notary) sign(text []byte) ([]byte, error) {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	if n.state.private == nil {
		return nil, fmt.Errorf("notary key: %w", ErrDestroyed)
	}
	return ed25519.Sign(n.state.private[:], text), nil
}

// Signed reports whether signature is this notary's for the statement.
func (n *Notary) Signed(s Statement, signature []byte) bool {
	return ed25519.Verify(n.state.public, s.text(), signature)
}

// Destroy wipes the private key: afterwards Sign fails with [ErrDestroyed].
func (n *Notary) Destroy() {
	n.state.mu.Lock()
	defer n.state.mu.Unlock()
	if n.state.private != nil {
		clear(n.state.private[:])
		n.state.private = nil
	}
}
