package crypto

import (
	"errors"
	"fmt"
)

var (
	// ErrWrongPassphrase says that a passphrase does not open a file. A file
	// whose salt or wrapped key was damaged looks the same.
	ErrWrongPassphrase = errors.New("wrong passphrase")

	// ErrWrongKey says that a file is sealed to another key than the one
	// offered. The error is usually a [*KeyError] with fingerprints.
	ErrWrongKey = errors.New("wrong key")

	// ErrDamaged says that a file is not what it should be, whatever the key.
	ErrDamaged = errors.New("damaged or foreign key file")

	// ErrWorkFactor says that a passphrase file demands more work than coffer
	// is willing to do, or that a new one was asked for with too little.
	ErrWorkFactor = errors.New("scrypt work factor out of range")

	// ErrIdentity says that a text is not a usable age identity.
	ErrIdentity = errors.New("not a usable age identity")

	// ErrRecipient says that a text is not a usable age recipient.
	ErrRecipient = errors.New("not a usable age recipient")

	// ErrDestroyed says that a key was used after it was wiped.
	ErrDestroyed = errors.New("key was destroyed")

	// ErrOpen says that a sealed value does not open: wrong key, wrong place
	// or changed bytes. It deliberately does not say which.
	ErrOpen = errors.New("sealed value does not open")

	// ErrToken says that a service JWT is not valid, for whatever reason.
	ErrToken = errors.New("invalid token")

	// ErrPasswordHash says that a stored password hash cannot be used.
	ErrPasswordHash = errors.New("unusable password hash")
)

// KeyError is an [ErrWrongKey] that knows the fingerprints of the keys.
type KeyError struct {
	// Wanted is the fingerprint noted in the file ("… or …" when the file is
	// for several keys), empty when there is none.
	// It is a hint for people: nobody who lacks the key can verify it.
	Wanted string
	// Offered is the fingerprint of the key that was tried.
	Offered string
}

// Error names both keys.
func (e *KeyError) Error() string {
	switch e.Wanted {
	case "":
		return fmt.Sprintf("wrong key: the file does not open with %s", e.Offered)
	case e.Offered:
		return fmt.Sprintf("wrong key: the file claims to be for %s but does not open with it", e.Offered)
	}
	return fmt.Sprintf("wrong key: the file needs %s, got %s", e.Wanted, e.Offered)
}

// Is makes every KeyError an [ErrWrongKey].
func (e *KeyError) Is(target error) bool { return target == ErrWrongKey }

// damaged makes err, which comes from a parser, an [ErrDamaged]. Parsers quote
// what they stumble over, which may be as long as the file.
func damaged(err error) error {
	text := err.Error()
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return fmt.Errorf("%w: %s", ErrDamaged, text)
}
