package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"coffer/store/kv"
)

// Version is one stored value of a secret. Versions of all secrets stand in one
// range, in the order in which they were made, so that writing many touches few
// pages; each names the one before it, and the secret's newest row names the
// last.
type Version struct {
	ID         ID
	Vault      ID
	Secret     ID
	Number     uint32
	Generation uint32 // of the data key that sealed the value
	Revision   uint64 // of the environment, since which this is the value
	Created    Millis
	CreatedBy  ID
	Previous   ID // zero for the first, or when retention removed what was before
	Sealed     []byte
}

// The frame: format, vault, secret, number, generation, revision, created,
// created by, previous, sealed value. The id is the key.
const (
	versionFormat = 1
	versionHeader = 1 + 16 + 16 + 4 + 4 + 8 + 8 + 16 + 16
)

func (v Version) frame() []byte {
	b := make([]byte, 0, versionHeader+len(v.Sealed))
	b = append(b, versionFormat)
	b = append(b, v.Vault[:]...)
	b = append(b, v.Secret[:]...)
	b = binary.BigEndian.AppendUint32(b, v.Number)
	b = binary.BigEndian.AppendUint32(b, v.Generation)
	b = binary.BigEndian.AppendUint64(b, v.Revision)
	b = binary.BigEndian.AppendUint64(b, uint64(v.Created))
	b = append(b, v.CreatedBy[:]...)
	b = append(b, v.Previous[:]...)
	return append(b, v.Sealed...)
}

func parseVersion(id ID, b []byte) (Version, error) {
	if len(b) < versionHeader || b[0] != versionFormat {
		return Version{}, fmt.Errorf("%w: a version of a secret has an unknown form", kv.ErrCorrupt)
	}
	return Version{
		ID:         id,
		Vault:      ID(b[1:17]),
		Secret:     ID(b[17:33]),
		Number:     binary.BigEndian.Uint32(b[33:]),
		Generation: binary.BigEndian.Uint32(b[37:]),
		Revision:   binary.BigEndian.Uint64(b[41:]),
		Created:    Millis(binary.BigEndian.Uint64(b[49:])),
		CreatedBy:  ID(b[57:73]),
		Previous:   ID(b[73:89]),
		Sealed:     b[versionHeader:],
	}, nil
}

// Version is the version with this id, of whatever secret: the caller holds its
// Vault and Secret against those asked for.
func (r Reader) Version(id ID) (Version, error) {
	b, err := r.kv.Get(key(tagVersion, id))
	if err != nil {
		return Version{}, err
	}
	return parseVersion(id, b)
}

// Versions lists the version last and those before it, newest first.
func (r Reader) Versions(last ID) ([]Version, error) {
	var all []Version
	for id := last; !id.IsZero(); {
		v, err := r.Version(id)
		if errors.Is(err, ErrNotFound) && len(all) > 0 {
			break // retention removed what was before
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
		id = v.Previous
	}
	return all, nil
}

// EachVersion calls fn for every version of every secret, oldest first.
func (r Reader) EachVersion(fn func(Version) error) error {
	return r.kv.Scan(kv.Prefix(key(tagVersion)), func(k, b []byte) error {
		v, err := parseVersion(ID(k[1:]), b)
		if err != nil {
			return err
		}
		return fn(v)
	})
}

func (tx Tx) addVersion(v Version) error {
	k := make([]byte, 1, 1+16)
	k[0] = tagVersion
	return tx.kv.Put(append(k, v.ID[:]...), v.frame())
}

func (tx Tx) deleteVersions(last ID) error {
	all, err := tx.Versions(last)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := tx.kv.Delete(key(tagVersion, v.ID)); err != nil {
			return err
		}
	}
	return nil
}
