// Package kv is the narrow waist between coffer and the place where its bytes
// are kept: ordered byte keys, snapshot reads, and one kind of write
// transaction.
//
// Its invariant: an [DB.Update] that returned nil is durable and complete, an
// Update that returned any other error than [ErrUnknown] wrote nothing. There
// is nothing in between, and a reader never sees a part of an Update.
//
// It does not know what the bytes mean: no records, no schema, no encryption
// (store keeps those), and nobody above it knows which driver runs. Drivers
// stand beside it (bolt); every one of them passes the suite in kvtest.
//
// The contract is written for the hardest driver, a cluster with optimistic
// transactions. What a local driver could do better, callers must not use.
package kv

import (
	"context"
	"errors"
	"io"
)

var (
	// ErrNotFound is what Get answers for an absent key. A key with an empty
	// value is not absent.
	ErrNotFound = errors.New("not found")

	// ErrFull means that the disk, or the size that the operator allowed, is
	// used up. Nothing was written, reads go on, and writes succeed again as
	// soon as there is room.
	ErrFull = errors.New("storage is full")

	// ErrReadOnly means that the place where the data lie, or would lie, refuses
	// every write. Nothing was written.
	ErrReadOnly = errors.New("storage is read-only")

	// ErrLocked means that another process holds the data. The error that wraps
	// it names that process and the path.
	ErrLocked = errors.New("locked by another process")

	// ErrCorrupt means that the stored data is damaged. The error that wraps it
	// says what to do next.
	ErrCorrupt = errors.New("data is corrupt")

	// ErrClosed is the answer to everything after Close.
	ErrClosed = errors.New("database is closed")

	// ErrEmptyKey is the answer to a Get, Put or Delete with an empty key.
	ErrEmptyKey = errors.New("empty key")

	// ErrTooLarge means that a key, a value or a whole transaction is larger
	// than the driver can take. Nothing was written.
	ErrTooLarge = errors.New("too large")

	// ErrUnknown means that the outcome of a commit could not be learned: it may
	// or may not be durable. Only a driver that talks over a network, or a disk
	// that failed in the middle of a commit, ever says so.
	ErrUnknown = errors.New("outcome of the commit is unknown")

	// Stop is returned by the function given to Scan to end the scan early. Scan
	// then returns nil.
	//
	//lint:ignore ST1012 it is a word to Scan, not a failure
	Stop = errors.New("stop")
)

// Reader reads one consistent snapshot. It is valid until the function that it
// was given to returns, and used by one goroutine at a time.
//
// The bytes that it hands out are valid just as long, and must not be modified:
// they may lie in a memory map.
type Reader interface {
	// Get returns the value of key, or ErrNotFound when there is none. The value
	// is never nil when the error is.
	Get(key []byte) ([]byte, error)

	// Scan calls fn for every key in r, in ascending byte order, or descending
	// with r.Reverse. A scan that fn ended with Stop returns nil; any other
	// error of fn ends the scan and is returned as it is. fn may write to the Tx
	// that is being scanned; whether the scan still meets what was written ahead
	// of it is not specified.
	Scan(r Range, fn func(key, value []byte) error) error
}

// Tx is a Reader that also writes. Its reads see its own writes.
//
// A transaction is meant to be small: about 50 keys and 512 KiB at most, so
// that every driver can take it. Bulk work goes in several.
type Tx interface {
	Reader

	// Put sets key to value. It keeps references to both until the transaction
	// ended, so neither may be modified before Update returned. A nil value is
	// an empty one.
	Put(key, value []byte) error

	// Delete removes key. Deleting an absent key is no error.
	Delete(key []byte) error
}

// DB is an ordered map from byte keys to byte values. All methods may be called
// by many goroutines at once.
type DB interface {
	// View gives fn a snapshot to read: everything that was acknowledged before
	// View was called, and never a part of an Update. It returns fn's error. fn
	// must be short: a snapshot that is held keeps old pages from being reused.
	// View must not be nested in an Update of the same DB, nor the other way.
	View(ctx context.Context, fn func(Reader) error) error

	// Update runs fn and writes what it wrote, all or nothing, serializable with
	// every other Update.
	//
	// fn may run more than once, and on another goroutine than the caller's, so
	// it must have no effect but on the Tx, or one that the next run replaces:
	// ids, times and random values are made outside. Only the last run counts.
	// fn must be short and must not wait for anything.
	//
	//   - fn returned an error: nothing is written, that error is returned, and
	//     no other Update is disturbed by it.
	//   - fn called Put or Delete and it failed: fn should return that error. If
	//     it does not, Update does.
	//   - Update returned nil: everything is on stable storage (fsync).
	//   - ctx ended before the update was taken into a commit: Update returns
	//     ctx's error; nothing is written, now or later.
	//   - once it was taken, Update ignores ctx and returns the true outcome. So
	//     a caller who gets ctx's error may say that nothing was written.
	//   - fn panicked: nothing is written, and Update panics on the caller's
	//     goroutine with a value that names what fn panicked with.
	Update(ctx context.Context, fn func(Tx) error) error

	// Close waits for the calls of View and Update that have begun, refuses all
	// later ones with ErrClosed, and releases everything. It must not be called
	// from within one. A second Close does nothing and returns nil.
	Close() error
}

// Copier is a DB whose driver can copy all of it while it is in use.
type Copier interface {
	// Copy makes a copy of the data as of now, and shows look the same snapshot,
	// so that what is said about the copy fits it. The copy is whole and checked
	// when Copy returns; reads and writes went on meanwhile.
	Copy(ctx context.Context, look func(Reader) error) (Copy, error)
}

// Copy is a copy of a DB as one data file. It is read once; Close removes it.
type Copy interface {
	io.ReadCloser

	// Size is the length of the file in bytes.
	Size() int64
}

// Rewriter is a DB whose data lie in a file, which can be measured and written
// anew. A driver without one is none.
type Rewriter interface {
	// Usage measures the file.
	Usage(ctx context.Context) (Usage, error)

	// Rewrite puts a new file in the place of the old one, with nothing in it that
	// was deleted or replaced before Rewrite was called. The DB is used meanwhile.
	// If Rewrite fails, the old file stays in use. told, which may be nil, hears
	// now and then how many of about how many bytes are copied.
	Rewrite(ctx context.Context, told func(done, all int64)) (Rewritten, error)
}

// Usage tells how large the data are.
type Usage struct {
	Size int64 // length of the file in bytes
	Used int64 // of that, in pages that hold data; the rest is free, and will be reused
	Room int64 // bytes that the disk has left for more, or -1 when that is not known
}

// Rewritten tells what a rewrite did.
type Rewritten struct {
	Before, After int64 // length of the file in bytes
}
