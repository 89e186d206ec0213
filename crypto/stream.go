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

// Decrypt returns the content of an age stream. What a reader got is authentic
// chunk by chunk, and complete only when the last Read said [io.EOF].
func (i *Identity) Decrypt(src io.Reader) (io.Reader, error) { return decryptStream(src, i.id) }

func decryptStream(src io.Reader, id *age.HybridIdentity) (io.Reader, error) {
	r, err := age.Decrypt(src, hintedIdentity{id})
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
