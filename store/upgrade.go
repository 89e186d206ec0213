package store

import (
	"context"
	"errors"
	"fmt"

	"coffer/store/kv"
)

// Schema is the version of the layout that this package writes.
const Schema = 2

// Errors of data that this package does not work on.
var (
	// ErrNewer means that a newer coffer wrote the data.
	ErrNewer = errors.New("the data was written by a newer version of coffer")
	// ErrOlder means that an earlier coffer wrote the data, and that nobody has
	// upgraded it.
	ErrOlder = errors.New("the data was written by an earlier version of coffer and is not upgraded yet")
	// ErrLooking is the answer to a change of data that was opened to look at it.
	ErrLooking = errors.New("the data was opened to look at it, not to change it")
)

// upgrades lead from one schema to the next: the first from 1 to 2. Each works in
// the transaction of all, without keys, and perhaps twice; what it touches must be
// few records, however much data there is.
//
// Schema 2 knows more members of records than 1, which are absent at first. It
// exists so that earlier programs leave alone what they would not understand, and
// would lose by rewriting it: ways to unseal that they do not know, and keys that
// are being replaced.
var upgrades = []func(Tx) error{
	func(Tx) error { return nil },
}

// Header is what can be told of data of every schema, later ones too.
type Header struct {
	Schema  int    `cbor:"2,keyasint"` // 0 when nobody has set the instance up
	Version string `cbor:"8,keyasint"` // of the coffer that served it last, "" if that is not known
}

var headers = table[Header]{tagInstance, "header"}

// ReadHeader reads the header of the data in db, whatever its schema.
func ReadHeader(ctx context.Context, db kv.DB) (h Header, err error) {
	err = db.View(ctx, func(r kv.Reader) error {
		h, err = header(r)
		return err
	})
	if err != nil {
		return Header{}, fmt.Errorf("read the data's header: %w", err)
	}
	return h, nil
}

func header(r kv.Reader) (Header, error) {
	h, err := headers.get(r)
	if isNotFound(err) {
		return Header{}, nil
	}
	if err == nil && h.Schema < 1 {
		err = fmt.Errorf("%w: it says that it has schema %d", kv.ErrCorrupt, h.Schema)
	}
	return h, err
}

// fits says whether this package works on data with this header.
func (h Header) fits() error {
	switch {
	case h.Schema > Schema:
		return fmt.Errorf("%w: it has schema %d, and this version knows schemas up to %d", ErrNewer, h.Schema, Schema)
	case h.Schema != 0 && h.Schema < Schema:
		return fmt.Errorf("%w: it has schema %d, and this version works on schema %d", ErrOlder, h.Schema, Schema)
	}
	return nil
}

// Upgrade brings the data in db to this package's schema, in one transaction, and
// says which schema it had. Whoever calls it keeps a copy of the data first.
func Upgrade(ctx context.Context, db kv.DB) (from int, err error) {
	s := &Store{db: db}
	err = s.Update(ctx, func(tx Tx) error {
		h, err := header(tx.kv)
		if err != nil {
			return err
		}
		from = h.Schema
		if err := h.fits(); !errors.Is(err, ErrOlder) {
			return err
		}
		for _, up := range upgrades[from-1:] {
			if err := up(tx); err != nil {
				return err
			}
		}
		i, err := tx.Instance()
		if err != nil {
			return err
		}
		i.Schema = Schema
		return tx.PutInstance(i)
	})
	if err != nil {
		return from, fmt.Errorf("upgrade the data to schema %d: %w", Schema, err)
	}
	return from, nil
}

// NoteVersion notes which version of coffer serves the data, so that whoever goes
// back to a copy of it can be told which one that takes.
func (s *Store) NoteVersion(ctx context.Context, version string) error {
	if h, err := ReadHeader(ctx, s.db); err != nil || h.Schema == 0 || h.Version == version {
		return err
	}
	return s.Update(ctx, func(tx Tx) error {
		i, err := tx.Instance()
		if err != nil {
			return err
		}
		i.Version = version
		return tx.PutInstance(i)
	})
}

// OpenToLook is Open for data of this schema or an earlier one, which it only
// reads.
func OpenToLook(ctx context.Context, db kv.DB) (*Store, error) {
	h, err := ReadHeader(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := h.fits(); err != nil && !errors.Is(err, ErrOlder) {
		return nil, err
	}
	return &Store{db: looking{db}}, nil
}

// looking refuses every change.
type looking struct{ kv.DB }

// Update is part of kv.DB.
func (looking) Update(context.Context, func(kv.Tx) error) error { return ErrLooking }
