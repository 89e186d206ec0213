package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"coffer/server/api"
)

// Keys are what a check asks of an instance.
type Keys struct {
	Instance  string // its id
	PublicKey string

	// Link is the link of a record.
	Link func(prev Link, number uint64, stored []byte) (Link, error)
	// Signed reports whether a mark is signed: that of the header, or an end.
	Signed func(h *Header, end *Mark) bool
	// Read fills a record from Stored: numbers and what is shown. It returns
	// the vault's id.
	Read func(*Record) (vault string, err error)
}

// maxLine bounds a line: a push of a thousand long keys fits many times.
const maxLine = 8 << 20

// CheckFile judges an exported or streamed file, and returns the newest record in
// it too. Memory does not grow with the file. An error means that it could not be
// read, not that it is wrong.
func CheckFile(ctx context.Context, r io.Reader, keys Keys) (*api.AuditReport, Step, error) {
	c := &checker{
		Keys: keys, in: bufio.NewReaderSize(r, 64<<10),
		report: api.AuditReport{Source: Export, Instance: keys.Instance, PublicKey: keys.PublicKey},
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, Step{}, err
		}
		text, whole, err := c.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.take(text, whole)
		}
		if err != nil {
			return nil, Step{}, err
		}
		if c.stop {
			break
		}
	}
	c.finish()
	return &c.report, c.judge.Top, nil
}

// checker goes through a file line by line.
type checker struct {
	Keys
	in     *bufio.Reader
	line   int
	buf    []byte
	judge  Judge
	report api.AuditReport
	header *Header // nil while none was seen that is sound
	doubt  string  // why the header may be another instance's; "" when it is not
	torn   bool    // the file ends inside a line
	stop   bool    // nothing more can be said
}

