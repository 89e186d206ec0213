package crypto

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"filippo.io/age"
)

// maxKeyFile bounds what is parsed as the age file of a key. The largest one of
// ours, with a hybrid stanza, has about 1,800 bytes.
const maxKeyFile = 16 << 10

// encryptKey returns payload as an age file to one recipient.
func encryptKey(payload []byte, to age.Recipient) ([]byte, error) {
	var buf bytes.Buffer
	w, err := age.Encrypt(&buf, to)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(payload); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// decryptKey returns the payload of an age file. An error that the identity
// made its own (wrong key, wrong passphrase, work factor) comes back as it is,
// any other is [ErrDamaged].
func decryptKey(file []byte, with age.Identity) ([]byte, error) {
	if len(file) > maxKeyFile {
		return nil, damaged(fmt.Errorf("%d bytes are too many for a key", len(file)))
	}
	// Of age's two readers this one checks the end of the file at once, and
	// takes half the memory for a file of one chunk.
	r, size, err := age.DecryptReaderAt(bytes.NewReader(file), int64(len(file)), with)
	if err != nil {
		return nil, classify(err)
	}
	payload := make([]byte, size)
	if n, err := r.ReadAt(payload, 0); n != len(payload) {
		return nil, damaged(err)
	}
	return payload, nil
}

func classify(err error) error {
	if _, ok := errors.AsType[*KeyError](err); ok {
		return err
	}
	if wrong, ok := errors.AsType[*pluginError](err); ok {
		return wrong
	}
	for _, known := range []error{ErrWrongPassphrase, ErrWrongKey, ErrDamaged, ErrWorkFactor, ErrDestroyed} {
		if errors.Is(err, known) {
			return err
		}
	}
	return damaged(err)
}

// fingerprint shortens a public recipient to five groups of four hex digits, 80
// bits of its SHA-256: enough to tell keys apart by eye, and out of reach for
// somebody who looks for another key with the same fingerprint.
func fingerprint(recipient string) string {
	sum := sha256.Sum256([]byte(recipient))
	digits := hex.EncodeToString(sum[:10])
	var groups []string
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, digits[i:i+4])
	}
	return strings.Join(groups, "-")
}

// hintStanza is the type of a stanza that wraps nothing and names, as its only
// argument, the fingerprint of the key that opens the file. Without it a file
// cannot say which key it wants: hybrid stanzas do not show their recipient.
// Every age program skips stanzas it does not know.
const hintStanza = "coffer-key"

var fingerprintPattern = regexp.MustCompile(`^[0-9a-f]{4}(-[0-9a-f]{4}){4}$`)

// hintedRecipient is a hybrid recipient that adds the hint.
type hintedRecipient struct{ *age.HybridRecipient }

func (h hintedRecipient) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	stanzas, _, err := h.WrapWithLabels(fileKey)
	return stanzas, err
}

func (h hintedRecipient) WrapWithLabels(fileKey []byte) ([]*age.Stanza, []string, error) {
	stanzas, labels, err := h.HybridRecipient.WrapWithLabels(fileKey)
	if err != nil {
		return nil, nil, err
	}
	hint := &age.Stanza{Type: hintStanza, Args: []string{fingerprint(h.String())}}
	return append(stanzas, hint), labels, nil
}

// hintedIdentity is a hybrid identity that answers a file of another key with a
// [*KeyError].
type hintedIdentity struct{ *age.HybridIdentity }

func (h hintedIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	fileKey, err := h.HybridIdentity.Unwrap(stanzas)
	if !errors.Is(err, age.ErrIncorrectIdentity) {
		return fileKey, err
	}
	wrong := &KeyError{Offered: fingerprint(h.Recipient().String())}
	var wanted []string
	hybrid := false
	for _, s := range stanzas {
		hybrid = hybrid || s.Type == "mlkem768x25519"
		if s.Type == hintStanza && len(s.Args) == 1 && fingerprintPattern.MatchString(s.Args[0]) {
			wanted = append(wanted, s.Args[0])
		}
	}
	wrong.Wanted = strings.Join(wanted, " or ")
	if !hybrid {
		return nil, fmt.Errorf("%w: it is not encrypted to a hybrid key", ErrDamaged)
	}
	return nil, wrong
}
