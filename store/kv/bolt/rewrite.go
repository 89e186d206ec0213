package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coffer/store/kv"
)

// ErrRewriting means that a rewrite of the file is under way already.
var ErrRewriting = errors.New("the data file is being rewritten already")

const (
	// manyKeys is how many keys may wait to be copied again, in memory.
	manyKeys = 1 << 16
	// fewKeys is how many keys are few enough to hold all writers for.
	fewKeys = 256
	// maxRounds is how often a rewrite tries to catch up with writers that are
	// as fast as itself, before it holds them for more than fewKeys.
	maxRounds = 12
)

// Rewrite writes all data into a new file and puts it in the place of the old
// one, so that what deletions left behind is gone: nothing that was deleted or
// replaced before Rewrite was called is in the new file, neither in a page that
// is in use nor in a free one. (What is deleted while it runs may have been
// copied before.) Reads and writes go on; writers are held for a moment at the
// end. When Rewrite returned nil, the last reader of the old file has left it.
//
// The old file stays in use, and the half new one goes, if anything fails: when
// ctx ends, the disk is full (kv.ErrFull), a page is damaged (kv.ErrCorrupt). A
// process that is killed leaves the one or the other, whole, and perhaps half a
// new file that the next Open removes.
//
// told, which may be nil, hears now and then how many of about how many bytes
// are copied.
func (d *DB) Rewrite(ctx context.Context, told func(done, all int64)) (kv.Rewritten, error) {
	if told == nil {
		told = func(int64, int64) {}
	}
	if err := d.ready(ctx); err != nil {
		return kv.Rewritten{}, err
	}
	if !d.rewriting.TryLock() {
		if d.closed.Load() {
			return kv.Rewritten{}, kv.ErrClosed
		}
		return kv.Rewritten{}, ErrRewriting
	}
	defer d.rewriting.Unlock()
	r := rewrite{old: d, told: told, notes: &notes{}}
	err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("rewrite %s: %w", d.path, explain(err, d.path))
	}
	return kv.Rewritten{Before: r.before, After: d.Size()}, err
}

// rewrite is one run of Rewrite.
type rewrite struct {
	old, new *DB
	path     string // of the data file, behind all symbolic links
	told     func(done, all int64)
	notes    *notes
	before   int64
	used     int64
}

func (r *rewrite) run(ctx context.Context) (err error) {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	swapped := false
	defer func() {
		if !swapped {
			err = errors.Join(err, r.new.drop(r.new.file.Load()))
			_ = os.Remove(rewritePath(r.path))
		}
	}()
	r.old.written.Store(r.notes)
	defer r.old.written.Store(nil)
	if err := r.copy(ctx); err != nil {
		return err
	}
	var last *file
	err = r.old.alone(ctx, func() (err error) {
		last, err = r.swap(ctx)
		swapped = last != nil
		return err
	})
	if swapped {
		// From here on it is done, whatever ctx says.
		last.letGo()
		<-last.free
		return errors.Join(err, r.old.drop(last))
	}
	return err
}

// prepare looks whether there is room, and opens the new file. That locks it
// before it has the name under which others look for it.
func (r *rewrite) prepare(ctx context.Context) error {
	d := r.old
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return err
	}
	r.path = path
	u, err := d.Usage(ctx)
	if err != nil {
		return err
	}
	r.before, r.used = u.Size, u.Used
	if err := enough(filepath.Dir(path), u); err != nil {
		return err
	}
	removeRemains(path)
	o := d.options
	o.MmapSize, o.NoSync = max(o.MmapSize, mmapSize(path, Options{})), true
	h, err := openFile(rewritePath(path), o)
	if err != nil {
		return err
	}
	r.new = &DB{path: rewritePath(path), options: o}
	r.new.file.Store(h)
	if err := sameOwner(path, h.f); err != nil {
		return errors.Join(err, h.b.Close(), os.Remove(rewritePath(path)))
	}
	return nil
}

