package bolt

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"coffer/store/kv"
)

// Usage measures the file. It reads a few bytes of every page.
func (d *DB) Usage(ctx context.Context) (kv.Usage, error) {
	if err := d.ready(ctx); err != nil {
		return kv.Usage{}, err
	}
	var u kv.Usage
	err := d.snapshot(ctx, func(h *file, size int64, m meta) error {
		p, err := newWalk(ctx, h.f, size, m)
		if err != nil {
			return corrupt(err)
		}
		pages, err := p.count(m.root, 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return corrupt(err)
		}
		u = kv.Usage{Size: size, Used: int64(pages+2) * p.size, Room: -1}
		return nil
	})
	if err != nil {
		return kv.Usage{}, fmt.Errorf("measure %s: %w", d.path, explain(err, d.path))
	}
	if free := room(filepath.Dir(d.path)); free < math.MaxInt64 {
		u.Room = free
	}
	return u, nil
}

// count returns how many pages hang on page id. Of leaves it reads the header
// only, unless they may name a bucket, which has a tree of its own.
func (p *pageWalk) count(id uint64, depth int) (uint64, error) {
	if depth >= maxDepth {
		return 0, fmt.Errorf("page %d: the tree is too deep", id)
	}
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	header := make([]byte, pageHeader)
	if _, err := p.f.ReadAt(header, int64(id)*p.size); err != nil || id >= p.high {
		return 0, fmt.Errorf("page %d cannot be read: %v", id, err)
	}
	pages := 1 + uint64(native.Uint32(header[12:]))
	flags := native.Uint16(header[8:])
	// The root names the one bucket that there is; below it there is none.
	if flags == flagLeaf && depth > 0 {
		return pages, nil
	}
	page, err := p.read(id, depth)
	if err != nil {
		return 0, err
	}
	for i := range int(native.Uint16(page[10:])) {
		n, err := p.below(page, i, flags, depth)
		if err != nil {
			return 0, fmt.Errorf("page %d: %w", id, err)
		}
		pages += n
	}
	return pages, nil
}

// below counts what entry i of a page points to.
func (p *pageWalk) below(page []byte, i int, flags uint16, depth int) (uint64, error) {
	at := pageHeader + i*elementSize
	if at+elementSize > len(page) {
		return 0, fmt.Errorf("entry %d lies outside of the page", i)
	}
	if flags == flagBranch {
		return p.count(native.Uint64(page[at+8:]), depth+1)
	}
	_, value, err := elementKey(page[at:], flags)
	if err != nil || native.Uint32(page[at:])&1 == 0 || len(value) < bucketSize {
		return 0, err
	}
	root := native.Uint64(value)
	if root == 0 {
		return 0, nil // it lies within this page
	}
	return p.count(root, depth+1)
}

// enough refuses to begin a copy of the data that there is no room for in dir.
// Where the system does not say how much is free, it has to be tried.
func enough(dir string, u kv.Usage) error {
	need := u.Used + u.Used/16 + 1<<20
	if u.Room < 0 || u.Room >= need {
		return nil
	}
	return fmt.Errorf("%w: %s has %d bytes free, and about %d are needed for a while: make room first", kv.ErrFull, dir, u.Room, need)
}