// next is the next line, without its line feed, and whether it had one. A line
// that is too long is nil.
func (c *checker) next() (text []byte, whole bool, err error) {
	c.buf = c.buf[:0]
	c.line++
	tooLong := false
	for {
		part, err := c.in.ReadSlice('\n')
		if tooLong = tooLong || len(c.buf)+len(part) > maxLine; !tooLong {
			c.buf = append(c.buf, part...)
		}
		switch {
		case err == nil && tooLong:
			return nil, true, nil
		case err == nil:
			return c.buf[:len(c.buf)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(c.buf) > 0:
			return c.buf, false, nil
		default:
			return nil, false, err
		}
	}
}

// parsed is what a line can hold.
type parsed struct {
	Header
	End
	Record
}

func (c *checker) take(text []byte, whole bool) error {
	var p parsed
	sound := text != nil && json.Unmarshal(text, &p) == nil
	switch {
	case c.line == 1 && (!sound && whole || p.Format != ""):
		c.begin(text, &p, sound)
		return nil
	case c.line == 1 && sound:
		c.fault(api.VerdictComplete, api.FaultMissing, "The first line of the file, which says where it begins, is missing.")
	}
	switch {
	case !sound:
	case p.Ends != nil && c.end(text, p.Ends):
		return nil
	case p.Ends != nil && whole:
		c.altered("This line, which says where the file ends,", "")
		return nil
	default:
		proven, err := c.record(text, &p.Record)
		if proven || err != nil {
			return err
		}
	}
	if !whole {
		c.torn = true
		return nil
	}
	c.doubted(false)
	c.judge.Unproven(c.line, c.claimed(&p))
	return nil
}

// begin judges the first line.
func (c *checker) begin(text []byte, p *parsed, sound bool) {
	h := p.Header
	if sound && (h.Kind == Export || h.Kind == Stream) {
		c.report.Source, c.report.VaultID, c.judge.Repeats = h.Kind, h.VaultID, h.Kind == Stream
	}
	ours := sound && h.Instance == c.Instance && h.PublicKey == c.PublicKey
	switch {
	case ours && h.Format == Format && same(text, &h) && c.signed(&h, nil):
		c.header = &h
		c.report.Begins = &api.AuditMark{Number: c.placeOf(&h.Begins), Time: h.Begins.Time}
		c.judge.Begin(c.placeOf(&h.Begins), h.Begins.Number, Link(h.Begins.Link))
	case sound && !ours && h.Format != "":
		// Either the file is another instance's, or somebody changed the line. The
		// first record tells.
		c.doubt = fmt.Sprintf("The file was written by the instance %.80q with the key %.80q, not by this one.", h.Instance, h.PublicKey)
	default:
		c.altered(firstLine, nothingBegins)
	}
}

const (
	firstLine     = "The first line of the file"
	nothingBegins = ", so nothing proves where it begins"
)

// altered blames the line that is read for not being as it was written, and
// with a consequence for what is therefore not proven.
func (c *checker) altered(what, consequence string) {
	c.fault(api.VerdictIntact, api.FaultAltered, what+" is not as it was written.")
	if consequence != "" {
		c.fault(api.VerdictComplete, api.FaultAltered, what+" is not as it was written"+consequence+".")
	}
}

func (c *checker) fault(against, kind, detail string) {
	c.judge.Fault(api.AuditFault{Against: against, Kind: kind, Line: c.line, Detail: detail})
}

// doubted decides, by the first line that speaks, what a strange first line
// means.
func (c *checker) doubted(ours bool) {
	doubt, line := c.doubt, c.line
	if doubt == "" {
		return
	}
	c.doubt, c.line = "", 1
	if ours {
		c.altered(firstLine, nothingBegins)
	} else {
		c.fault(api.VerdictIntact, api.FaultForeign, doubt)
		c.fault(api.VerdictComplete, api.FaultForeign, doubt)
		c.stop = true
	}
	c.line = line
}

// end judges a line that says where the file ends, and reports whether it is
// sound.
func (c *checker) end(text []byte, m *Mark) bool {
	h := c.header
	if h == nil {
		h = &Header{Kind: c.report.Source, VaultID: c.report.VaultID, Begins: Mark{Number: m.Base}}
	}
	// The end of an export belongs to one beginning; a streamed file may have been
	// begun by another process than the one that ends it.
	if !same(text, &End{m}) || h.Kind == Export && m.Base != h.Begins.Number || !c.signed(h, m) {
		return false
	}
	c.doubted(true)
	c.report.Ends = &api.AuditMark{Number: c.placeOf(m), Time: m.Time}
	c.judge.End(c.line, c.placeOf(m), m.Number, Link(m.Link))
	return true
}

// signed asks whether the mark of the header, or an end, is signed.
func (c *checker) signed(h *Header, end *Mark) bool {
	m := end
	if m == nil {
		m = &h.Begins
	}
	return len(m.Link) == len(Link{}) && c.Signed(h, end)
}

// record takes a line that is a record of ours, as it was written, and reports
// whether it is.
func (c *checker) record(text []byte, r *Record) (proven bool, err error) {
	if r.Number == 0 || len(r.Prev) != len(Link{}) || len(r.Link) != len(Link{}) {
		return false, nil
	}
	s := Step{Line: c.line, Place: r.Number, Number: r.Number, Prev: Link(r.Prev), Link: Link(r.Link)}
	link, err := c.Link(s.Prev, s.Number, r.Stored)
	if err != nil || link != s.Link {
		return false, err
	}
	vault, err := c.Read(r)
	if err != nil || r.Number != s.Number || !same(text, r) {
		return false, nil
	}
	c.doubted(true)
	switch {
	case c.report.VaultID == "":
		c.judge.Record(s)
	case vault == c.report.VaultID:
		s.Place = r.VaultNumber
		c.judge.Record(s)
	default:
		c.fault(api.VerdictIntact, api.FaultForeign, fmt.Sprintf("Record %d of the log is authentic, but not one of this vault.", s.Number))
	}
	return true, nil
}

// claimed is the place that a line says it has.
func (c *checker) claimed(p *parsed) uint64 {
	if c.report.VaultID != "" {
		return p.VaultNumber
	}
	return p.Number
}

func (c *checker) placeOf(m *Mark) uint64 {
	if c.report.VaultID != "" {
		return m.VaultNumber
	}
	return m.Number
}

// same reports whether text is what we would have written.
func same(text []byte, v any) bool {
	var b bytes.Buffer
	return AppendLine(&b, v) == nil && bytes.Equal(bytes.TrimSuffix(b.Bytes(), []byte("\n")), text)
}

func (c *checker) finish() {
	c.doubted(false)
	if !c.stop {
		why := "The file has no signed end behind its last record: nothing proves that it was the last."
		switch {
		case c.line == 1 && !c.torn:
			why = "The file is empty."
		case c.torn:
			why = "The file is cut off inside its last line."
		}
		c.judge.Finish(c.line-1, why)
	}
	c.judge.Report(&c.report)
}