// copy brings the new file up to a few keys behind the old one, and makes that
// durable, while others write.
func (r *rewrite) copy(ctx context.Context) error {
	if err := r.copyAll(ctx); err != nil {
		return err
	}
	if err := r.follow(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	// That took a while, in which others wrote. This time it will be little.
	if err := r.follow(ctx); err != nil {
		return err
	}
	return r.new.file.Load().b.Sync()
}

// copyAll copies everything once, in steps that see a snapshot of their own: one
// for all would keep pages from being reused while it lasts.
func (r *rewrite) copyAll(ctx context.Context) error {
	for from := []byte(nil); ; {
		r.notes.begin()
		var next []byte
		err := r.old.View(ctx, func(v kv.Reader) (err error) {
			next, err = r.new.load(v, from)
			return err
		})
		if err != nil {
			return err
		}
		r.notes.end(next)
		r.told(min(r.new.Size(), r.used), r.used)
		if next == nil {
			return nil
		}
		if r.notes.len() > manyKeys {
			if err := r.again(ctx, r.notes.take()); err != nil {
				return err
			}
		}
		from = next
	}
}

// follow copies again what was written since it was copied, until that is little.
func (r *rewrite) follow(ctx context.Context) error {
	for range maxRounds {
		if r.notes.len() <= fewKeys {
			return nil
		}
		if err := r.again(ctx, r.notes.take()); err != nil {
			return err
		}
	}
	return nil
}

// again copies keys again.
func (r *rewrite) again(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		var n int
		err := r.old.View(ctx, func(v kv.Reader) (err error) {
			n, err = r.new.renew(v, keys)
			return err
		})
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// settle makes the new file durable, and reads it back.
func (r *rewrite) settle(ctx context.Context) error {
	h := r.new.file.Load()
	if err := h.b.Sync(); err != nil {
		return err
	}
	return r.new.snapshot(ctx, func(h *file, size int64, m meta) error {
		return verifyTree(ctx, h.f, size, m)
	})
}

// swap runs in the writer's place. It copies the rest and puts the new file in
// the place of the old one, which it returns, even together with an error that
// came too late to go back.
func (r *rewrite) swap(ctx context.Context) (*file, error) {
	d := r.old
	if bad := d.bad.Load(); bad != nil {
		return nil, *bad
	}
	keys := r.notes.take()
	if err := r.again(ctx, keys); err != nil {
		return nil, err
	}
	if err := r.settleRest(ctx, keys); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := os.Rename(rewritePath(r.path), r.path); err != nil {
		return nil, err
	}
	h := r.new.file.Load()
	h.b.NoSync = d.options.NoSync
	last := d.file.Swap(h)
	r.told(r.used, r.used)
	if err := syncDir(filepath.Dir(r.path)); err != nil {
		// After a power failure the old file could be back, without what is
		// written from now on.
		return last, d.stop(err, fmt.Errorf("%s: no more writes before a restart, because the disk failed: %v", d.path, err))
	}
	return last, nil
}

// settleRest is settle for what changed after it. Walking a large file would hold
// the writers for too long, so there only the keys that were written are read.
func (r *rewrite) settleRest(ctx context.Context, keys []string) error {
	h := r.new.file.Load()
	size, err := h.size()
	if err != nil {
		return err
	}
	if size <= walkBelow {
		return r.settle(ctx)
	}
	if err := h.b.Sync(); err != nil {
		return err
	}
	return r.old.View(ctx, func(was kv.Reader) error {
		return r.new.View(ctx, func(is kv.Reader) error { return sameKeys(was, is, keys) })
	})
}

func sameKeys(was, is kv.Reader, keys []string) error {
	for _, k := range keys {
		a, aErr := was.Get([]byte(k))
		b, bErr := is.Get([]byte(k))
		if !errors.Is(aErr, bErr) || string(a) != string(b) {
			return corruptf("a record reads differently in the new file")
		}
	}
	return nil
}

// drop closes a file that nobody uses any more.
func (d *DB) drop(h *file) error {
	if d.stuck.Load() != nil {
		return nil // bbolt's own locks may be lost: its Close would wait forever
	}
	return h.b.Close()
}

// rewritePath is where the new file stands until it takes the old one's place.
func rewritePath(path string) string { return path + ".rewrite" }

// removeRemains removes what a process that was killed left beside the data. Only
// who holds the data's lock may do that.
func removeRemains(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	_ = os.Remove(rewritePath(path))
	spools, _ := filepath.Glob(quoteGlob(path) + ".backup-*")
	for _, s := range spools {
		_ = os.Remove(s)
	}
}

// quoteGlob makes s match itself only.
func quoteGlob(s string) string {
	if filepath.Separator == '\\' {
		return s // there is no quoting here, and no such names either
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
