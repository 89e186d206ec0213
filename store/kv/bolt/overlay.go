package bolt

import (
	"bytes"
	"slices"
	"sort"

	"coffer/store/kv"
)

const (
	blockLen    = 64 // entries in a block: an insertion moves half of them at most
	spareBlocks = 64 // empty blocks kept for the next group, 3 KiB each
)

// entry is a buffered write.
type entry struct {
	key, value []byte // value nil: the key is deleted
}

// overlay holds what a group of updates has written so far, in key order, and
// how to take the writes of the update that is running out again.
//
// The order is kept in blocks, because one slice would make a large group
// quadratic and a tree costs a lone update of four writes more than it gives.
type overlay struct {
	blocks  [][]entry // none is empty
	spare   [][]entry
	count   int
	bytes   int // of all keys and values ever put; an upper bound
	version int // changes when entries move
	journal []change
}

// change is what undoes one write.
type change struct {
	entry
	had bool // the overlay had this entry before; otherwise the key was not in it
}

// place is where an entry stands, or where one would be inserted.
type place struct{ block, index int }

// find returns the place of key, and whether it is there.
func (o *overlay) find(key []byte) (place, bool) {
	if len(o.blocks) == 0 {
		return place{}, false
	}
	// Most updates write in key order: look at the end first.
	last := len(o.blocks) - 1
	if tail := o.blocks[last]; bytes.Compare(tail[len(tail)-1].key, key) < 0 {
		return place{last, len(tail)}, false
	}
	b := sort.Search(last, func(i int) bool {
		return bytes.Compare(o.blocks[i+1][0].key, key) > 0
	})
	block := o.blocks[b]
	i, ok := slices.BinarySearchFunc(block, key, func(e entry, key []byte) int {
		return bytes.Compare(e.key, key)
	})
	return place{b, i}, ok
}

// get returns the buffered value of key, nil when it is deleted, and whether
// the overlay says anything about key at all.
func (o *overlay) get(key []byte) (value []byte, ok bool) {
	at, ok := o.find(key)
	if !ok {
		return nil, false
	}
	return o.blocks[at.block][at.index].value, true
}

// put buffers a write; value nil deletes.
func (o *overlay) put(key, value []byte) {
	at, ok := o.find(key)
	o.bytes += len(key) + len(value)
	if ok {
		e := &o.blocks[at.block][at.index]
		o.journal = append(o.journal, change{*e, true})
		e.value = value
		return
	}
	o.journal = append(o.journal, change{entry{key: key}, false})
	o.insert(at, entry{key, value})
}

// keep makes the writes since the last keep or undo part of the group.
func (o *overlay) keep() {
	clear(o.journal)
	o.journal = o.journal[:0]
}

// undo takes the writes since the last keep or undo out again.
func (o *overlay) undo() {
	for _, c := range slices.Backward(o.journal) {
		at, _ := o.find(c.key)
		if c.had {
			o.blocks[at.block][at.index].value = c.value
		} else {
			o.remove(at)
		}
	}
	o.keep()
}

func (o *overlay) insert(at place, e entry) {
	o.count++
	o.version++
	if len(o.blocks) == 0 {
		o.addBlock(0)
	} else if len(o.blocks[at.block]) == blockLen {
		at = o.split(at)
	}
	o.blocks[at.block] = slices.Insert(o.blocks[at.block], at.index, e)
}

// split makes room at a full block. At its end a new block begins, so that
// writes in key order fill blocks up.
func (o *overlay) split(at place) place {
	half := blockLen / 2
	if at.index == blockLen {
		half = blockLen
	}
	o.addBlock(at.block + 1)
	full := o.blocks[at.block]
	o.blocks[at.block+1] = append(o.blocks[at.block+1], full[half:]...)
	clear(full[half:])
	o.blocks[at.block] = full[:half]
	if at.index > half || half == blockLen {
		return place{at.block + 1, at.index - half}
	}
	return at
}

func (o *overlay) remove(at place) {
	o.count--
	o.version++
	block := slices.Delete(o.blocks[at.block], at.index, at.index+1)
	o.blocks[at.block] = block
	if len(block) == 0 {
		o.spare = append(o.spare, block)
		o.blocks = slices.Delete(o.blocks, at.block, at.block+1)
	}
}

func (o *overlay) addBlock(i int) {
	var block []entry
	if n := len(o.spare); n > 0 {
		block, o.spare = o.spare[n-1], o.spare[:n-1]
	} else {
		block = make([]entry, 0, blockLen)
	}
	o.blocks = slices.Insert(o.blocks, i, block)
}

// reset forgets everything, and above all every reference to a caller's bytes.
func (o *overlay) reset() {
	for _, b := range o.blocks {
		clear(b)
		if len(o.spare) < spareBlocks {
			o.spare = append(o.spare, b[:0])
		}
	}
	clear(o.blocks)
	o.blocks = o.blocks[:0]
	o.keep()
	if cap(o.journal) > 1<<12 {
		o.journal = nil
	}
	o.count, o.bytes = 0, 0
	o.version++
}

// cursor visits the entries of a range, deletions among them.
type cursor struct {
	o       *overlay
	r       kv.Range
	at      place
	version int
	cur     *entry // nil after the last
}

func (c *cursor) first() {
	switch {
	case !c.r.Reverse:
		c.at, _ = c.o.find(c.r.Start)
	case c.r.End == nil:
		c.at = place{len(c.o.blocks), 0}
	default:
		c.at, _ = c.o.find(c.r.End)
	}
	if c.r.Reverse {
		c.at.index--
	}
	c.settle()
}

// next moves on from key, the last one that was visited.
func (c *cursor) next(key []byte) {
	if c.version != c.o.version {
		// Entries were written during the scan: find the way back.
		at, ok := c.o.find(key)
		if c.at = at; !ok && !c.r.Reverse {
			c.at.index--
		}
	}
	if c.r.Reverse {
		c.at.index--
	} else {
		c.at.index++
	}
	c.settle()
}

// settle turns a place one beside a block into the entry of the neighbour, and
// checks the bounds of the range.
func (c *cursor) settle() {
	c.version = c.o.version
	c.cur = nil
	if c.at.index < 0 {
		if c.at.block--; c.at.block < 0 {
			return
		}
		c.at.index = len(c.o.blocks[c.at.block]) - 1
	} else if c.at.block < len(c.o.blocks) && c.at.index == len(c.o.blocks[c.at.block]) {
		c.at = place{c.at.block + 1, 0}
	}
	if c.at.block >= len(c.o.blocks) {
		return
	}
	if e := &c.o.blocks[c.at.block][c.at.index]; c.r.Contains(e.key) {
		c.cur = e
	}
}
