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
// A rewrite (rewrite.go) copies everything into a new file while others read and
// write, and puts that in the place of the old one (file.go) in the writer's place.
//
// Damage: bbolt answers a damaged page with a panic, sometimes on a goroutine
// that nobody can recover. So a file is walked before bbolt gets to see it, unless
// it is large and was closed in order (pages.go), and whatever panics later becomes kv.ErrCorrupt (fault.go).
package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	path    string
	options Options
	file    atomic.Pointer[file] // changes only in the writer's place

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

	rewriting sync.Mutex            // held by a rewrite, and for good by Close
	written   atomic.Pointer[notes] // what a rewrite that is under way must copy again

	calls sync.Pool // of *call; none is shared with another DB, whose goroutines may run on a clock of their own
}

var (
	_ kv.DB       = (*DB)(nil)
	_ kv.Rewriter = (*DB)(nil)
)

// Open opens the file at path and creates it, readable by its owner only, when
// there is none; the directory must exist. It returns an error that wraps
// kv.ErrLocked when another process holds the file, and kv.ErrCorrupt when it
// is damaged or no file of ours.
func Open(path string, o Options) (*DB, error) {
	if o.MmapSize = mmapSize(path, o); o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	d := &DB{path: path, options: o}
	d.idle = sync.NewCond(&d.mu)
	h, err := openFile(path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	d.file.Store(h)
	removeRemains(path)
	leaveNote(path)
	return d, nil
}

// Path returns the path given to Open.
func (d *DB) Path() string { return d.path }

// Size returns the length of the file in bytes, or 0 when it cannot be asked.
// The file keeps pages that deletions freed and reuses them; Rewrite drops them.
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
		d.rewriting.Lock()
		removeNote(d.path)
		if d.stuck.Load() != nil {
			return // bbolt's own locks are lost: its Close would wait forever
		}
		if d.bad.Load() == nil {
			d.keepFreelist()
		}
		if err = d.file.Load().b.Close(); err != nil {
			err = fmt.Errorf("close %s: %w", d.path, err)
		}
	})
	return err
}

// keepFreelist writes the list of free pages as the last thing, so that the next
// Open need not walk the file to find them. Without it that Open only takes
// longer, so errors do not matter.
func (d *DB) keepFreelist() {
	h := d.file.Load()
	if size, err := h.size(); err == nil {
		if metas, err := readMetas(h.f, size); err == nil && metas[0].freelist != noFreelist {
			return // nothing was written since Open
		}
	}
	_ = guard(func() error {
		h.b.NoFreelistSync = false
		return h.b.Update(func(*bbolt.Tx) error { return nil })
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
