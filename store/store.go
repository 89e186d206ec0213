// Package store keeps coffer's records: one file per noun, each with its
// struct, its keys and its indexes, over one flat, ordered keyspace.
//
// It sees sealed bytes only and knows no keys, no callers and no rules; what
// may be written is the warden's business. Its one invariant: a record and all
// index entries and counts that speak of it change in the same transaction.
//
// Reader and Tx live as long as the function they are handed to. Byte slices
// inside records read from them (sealed values, age files) belong to the
// transaction too, and must be copied to outlive it.
package store

import (
	"context"
	"errors"

	"coffer/store/kv"
)

// Errors of this package. Everything else comes from the driver as it is.
var (
	ErrNotFound = kv.ErrNotFound
	ErrExists   = errors.New("exists already")
)

// Store is the data of one instance.
type Store struct {
	db    kv.DB
	memos memos
}

// Open takes hold of the data in db. It returns an error that wraps ErrOlder when
// the data must be upgraded first, and ErrNewer when a later version wrote it.
// Closing the Store closes db.
func Open(ctx context.Context, db kv.DB) (*Store, error) {
	h, err := ReadHeader(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := h.fits(); err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
}

// View runs fn on a snapshot.
func (s *Store) View(ctx context.Context, fn func(Reader) error) error {
	return s.db.View(ctx, func(r kv.Reader) error { return fn(Reader{r, &s.memos}) })
}

// Update runs fn, perhaps more than once, and keeps what its last run wrote if
// it returned nil. What fn needs of time and chance is made outside of it.
func (s *Store) Update(ctx context.Context, fn func(Tx) error) error {
	return s.db.Update(ctx, func(tx kv.Tx) error { return fn(Tx{Reader{tx, &s.memos}, tx}) })
}

// Copy copies the data by way of its driver, and shows look the same snapshot.
func (s *Store) Copy(ctx context.Context, by kv.Copier, look func(Reader) error) (kv.Copy, error) {
	return by.Copy(ctx, func(r kv.Reader) error { return look(Reader{r, &s.memos}) })
}

// Close ends all use of the data.
func (s *Store) Close() error { return s.db.Close() }

// Reader reads records.
type Reader struct {
	kv    kv.Reader
	memos *memos
}

// Tx reads and writes records.
type Tx struct {
	Reader
	kv kv.Tx
}
