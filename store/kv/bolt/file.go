package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// file is an open data file. A rewrite puts another in its place while readers
// are still at work in it, so it counts them, and whoever closes it waits until
// the last one let go.
type file struct {
	b       *bbolt.DB
	f       *os.File // bbolt's own
	mapped  int64    // bytes mapped at the beginning
	pages   int      // bytes in a page
	maxSize int64

	users atomic.Int64 // the DB that it belongs to counts as one
	free  chan struct{}
}

// openFile opens the file at path, and creates it when there is none.
func openFile(path string, o Options) (*file, error) {
	_, err := os.Stat(path)
	created := errors.Is(err, fs.ErrNotExist)
	h, err := mapFile(path, o)
	if err != nil {
		return nil, err
	}
	h.users.Store(1)
	if err := h.prepare(path, created); err != nil {
		return nil, errors.Join(explain(err, path), h.b.Close())
	}
	return h, nil
}

func mapFile(path string, o Options) (h *file, err error) {
	gate := gate{timeout: o.Timeout}
	defer func() {
		if p := recover(); p != nil {
			// bbolt lets go of a file only when it returns.
			gate.close()
			err = corrupt(p)
		}
	}()
	h = &file{mapped: o.MmapSize, maxSize: o.MaxSize, free: make(chan struct{})}
	opts := bbolt.Options{
		Timeout: o.Timeout,
		// The freelist is rebuilt at Open instead of written with every commit.
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		// A file that outgrows its map needs a new one, which waits for the
		// slowest reader while all others wait behind it.
		InitialMmapSize: int(h.mapped),
		NoStatistics:    true,
		NoSync:          o.NoSync,
		MaxSize:         int(o.MaxSize),
		OpenFile:        gate.open,
	}
	h.b, err = bbolt.Open(path, 0o600, &opts)
	if errors.Is(err, syscall.ENOMEM) && opts.InitialMmapSize > 0 {
		// Address space is limited here: take what the file needs.
		h.mapped, opts.InitialMmapSize = 0, 0
		h.b, err = bbolt.Open(path, 0o600, &opts)
	}
	if err != nil {
		return nil, explain(err, path)
	}
	h.f = gate.f
	if err := stillAt(path, h.f); err != nil {
		return nil, errors.Join(err, h.b.Close())
	}
	h.pages = h.b.Info().PageSize
	return h, nil
}

// stillAt refuses a file that lost its name while it was waited for: a rewrite
// by the process that held it put another there, which that process holds.
func stillAt(path string, f *os.File) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(mine, there) {
		return lockedBy(path)
	}
	return nil
}

// prepare makes the bucket of a new file, and the new file itself durable.
func (h *file) prepare(path string, created bool) error {
	err := guard(func() error {
		return h.b.View(func(t *bbolt.Tx) error {
			if t.Bucket(bucketName) != nil {
				return nil
			}
			if k, _ := t.Cursor().First(); k != nil {
				return corruptf("it holds bucket %q and is no file of coffer", k)
			}
			return kv.ErrNotFound
		})
	})
	if errors.Is(err, kv.ErrNotFound) {
		h.growBy(0)
		err = h.b.Update(func(t *bbolt.Tx) error {
			_, err := t.CreateBucket(bucketName)
			return err
		})
	}
	if err != nil || !created {
		return err
	}
	// Without this a power failure could take the whole new file with it.
	return syncDir(filepath.Dir(path))
}

// growBy sets how much the file grows beyond what a commit needs: in
// proportion, so that a small file stays small and a large one grows seldom,
// and never so much that the last room under the limit is out of reach.
func (h *file) growBy(used int64) {
	step := min(max(used/8, 256<<10), 16<<20)
	if h.maxSize > 0 {
		step = min(step, max(h.maxSize-used, 0)/4)
	}
	h.b.AllocSize = int(step) / h.pages * h.pages
}

// use counts its caller in, who must let go when it is done. It returns false
// when the file was given up meanwhile.
func (h *file) use() bool {
	for {
		n := h.users.Load()
		if n == 0 {
			return false
		}
		if h.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (h *file) letGo() {
	if h.users.Add(-1) == 0 {
		close(h.free)
	}
}

// holding counts its caller into the file that is in use now.
func (d *DB) holding() *file {
	for {
		// A file is given up only after another took its place.
		if h := d.file.Load(); h.use() {
			return h
		}
	}
}

// begin starts a transaction of bbolt. A panic in there leaves bbolt's locks
// behind, so nothing may be tried after it.
func (d *DB) begin(h *file, writable bool) (t *bbolt.Tx, err error) {
	if bad := d.bad.Load(); bad != nil && writable {
		return nil, *bad
	}
	err = guard(func() (err error) {
		t, err = h.b.Begin(writable)
		return err
	})
	if errors.Is(err, kv.ErrCorrupt) {
		d.stuck.CompareAndSwap(nil, &err)
	}
	return t, explain(err, d.path)
}

// size is the length of the file in bytes.
func (h *file) size() (int64, error) {
	fi, err := h.f.Stat()
	if err != nil {
		return 0, fmt.Errorf("ask for the file's length: %w", err)
	}
	return fi.Size(), nil
}
