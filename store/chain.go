package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"coffer/store/kv"
)

// Link authenticates a record of the log and, through the link before it, all
// records before that.
type Link = [32]byte

// Chain authenticates the log. It has a key, so it comes from whoever opened
// one: without a Chain nothing can be appended.
type Chain interface {
	// Link is the link of a record behind the one with the link previous.
	Link(previous Link, number uint64, record []byte) (Link, error)
	// End authenticates that the log ends with the record of this number and
	// link.
	End(link Link, number uint64) (Link, error)
}

// Row is a record of the log as it is stored: a format byte, the link of the
// record before it, its own link, then the record, which begins with the byte of
// its own version.
//
// It repeats the link before it so that each record can be proven by itself:
// beside a record that is gone, and in a file that holds those of one vault.
type Row struct {
	Number     uint64 // of its key
	Prev, Link Link
	Record     []byte
}

const (
	rowFormat = 1
	rowHeader = 1 + 2*len(Link{})
)

// errRow is the error of a row that has no form we know.
var errRow = fmt.Errorf("%w: a record of the audit log has an unknown form", kv.ErrCorrupt)

func parseRow(b []byte) (row Row, err error) {
	if len(b) <= rowHeader || b[0] != rowFormat {
		return Row{Record: b}, errRow
	}
	copy(row.Prev[:], b[1:])
	copy(row.Link[:], b[1+len(row.Prev):])
	row.Record = b[rowHeader:]
	return row, nil
}

// Activity is the record in the row.
func (row Row) Activity() (Activity, error) { return activities.decode(row.Record) }

// Proven reports whether the record is what its link says.
func (row Row) Proven(c Chain) (bool, error) {
	link, err := c.Link(row.Prev, row.Number, row.Record)
	return err == nil && link == row.Link, err
}

// putActivity appends a record behind the one with the link previous.
func (tx Tx) putActivity(c Chain, previous Link, a Activity) (link Link, err error) {
	text, err := encoding.Marshal(a)
	if err != nil {
		return link, fmt.Errorf("encode activity: %w", err)
	}
	row := make([]byte, rowHeader, rowHeader+1+len(text))
	row = append(append(row, recordVersion), text...)
	if link, err = c.Link(previous, a.Number, row[rowHeader:]); err != nil {
		return link, fmt.Errorf("link record %d of the audit log: %w", a.Number, err)
	}
	row[0] = rowFormat
	copy(row[1:], previous[:])
	copy(row[1+len(previous):], link[:])
	return link, tx.kv.Put(key(tagActivity, a.Number), row)
}

// LogEnd says with which record the log ends. It is written with every record,
// so that none can be taken from the end unseen.
type LogEnd struct {
	Number uint64
	Link   Link // of that record
	Tag    Link
}

const (
	endFormat = 1
	endSize   = 1 + 8 + 2*len(Link{})
)

// BeginActivity makes a log without records. It is done once, at set-up.
func (tx Tx) BeginActivity(c Chain, base Checkpoint) error {
	return errors.Join(bases.put(tx.kv, base), tx.putEnd(c, LogEnd{}))
}

// LogEnd reads the log's end. Whether it holds is for Holds to say.
func (r Reader) LogEnd() (e LogEnd, err error) {
	b, err := r.kv.Get(key(tagActivityEnd))
	if err != nil {
		return e, err
	}
	if len(b) != endSize || b[0] != endFormat {
		return e, fmt.Errorf("%w: the end of the audit log has an unknown form", kv.ErrCorrupt)
	}
	e.Number = binary.BigEndian.Uint64(b[1:])
	copy(e.Link[:], b[9:])
	copy(e.Tag[:], b[9+len(e.Link):])
	return e, nil
}

// NewestActivityAt is the time of the last record, or zero where there is none.
func (r Reader) NewestActivityAt() (Millis, error) {
	end, err := r.LogEnd()
	if isNotFound(err) || err == nil && end.Number == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	row, err := r.ActivityRow(end.Number)
	if isNotFound(err) {
		return 0, nil // pruned, or taken away: verify says which
	}
	if err != nil {
		return 0, err
	}
	a, err := row.Activity()
	return a.At, err
}

// Holds reports whether the end is one that the holder of the key wrote.
func (e LogEnd) Holds(c Chain) (bool, error) {
	tag, err := c.End(e.Link, e.Number)
	return err == nil && tag == e.Tag, err
}

func (tx Tx) putEnd(c Chain, e LogEnd) (err error) {
	if e.Tag, err = c.End(e.Link, e.Number); err != nil {
		return fmt.Errorf("end the audit log: %w", err)
	}
	b := make([]byte, 0, endSize)
	b = append(b, endFormat)
	b = binary.BigEndian.AppendUint64(b, e.Number)
	b = append(b, e.Link[:]...)
	b = append(b, e.Tag[:]...)
	return tx.kv.Put(key(tagActivityEnd), b)
}

// proveEnd is the end of the log, to append behind. Where it does not hold,
// somebody without the key changed it, and may have taken records away. Then the
// log goes on behind whatever is there, because nobody may be locked out of his
// secrets by that; and it leaves out a number, so that it says for good that
// something is missing there, in the data and in every file made of it.
func (tx Tx) proveEnd(c Chain) (LogEnd, error) {
	e, err := tx.LogEnd()
	switch {
	case isNotFound(err), errors.Is(err, kv.ErrCorrupt):
		return tx.endBehindGap()
	case err != nil:
		return e, err
	}
	if ok, err := e.Holds(c); err != nil {
		return e, fmt.Errorf("read the end of the audit log: %w", err)
	} else if !ok {
		return tx.endBehindGap()
	}
	// Without this look an older end, put back, would have records overwritten.
	if there, err := exists(tx.kv, key(tagActivity, e.Number+1)); err != nil {
		return e, err
	} else if there {
		return tx.endBehindGap()
	}
	return e, nil
}

func (tx Tx) endBehindGap() (LogEnd, error) {
	last, err := lastNumber(tx.kv, key(tagActivity))
	if err != nil {
		return LogEnd{}, err
	}
	base, err := tx.ActivityBase()
	if err == nil && base.Number >= last {
		return LogEnd{Number: base.Number + 1, Link: base.Link}, nil
	}
	e := LogEnd{Number: last + 1}
	b, err := tx.kv.Get(key(tagActivity, last))
	if isNotFound(err) {
		return e, nil
	}
	if row, broken := parseRow(b); broken == nil {
		e.Link = row.Link
	}
	return e, err
}

// ScanActivity calls fn for at most limit rows behind a number, in order. A row
// without a known form has no links and all its bytes as Record.
func (r Reader) ScanActivity(after uint64, limit int, fn func(Row) error) error {
	span := kv.Prefix([]byte{tagActivity})
	span.Start, span.Limit = key(tagActivity, after+1), limit
	return r.kv.Scan(span, func(k, b []byte) error {
		row, _ := parseRow(b)
		row.Number = binary.BigEndian.Uint64(k[1:])
		return fn(row)
	})
}

// ActivityRow is the row of one record.
func (r Reader) ActivityRow(number uint64) (Row, error) {
	b, err := r.kv.Get(key(tagActivity, number))
	if err != nil {
		return Row{}, err
	}
	row, _ := parseRow(b)
	row.Number = number
	return row, nil
}
