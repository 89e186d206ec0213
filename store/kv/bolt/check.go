package bolt

import (
	"context"
	"fmt"
	"io"
	"strings"

	"go.etcd.io/bbolt"
)

// maxFindings is how many findings of bbolt an error repeats.
const maxFindings = 10

// Check looks at every page of the file and returns an error that wraps
// kv.ErrCorrupt when one is damaged, or ctx's error. Reads and writes go on
// while it walks the file; then writes wait while bbolt compares its own list
// of free pages.
func (d *DB) Check(ctx context.Context) error {
	if err := d.walk(ctx); err != nil {
		return fmt.Errorf("check %s: %w", d.path, err)
	}
	err := d.alone(ctx, func() error {
		t, err := d.begin(d.file.Load(), true)
		if err != nil {
			return err
		}
		defer d.rollback(t)
		return collect(t)
	})
	if err != nil {
		return fmt.Errorf("check %s: %w", d.path, err)
	}
	return nil
}

// walk verifies a snapshot of the live file.
func (d *DB) walk(ctx context.Context) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	return d.snapshot(ctx, func(h *file, size int64, m meta) error {
		return verifyTree(ctx, h.f, size, m)
	})
}

// snapshot calls fn with a state of the file that stays as it is meanwhile.
func (d *DB) snapshot(ctx context.Context, fn func(h *file, size int64, m meta) error) error {
	h := d.holding()
	defer h.letGo()
	for {
		// Without an open transaction the pages of the snapshot could be reused.
		t, err := d.begin(h, false)
		if err != nil {
			return err
		}
		size, err := h.size()
		m, ok := metaOf(h.f, size, t.ID())
		if ok && err == nil {
			err = fn(h, size, m)
		}
		d.rollback(t)
		if ok || err != nil {
			return err
		}
		// Two commits came in between and took the place of this meta page.
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// metaOf returns the meta page of one transaction, while it is still there. When
// none is readable it returns the zero meta, which no walk takes for sound.
func metaOf(f io.ReaderAt, size int64, txid int) (meta, bool) {
	metas, err := readMetas(f, size)
	for _, m := range metas {
		if m.txid == uint64(txid) {
			return m, true
		}
	}
	return meta{}, err != nil
}

// collect runs bbolt's own check. It cannot be interrupted: it must be heard to
// the end.
func collect(t *bbolt.Tx) error {
	var found []string
	more := 0
	for err := range t.Check() {
		if len(found) < maxFindings {
			found = append(found, err.Error())
		} else {
			more++
		}
	}
	if len(found) == 0 {
		return nil
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("and %d more", more))
	}
	return corrupt(strings.Join(found, "; "))
}
