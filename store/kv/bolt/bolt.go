// Package bolt keeps a kv.DB in one bbolt file: the driver for one machine.
//
// Its invariant is that of kv: an acknowledged Update is on disk, a refused one
// left no trace. It does not know what the bytes mean, and nothing outside it
// knows bbolt.
//
// A write takes this way. Update puts its function into a queue (queue.go). Who
// finds nobody leading becomes the leader, so a lone writer works on its own
// goroutine and waits for nobody; the others wait. The leader takes one
// function after the other, runs each over an overlay of what the group has
// written so far (overlay.go, tx.go), applies the whole overlay to bbolt in key
// order, commits with one fsync (commit.go), hands the lead to the first of
// those that have gathered meanwhile, and tells the members of its group. A
// function that fails has its few entries taken out of the overlay again; bbolt
// never saw them. There is no goroutine of our own to look after.
//
// Damage: bbolt answers a damaged page with a panic, sometimes on a goroutine
// that nobody can recover. So a file is walked before bbolt gets to see it, unless
// it is large and was closed in order (pages.go), and whatever panics later becomes kv.ErrCorrupt (fault.go).
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// bucketName is the one bucket that holds the whole keyspace.
var bucketName = []byte("kv")

// Options are the few things that an operator or a test may choose. The zero
// Options are right for production.
type Options struct {
	// Timeout is how long Open waits for another process to let go of the file;
	// 0 means one second.
	Timeout time.Duration

	// MaxSize is the size in bytes that the file never outgrows; 0 means no
	// limit. A write that would need more gets kv.ErrFull.
	MaxSize int64

	// MmapSize is how much address space is reserved for the file at Open, in
	// bytes; 0 means 1 GiB, or twice the file when that is more. It costs
	// neither memory nor disk.
	MmapSize int64

	// NoSync leaves out every fsync: acknowledged writes may be lost. For tests
	// that write a lot and crash nothing.
	NoSync bool
}

// DB is a kv.DB in a bbolt file.
type DB struct {
	b       *bbolt.DB
	path    string
	maxSize int64
	mapped  int64 // bytes mapped at Open
	pages   int   // bytes in a page

	closed  atomic.Bool
	bad     atomic.Pointer[error] // why writing stopped for good; nil while all is well
	stuck   atomic.Pointer[error] // why nothing goes on at all; nil while all is well
	closing sync.Once

	mu      sync.Mutex
	queue   []*call
	leading bool
	idle    *sync.Cond // on mu: leading became false

	group group // belongs to whoever leads
	stats stats

	calls sync.Pool // of *call; none is shared with another DB, whose goroutines may run on a clock of their own
}

var _ kv.DB = (*DB)(nil)

// Open opens the file at path and creates it, readable by its owner only, when
// there is none; the directory must exist. It returns an error that wraps
// kv.ErrLocked when another process holds the file, and kv.ErrCorrupt when it
// is damaged or no file of ours.
func Open(path string, o Options) (*DB, error) {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	_, err := os.Stat(path)
	created := errors.Is(err, fs.ErrNotExist)
	d := &DB{path: path, maxSize: o.MaxSize, mapped: mmapSize(path, o)}
	d.idle = sync.NewCond(&d.mu)
	if err := d.open(o); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := d.prepare(created); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, d.Close()))
	}
	return d, nil
}

func (d *DB) open(o Options) (err error) {
	gate := gate{timeout: o.Timeout}
	defer func() {
		if p := recover(); p != nil {
			// bbolt lets go of a file only when it returns.
			gate.close()
			err = corrupt(p)
		}
	}()
	opts := bbolt.Options{
		Timeout: o.Timeout,
		// The freelist is rebuilt at Open instead of written with every commit.
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		// A file that outgrows its map needs a new one, which waits for the
		// slowest reader while all others wait behind it.
		InitialMmapSize: int(d.mapped),
		NoStatistics:    true,
		NoSync:          o.NoSync,
		MaxSize:         int(o.MaxSize),
		OpenFile:        gate.open,
	}
	d.b, err = bbolt.Open(d.path, 0o600, &opts)
	if errors.Is(err, syscall.ENOMEM) && opts.InitialMmapSize > 0 {
		// Address space is limited here: take what the file needs.
		d.mapped, opts.InitialMmapSize = 0, 0
		d.b, err = bbolt.Open(d.path, 0o600, &opts)
	}
	if err != nil {
		return explain(err, d.path)
	}
	leaveNote(d.path)
	return nil
}

// prepare makes the bucket of a new file, and the new file itself durable.
func (d *DB) prepare(created bool) error {
	d.pages = d.b.Info().PageSize
	err := guard(func() error {
		return d.b.View(func(t *bbolt.Tx) error {
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
		d.growBy(0)
		err = d.b.Update(func(t *bbolt.Tx) error {
			_, err := t.CreateBucket(bucketName)
			return err
		})
	}
	if err != nil || !created {
		return explain(err, d.path)
	}
	// Without this a power failure could take the whole new file with it.
	return syncDir(filepath.Dir(d.path))
}

// Path returns the path given to Open.
func (d *DB) Path() string { return d.path }

// Size returns the length of the file in bytes, or 0 when it cannot be asked.
// The file keeps pages that deletions freed and reuses them; Compact drops them.
func (d *DB) Size() int64 {
	fi, err := os.Stat(d.path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// Close is part of kv.DB.
func (d *DB) Close() (err error) {
	d.closing.Do(func() {
		d.mu.Lock()
		d.closed.Store(true)
		for d.leading {
			d.idle.Wait()
		}
		d.mu.Unlock()
		removeNote(d.path)
		if d.stuck.Load() != nil {
			return // bbolt's own locks are lost: its Close would wait forever
		}
		if d.bad.Load() == nil {
			d.keepFreelist()
		}
		if err = d.b.Close(); err != nil {
			err = fmt.Errorf("close %s: %w", d.path, err)
		}
	})
	return err
}

// keepFreelist writes the list of free pages as the last thing, so that the next
// Open need not walk the file to find them. Without it that Open only takes
// longer, so errors do not matter.
func (d *DB) keepFreelist() {
	if f, err := os.Open(d.path); err == nil {
		defer f.Close()
		if metas, err := readMetas(f, d.Size()); err == nil && metas[0].freelist != noFreelist {
			return // nothing was written since Open
		}
	}
	_ = guard(func() error {
		d.b.NoFreelistSync = false
		return d.b.Update(func(*bbolt.Tx) error { return nil })
	})
}

// ready says whether a new call may begin.
func (d *DB) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.closed.Load() {
		return kv.ErrClosed
	}
	if stuck := d.stuck.Load(); stuck != nil {
		return *stuck
	}
	return nil
}

func mmapSize(path string, o Options) int64 {
	if strconv.IntSize == 32 {
		return 0
	}
	if o.MmapSize > 0 {
		return o.MmapSize
	}
	size := int64(1 << 30)
	if fi, err := os.Stat(path); err == nil {
		size = max(size, 2*fi.Size())
	}
	return size
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some systems cannot sync a directory and say so with EINVAL.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
