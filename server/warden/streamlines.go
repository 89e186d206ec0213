package warden

import (
	"bytes"
	"errors"
	"time"

	"coffer/server/audit"
	"coffer/server/stream"
	"coffer/store"
)

// place finds out where the pump is. A target that was never used before gets
// what is written from now on.
func (p *pump) place(r store.Reader) error {
	if !p.known {
		at, err := r.Cursor(p.name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			end, err := r.LogEnd()
			if err != nil {
				return err
			}
			at = store.Cursor{Number: end.Number, Link: end.Link}
			p.saved = neverSaved
		case err != nil:
			return err
		default:
			p.saved = at.Number
		}
		p.at, p.known, p.ended = at, true, at.Number
	}
	base, err := r.ActivityBase()
	if err != nil {
		return err
	}
	if base.Number > p.at.Number {
		p.w.log.Error("records of the audit log were pruned before they could be streamed", "to", p.name,
			"first", p.at.Number+1, "last", base.Number)
		p.at = store.Cursor{Number: base.Number, Link: base.Link}
	}
	return nil
}

// line is a record as it is handed on.
func (p *pump) line(row store.Row) (stream.Line, error) {
	var text bytes.Buffer
	if p.files {
		err := appendRow(&text, row)
		return stream.Line{Text: text.Bytes()}, err
	}
	record := &audit.Record{Number: row.Number, Link: row.Link[:], Stored: row.Record}
	if _, err := readRecord(record); err != nil {
		return stream.Line{Message: []byte("{}"), Short: []byte("{}"), Name: "unreadable", Warning: true, At: p.w.now()}, nil
	}
	message, err := record.Plain()
	if err != nil {
		return stream.Line{}, err
	}
	line := stream.Line{
		Message: message, Name: record.Shown.Action, Warning: isRefusal(record.Shown.Action), At: record.Shown.Timestamp.Time,
	}
	record.Shown.Metadata = map[string]any{"omitted": "too large for a message"}
	line.Short, err = record.Plain()
	return line, err
}

// isRefusal reports whether a record says that somebody was not let in.
func isRefusal(action string) bool { return action == "access_denied" || action == "login_refused" }

// mark adds to the lines of a file what proves where it begins and ends.
func (p *pump) mark(k *auditKeys, next *parcel) error {
	h, closes, err := p.marks(k, p.at)
	if err != nil || len(next.Lines) == 0 {
		return err
	}
	var opens bytes.Buffer
	if err := audit.AppendLine(&opens, h); err != nil {
		return err
	}
	next.Opens, next.Closes = opens.Bytes(), closes
	if last := next.ends[len(next.ends)-1]; last.Number >= p.ended+pumpEnds || time.Since(p.endedAt) >= checkpointEvery {
		return p.end(k, next, last)
	}
	return nil
}

// end adds a signed end behind the last line.
func (p *pump) end(k *auditKeys, next *parcel, last store.Cursor) error {
	_, text, err := p.marks(k, last)
	next.add(stream.Line{Text: text}, last)
	next.marked = true
	return err
}

// marks are the first line of a file that begins behind a record, and the last
// of one that ends with it.
func (p *pump) marks(k *auditKeys, at store.Cursor) (*audit.Header, []byte, error) {
	mark := store.Checkpoint{Number: at.Number, Link: at.Link, At: store.At(p.w.now())}
	begins := mark
	begins.Base = at.Number
	h, err := k.header(audit.Stream, begins, store.ID{}, 0)
	if err != nil {
		return nil, nil, err
	}
	end, err := k.ends(h, mark, 0)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	err = audit.AppendLine(&text, &audit.End{Ends: end})
	return h, text.Bytes(), err
}
