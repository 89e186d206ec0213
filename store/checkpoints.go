package store

import (
	"encoding/binary"
	"fmt"

	"coffer/store/kv"
)

// Checkpoint is a signed statement about the log: at a time it held this record
// as its last one. Base is the number behind which the log began then.
type Checkpoint struct {
	Number    uint64 `cbor:"1,keyasint"`
	Link      Link   `cbor:"2,keyasint"` // of that record
	At        Millis `cbor:"3,keyasint"`
	Base      uint64 `cbor:"4,keyasint"`
	Signature []byte `cbor:"5,keyasint"`
}

var (
	checkpoints = table[Checkpoint]{tagCheckpoint, "checkpoint"}
	bases       = table[Checkpoint]{tagActivityBase, "base of the audit log"}
)

// decodeSigned is t.decode for what is signed: every byte must be the one that
// was written, also where another would read the same.
func decodeSigned(t table[Checkpoint], b []byte) (Checkpoint, error) {
	c, err := t.decode(b)
	if err != nil {
		return c, err
	}
	c.Signature = append([]byte(nil), c.Signature...)
	again, err := encoding.Marshal(c)
	if err == nil && string(again) != string(b[1:]) {
		err = fmt.Errorf("%w: a record of type %s is not as it was written", kv.ErrCorrupt, t.noun)
	}
	return c, err
}

func getSigned(r kv.Reader, t table[Checkpoint], parts ...any) (Checkpoint, error) {
	b, err := r.Get(key(t.tag, parts...))
	if err != nil {
		return Checkpoint{}, err
	}
	return decodeSigned(t, b)
}

// ActivityBase is the record behind which the log begins: all up to it were
// pruned.
func (r Reader) ActivityBase() (Checkpoint, error) {
	return getSigned(r.kv, bases)
}

// AddCheckpoint writes a checkpoint.
func (tx Tx) AddCheckpoint(c Checkpoint) error { return checkpoints.put(tx.kv, c, c.Number) }

// LastCheckpoint is the newest checkpoint, or ErrNotFound.
func (r Reader) LastCheckpoint() (Checkpoint, error) {
	n, err := lastNumber(r.kv, []byte{tagCheckpoint})
	if err != nil {
		return Checkpoint{}, err
	}
	return getSigned(r.kv, checkpoints, n)
}

// CheckpointAt is the checkpoint of a record, or ErrNotFound.
func (r Reader) CheckpointAt(number uint64) (Checkpoint, error) {
	return getSigned(r.kv, checkpoints, number)
}

// ScanCheckpoints calls fn for the checkpoints of records behind a number, in
// order: with its key's number, and with an error in place of one that cannot be
// read.
func (r Reader) ScanCheckpoints(after uint64, limit int, fn func(number uint64, c Checkpoint, err error) error) error {
	span := kv.Prefix([]byte{tagCheckpoint})
	span.Start, span.Limit = key(tagCheckpoint, after+1), limit
	return r.kv.Scan(span, func(k, b []byte) error {
		c, err := decodeSigned(checkpoints, b)
		return fn(binary.BigEndian.Uint64(k[1:]), c, err)
	})
}

// Cursor says up to which record the log was handed on to some place.
type Cursor struct {
	Number uint64 `cbor:"1,keyasint"`
	Link   Link   `cbor:"2,keyasint"` // of that record
}

var cursors = table[Cursor]{tagActivityCursor, "cursor"}

// Cursor reads the cursor of a place, or ErrNotFound.
func (r Reader) Cursor(place string) (Cursor, error) { return cursors.get(r.kv, place) }

// PutCursor writes the cursor of a place.
func (tx Tx) PutCursor(place string, c Cursor) error { return cursors.put(tx.kv, c, place) }
