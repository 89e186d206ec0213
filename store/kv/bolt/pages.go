package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// What follows reads bbolt's file format, because bbolt itself must not see a
// damaged file: it walks all pages at Open on a goroutine of its own, where a
// panic ends the process.

const (
	pageHeader  = 16
	elementSize = 16 // of leaf and branch pages alike
	metaSize    = 64
	bucketSize  = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10

	noFreelist = ^uint64(0)
	maxDepth   = 64
)

var native = binary.NativeEndian

// meta is the part of a meta page that matters here.
type meta struct {
	pageSize             uint32
	root, freelist, high uint64
	txid                 uint64
}

// verify walks all pages of a bbolt file of the given length and returns an
// error that wraps kv.ErrCorrupt at the first damage, or ctx's error.
func verify(ctx context.Context, f io.ReaderAt, size int64) error {
	metas, err := readMetas(f, size)
	if err != nil {
		return corrupt(err)
	}
	return verifyTree(ctx, f, size, metas[0])
}

// walkBelow is the size in bytes up to which Open always walks the whole file.
const walkBelow = 64 << 20

// verifyAtOpen decides how much of a file is looked at before bbolt sees it. A
// large file that was closed in order holds its freelist, so bbolt will not walk
// it either, and damage that shows later is answered by whoever meets it: only
// its ends are checked, or starting would take a second for each gigabyte.
func verifyAtOpen(f io.ReaderAt, size int64) error {
	metas, err := readMetas(f, size)
	if err != nil {
		return corrupt(err)
	}
	m := metas[0]
	if size <= walkBelow || m.freelist == noFreelist {
		return verifyTree(context.Background(), f, size, m)
	}
	p, err := newWalk(context.Background(), f, size, m)
	if err == nil {
		err = p.freelist(m.freelist)
	}
	if err == nil {
		_, err = p.read(m.root, 0)
	}
	if err != nil {
		return corrupt(err)
	}
	return nil
}

// newWalk begins a walk of the state of the file that m tells of.
func newWalk(ctx context.Context, f io.ReaderAt, size int64, m meta) (*pageWalk, error) {
	if want := int64(m.high) * int64(m.pageSize); want > size {
		return nil, fmt.Errorf("the file is truncated: %d of %d bytes are there", size, want)
	}
	return &pageWalk{ctx: ctx, f: f, size: int64(m.pageSize), high: m.high, seen: make([]uint64, m.high/64+1)}, nil
}

// verifyTree walks the state of the file that m tells of.
func verifyTree(ctx context.Context, f io.ReaderAt, size int64, m meta) error {
	p, err := newWalk(ctx, f, size, m)
	if err != nil {
		return corrupt(err)
	}
	err = p.tree(m.root, span{}, 0)
	if err == nil && m.freelist != noFreelist {
		err = p.freelist(m.freelist)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return corrupt(err)
	}
	return nil
}

// readMetas returns the valid ones of the two meta pages, the newest first.
func readMetas(f io.ReaderAt, size int64) ([]meta, error) {
	buf := make([]byte, pageHeader+metaSize)
	at := func(pos int64) (meta, error) {
		if _, err := f.ReadAt(buf, pos); err != nil {
			return meta{}, fmt.Errorf("no meta page: %w", err)
		}
		return parseMeta(buf[pageHeader:])
	}
	first, err := at(0)
	if err == nil {
		second, err := at(int64(first.pageSize))
		switch {
		case err != nil:
			return []meta{first}, nil
		case second.txid > first.txid:
			return []meta{second, first}, nil
		}
		return []meta{first, second}, nil
	}
	// The first one is gone, and with it the place of the second.
	for pos := int64(1024); pos <= 1024<<14 && pos < size; pos *= 2 {
		if second, err := at(pos); err == nil && int64(second.pageSize) == pos {
			return []meta{second}, nil
		}
	}
	return nil, err
}

