package crypto

import (
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// Encrypt returns a writer that encrypts to every one of the given recipients,
// for backups and bundles: plain age files, which the stock age program opens.
// Close ends the file; a file without its end does not decrypt.
//
// Everybody who knows a recipient can make such a file. It keeps a backup
// secret, it does not prove who wrote it.
func Encrypt(dst io.Writer, recipients ...string) (io.WriteCloser, error) {
	to := make([]age.Recipient, 0, len(recipients))
	for _, text := range recipients {
		r, err := parseRecipient(text)
		if err != nil {
			return nil, err
		}
		to = append(to, hintedRecipient{r})
	}
	if len(to) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrRecipient)
	}
	return age.Encrypt(dst, to...)
}

// EncryptPassphrase returns a writer that encrypts to a passphrase, and to
// nothing else: age wants it alone in its file. The limits of the work factor are
// those of [WrapPassphrase].
func EncryptPassphrase(dst io.Writer, passphrase []byte, workFactor int) (io.WriteCloser, error) {
	to, err := newPassphraseRecipient(passphrase, workFactor)
	if err != nil {
		return nil, err
	}
	return age.Encrypt(dst, to)
}

// DecryptPassphrase returns the content of an age stream that was encrypted to a
// passphrase, as [Identity.Decrypt] does. Its errors are those of
// [UnwrapPassphrase].
func DecryptPassphrase(src io.Reader, passphrase []byte) (io.Reader, error) {
	if len(passphrase) == 0 {
		return nil, ErrWrongPassphrase
	}
	id, err := newPassphraseIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	return decryptStream(src, id)
}

// Envelope is what an age file says to everybody about who can open it.
type Envelope struct {
	Passphrase bool     // a passphrase opens it
	Keys       []string // fingerprints of keys that open it, as far as they are noted; hints only
}

// LookAt reads the header of an age stream. It fails with [ErrDamaged] if there is
// none.
func LookAt(src io.Reader) (Envelope, error) {
	var seen onlooker
	_, err := age.Decrypt(io.LimitReader(src, maxEnvelope), &seen)
	if _, looked := errors.AsType[*age.NoIdentityMatchError](err); !looked {
		return Envelope{}, damaged(errors.New("it is no age file"))
	}
	return seen.Envelope, nil
}

// maxEnvelope bounds the header of an age file for many recipients.
const maxEnvelope = 1 << 20

// onlooker is an identity that opens nothing and sees the header.
type onlooker struct{ Envelope }

func (o *onlooker) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		o.Passphrase = o.Passphrase || s.Type == "scrypt"
		if s.Type == hintStanza && len(s.Args) == 1 && fingerprintPattern.MatchString(s.Args[0]) {
			o.Keys = append(o.Keys, s.Args[0])
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// Decrypt returns the content of an age stream. What a reader got is authentic
// chunk by chunk, and complete only when the last Read said [io.EOF].
func (i *Identity) Decrypt(src io.Reader) (io.Reader, error) {
	return decryptStream(src, hintedIdentity{i.id})
}

func decryptStream(src io.Reader, id age.Identity) (io.Reader, error) {
	r, err := age.Decrypt(src, id)
	if err != nil {
		return nil, classify(err)
	}
	return streamReader{r}, nil
}

// streamReader makes what age says about a broken body an [ErrDamaged].
type streamReader struct{ r io.Reader }

func (s streamReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	return n, err
}
