package crypto

import (
	"errors"
	"fmt"

	"filippo.io/age"

	"coffer/crypto/internal/cost"
)

// Work factors of passphrase files: scrypt's N is 2 to their power and its
// memory 1 KiB times N. The minimum keeps a stolen data file expensive to
// guess at; the maximum keeps a planted file from taking a gigabyte or more.
const (
	MinWorkFactor     = 17 // 128 MiB
	DefaultWorkFactor = 18 // 256 MiB, about half a second
	MaxWorkFactor     = 20 // 1 GiB

	testOnlyWorkFactor = 4
)

// WrapPassphrase returns the master identity as an age file that passphrase
// opens, also with the stock age program. It refuses an empty passphrase and a
// work factor outside [MinWorkFactor] and [MaxWorkFactor].
//
// age's own scrypt recipient is always alone in its file, so whoever can make a
// file that opens knows the passphrase: this kind of method file cannot be
// replaced by somebody who only writes to the disk.
func WrapPassphrase(m *Master, passphrase []byte, workFactor int) ([]byte, error) {
	to, err := newPassphraseRecipient(passphrase, workFactor)
	if err != nil {
		return nil, err
	}
	text := m.text()
	defer clear(text)
	return encryptKey(text, to)
}

func newPassphraseRecipient(passphrase []byte, workFactor int) (*age.ScryptRecipient, error) {
	if workFactor < MinWorkFactor || workFactor > MaxWorkFactor {
		return nil, fmt.Errorf("%w: %d is not between %d and %d", ErrWorkFactor, workFactor, MinWorkFactor, MaxWorkFactor)
	}
	to, err := age.NewScryptRecipient(string(passphrase))
	if err != nil {
		return nil, errors.New("the passphrase is empty")
	}
	to.SetWorkFactor(effectiveWorkFactor(workFactor))
	return to, nil
}

// effectiveWorkFactor is the one asked for, but in cheap tests.
func effectiveWorkFactor(asked int) int {
	if cost.Cheap() {
		return testOnlyWorkFactor
	}
	return asked
}

// UnwrapPassphrase opens a file of [WrapPassphrase]. It fails with
// [ErrWrongPassphrase], with [ErrWorkFactor] before doing the work if the file
// demands more than [MaxWorkFactor], or with [ErrDamaged].
func UnwrapPassphrase(file, passphrase []byte) (*Master, error) {
	if len(passphrase) == 0 {
		return nil, ErrWrongPassphrase
	}
	id, err := newPassphraseIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	payload, err := decryptKey(file, id)
	if err != nil {
		return nil, err
	}
	return parseMaster(payload)
}

// passphraseIdentity is age's scrypt identity with our errors.
type passphraseIdentity struct{ *age.ScryptIdentity }

func newPassphraseIdentity(passphrase []byte) (passphraseIdentity, error) {
	id, err := age.NewScryptIdentity(string(passphrase))
	if err != nil {
		return passphraseIdentity{}, err
	}
	id.SetMaxWorkFactor(MaxWorkFactor)
	return passphraseIdentity{id}, nil
}

func (p passphraseIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != "scrypt" {
		return nil, fmt.Errorf("%w: it is not encrypted with a passphrase", ErrDamaged)
	}
	if args := stanzas[0].Args; len(args) == 2 && tooMuchWork(args[1]) {
		return nil, fmt.Errorf("%w: the file demands more than %d", ErrWorkFactor, MaxWorkFactor)
	}
	fileKey, err := p.ScryptIdentity.Unwrap(stanzas)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrWrongPassphrase
	}
	return fileKey, err
}

// tooMuchWork reports whether the canonical decimal logN is above the maximum.
// It compares digits, so that no number is too long for it; anything else is
// left for age to refuse.
func tooMuchWork(logN string) bool {
	for _, c := range []byte(logN) {
		if c < '0' || c > '9' {
			return false
		}
	}
	most := fmt.Sprint(MaxWorkFactor)
	if len(logN) != len(most) {
		return len(logN) > len(most)
	}
	return logN > most
}

// WrapIdentity returns the master identity as an age file to a hybrid
// recipient, for a key file or the recovery key. The file notes the fingerprint
// of the recipient, which gives away to a reader of the disk which key opens
// it, and nothing else.
//
// Unlike a passphrase file it can be made by whoever knows the recipient, which
// is public: somebody who may write to the disk can put a master of his own in
// its place. Nothing sealed under the old one opens then.
func WrapIdentity(m *Master, recipient string) ([]byte, error) {
	to, err := parseRecipient(recipient)
	if err != nil {
		return nil, err
	}
	text := m.text()
	defer clear(text)
	return encryptKey(text, hintedRecipient{to})
}

// UnwrapIdentity opens a file of [WrapIdentity]. It fails with a [*KeyError],
// which is an [ErrWrongKey], or with [ErrDamaged].
func UnwrapIdentity(file []byte, i *Identity) (*Master, error) {
	payload, err := decryptKey(file, hintedIdentity{i.id})
	if err != nil {
		return nil, err
	}
	return parseMaster(payload)
}