func parseMeta(b []byte) (meta, error) {
	if native.Uint32(b) != 0xED0CDAED {
		return meta{}, fmt.Errorf("this is no bbolt file")
	}
	if v := native.Uint32(b[4:]); v != 2 {
		return meta{}, fmt.Errorf("unknown format version %d", v)
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	if sum.Sum64() != native.Uint64(b[metaSize-8:]) {
		return meta{}, fmt.Errorf("checksum of the meta page is wrong")
	}
	m := meta{
		pageSize: native.Uint32(b[8:]),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		high:     native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}
	if m.pageSize < 1024 || m.pageSize > 1<<24 || m.high > 1<<47/uint64(m.pageSize) {
		return meta{}, fmt.Errorf("page size %d and %d pages make no sense", m.pageSize, m.high)
	}
	return m, nil
}

// pageWalk visits every page that is in use, each once.
type pageWalk struct {
	ctx  context.Context
	f    io.ReaderAt
	size int64  // of a page
	high uint64 // pages in the file
	seen []uint64
	bufs [maxDepth][]byte
}

// span bounds the keys of a page: [low, high), nil = open.
type span struct{ low, high []byte }

func (p *pageWalk) tree(id uint64, s span, depth int) error {
	if depth >= maxDepth {
		return fmt.Errorf("page %d: the tree is too deep", id)
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	page, err := p.read(id, depth)
	if err != nil {
		return err
	}
	if err := p.elements(page, s, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// read returns page id with its overflow. The bytes are valid until the next
// read at the same depth.
func (p *pageWalk) read(id uint64, depth int) ([]byte, error) {
	if id < 2 || id >= p.high {
		return nil, fmt.Errorf("page %d does not exist", id)
	}
	buf := p.bufs[depth]
	if buf == nil {
		buf = make([]byte, p.size)
	}
	if _, err := p.f.ReadAt(buf[:p.size], int64(id)*p.size); err != nil {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	if got := native.Uint64(buf); got != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, got)
	}
	more := uint64(native.Uint32(buf[12:]))
	if id+more >= p.high {
		return nil, fmt.Errorf("page %d is longer than the file", id)
	}
	for n := id; n <= id+more; n++ {
		if p.seen[n/64]&(1<<(n%64)) != 0 {
			return nil, fmt.Errorf("page %d is used twice", n)
		}
		p.seen[n/64] |= 1 << (n % 64)
	}
	if need := int64(more+1) * p.size; int64(cap(buf)) < need {
		buf = append(make([]byte, 0, need), buf[:p.size]...)
	}
	buf = buf[:int64(more+1)*p.size]
	if _, err := p.f.ReadAt(buf[p.size:], int64(id)*p.size+p.size); err != nil && more > 0 {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	p.bufs[depth] = buf
	return buf, nil
}

// elements checks the entries of a page, and the pages below it.
func (p *pageWalk) elements(page []byte, s span, depth int) error {
	flags, count := native.Uint16(page[8:]), int(native.Uint16(page[10:]))
	if flags != flagBranch && flags != flagLeaf {
		return fmt.Errorf("unexpected kind %#x", flags)
	}
	if pageHeader+count*elementSize > len(page) || count == 0 && flags == flagBranch {
		return fmt.Errorf("%d entries make no sense", count)
	}
	low := s.low
	for i := range count {
		e := page[pageHeader+i*elementSize:]
		key, rest, err := elementKey(e, flags)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if c := bytes.Compare(low, key); c > 0 || c == 0 && i > 0 || s.high != nil && bytes.Compare(key, s.high) >= 0 {
			return fmt.Errorf("entry %d is out of order", i)
		}
		low = key
		switch {
		case flags == flagBranch:
			err = p.child(page, i, count, span{key, s.high}, depth)
		case native.Uint32(e)&1 != 0:
			err = p.bucket(rest, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// child walks the page that branch entry i points to.
func (p *pageWalk) child(page []byte, i, count int, s span, depth int) error {
	if i+1 < count {
		next, _, err := elementKey(page[pageHeader+(i+1)*elementSize:], flagBranch)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		s.high = next
	}
	return p.tree(native.Uint64(page[pageHeader+i*elementSize+8:]), s, depth+1)
}

// elementKey returns the key of the entry that begins at e, and its value.
func elementKey(e []byte, flags uint16) (key, value []byte, err error) {
	pos, klen, vlen := uint64(native.Uint32(e)), uint64(native.Uint32(e[4:])), uint64(0)
	if flags == flagLeaf {
		pos, klen, vlen = klen, uint64(native.Uint32(e[8:])), uint64(native.Uint32(e[12:]))
	}
	if pos < elementSize || pos+klen+vlen > uint64(len(e)) || klen == 0 {
		return nil, nil, fmt.Errorf("key or value lies outside of the page")
	}
	return e[pos : pos+klen], e[pos+klen : pos+klen+vlen], nil
}

// bucket walks a nested bucket; a small one lies within its value.
func (p *pageWalk) bucket(value []byte, depth int) error {
	if len(value) < bucketSize {
		return fmt.Errorf("a bucket of %d bytes makes no sense", len(value))
	}
	if root := native.Uint64(value); root != 0 {
		return p.tree(root, span{}, depth+1)
	}
	inline := value[bucketSize:]
	if len(inline) < pageHeader || native.Uint16(inline[8:]) != flagLeaf {
		return fmt.Errorf("an inline bucket makes no sense")
	}
	return p.elements(inline, span{}, depth+1)
}

// freelist checks that no page in the list is in use.
func (p *pageWalk) freelist(id uint64) error {
	page, err := p.read(id, 0)
	if err != nil {
		return err
	}
	ids, count := page[pageHeader:], uint64(native.Uint16(page[10:]))
	if count == 0xFFFF {
		ids, count = ids[8:], native.Uint64(ids)
	}
	if native.Uint16(page[8:]) != flagFreelist || count > uint64(len(ids)/8) {
		return fmt.Errorf("page %d: not a list of free pages", id)
	}
	for i := range count {
		free := native.Uint64(ids[i*8:])
		if free < 2 || free >= p.high || p.seen[free/64]&(1<<(free%64)) != 0 {
			return fmt.Errorf("page %d is in use and in the list of free pages", free)
		}
	}
	return nil
}
