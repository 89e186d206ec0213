package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// ID is a record's UUID. Ours are of version 7, so that their order is the
// order of creation. The zero ID means none.
type ID [16]byte

// ParseID reads the canonical text form.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	return ID(u), err
}

// String is the canonical text form.
func (id ID) String() string { return uuid.UUID(id).String() }

// After reports whether the ID comes behind another in order.
func (id ID) After(other ID) bool { return bytes.Compare(id[:], other[:]) > 0 }

// IsZero reports whether the ID means none.
func (id ID) IsZero() bool { return id == ID{} }

// IDs hands out new ids of one instant in rising order. Rewind starts over with
// the same ids, so that a transaction that runs twice writes the same records.
type IDs struct {
	at    uint64 // Unix milliseconds and, in twelve more bits, the fraction of one
	made  []ID
	next  int
	fresh []byte
}

const idBatch = 32

// NewIDs makes a source of ids of the instant t.
func NewIDs(t time.Time) *IDs {
	fraction := uint64(t.Nanosecond()) % 1e6 << 12 / 1e6
	return &IDs{at: uint64(t.UnixMilli())<<12 | fraction}
}

// Rewind starts over.
func (s *IDs) Rewind() { s.next = 0 }

// Next is the next id.
func (s *IDs) Next() ID {
	if s.next == len(s.made) {
		s.made = append(s.made, s.make(len(s.made)))
	}
	s.next++
	return s.made[s.next-1]
}

// make follows RFC 9562, section 5.7 with method 3 of 6.2: milliseconds, twelve
// bits of their fraction, to which the number within this source is added, and
// 62 random bits.
func (s *IDs) make(n int) ID {
	if len(s.fresh) < 8 {
		s.fresh = make([]byte, 8*idBatch)
		_, _ = rand.Read(s.fresh) // never fails since Go 1.24
	}
	var id ID
	tick := s.at + uint64(n)
	binary.BigEndian.PutUint64(id[:8], tick>>12<<16|tick&0xfff)
	copy(id[8:], s.fresh[:8])
	s.fresh = s.fresh[8:]
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
