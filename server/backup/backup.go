// Package backup is the form of a backup: what stands in it, in which order, and
// how it is written and read.
//
// A backup is one age file. What is inside is a tar archive with these files, in
// this order and no others:
//
//	coffer.json   the header: what this is a backup of, as JSON
//	master.txt    only in one that a passphrase opens: a key made for this backup
//	root.age      only there: the root key, encrypted to that key
//	coffer.db     the data, a bbolt file as the server uses it
//	coffer.sum    SHA-256 of each file above, as sha256sum writes it
//
// So nobody needs coffer to open one. With the age program, 1.3 or later, and the
// recovery key in recovery.txt (or a key file, or the master key):
//
//	age --decrypt --identity recovery.txt coffer-….tar.age | tar --extract
//	sha256sum --check coffer.sum
//
// Without --identity age asks for the passphrase of one that has a passphrase.
// What is in coffer.db is sealed once more, value by value, as it is on the server.
//
// The package writes and reads the archive; age is put around it elsewhere. It
// knows no keys, no files and no database. Its invariant: what Read handed over
// without an error is, byte for byte, what Write was given.
package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// Format is the version of the form that this package writes.
const Format = 1

// Names of the files in a backup.
const (
	headerFile = "coffer.json"
	masterFile = "master.txt"
	rootFile   = "root.age"
	dataFile   = "coffer.db"
	sumFile    = "coffer.sum"
)

// maxSmall bounds every file but the data.
const maxSmall = 64 << 10

// ErrDamaged says that a backup is not whole, or none.
var ErrDamaged = errors.New("the backup is damaged")

// ErrNewer says that a backup has a form of later than this version.
var ErrNewer = errors.New("the backup was made by a newer version of coffer")

// Header says what a backup is of.
type Header struct {
	Format      int       `json:"format"`
	Version     string    `json:"version"` // of the coffer that made it
	Schema      int       `json:"schema"`  // of the data
	Instance    string    `json:"instance"`
	Fingerprint string    `json:"fingerprint"` // of the master key
	Created     time.Time `json:"created"`
	AuditNumber uint64    `json:"auditNumber"` // of the last record of the audit log
	AuditLink   string    `json:"auditLink"`   // of that record, in hex
	DataSize    int64     `json:"dataSize"`
	OpensWith   []Key     `json:"opensWith"`
}

// Key is one that opens a backup.
type Key struct {
	Kind        string `json:"kind"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Name is the name of a backup's file.
func (h Header) Name() string {
	instance := h.Instance
	if len(instance) > 8 {
		// The end of the id is random; its beginning is a time.
		instance = instance[len(instance)-8:]
	}
	return "coffer-" + instance + "-" + h.Created.UTC().Format("20060102T150405Z") + ".tar.age"
}

// Content is what a backup holds beside its data.
type Content struct {
	Header Header

	// Master and Root stand in a backup that a passphrase opens, and in no other.
	Master, Root []byte
}

// Write writes a backup. data must hold exactly as many bytes as the header says.
func Write(out io.Writer, c Content, data io.Reader) error {
	header, err := json.MarshalIndent(c.Header, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the header of the backup: %w", err)
	}
	w := &writer{tar: tar.NewWriter(out), modified: c.Header.Created}
	w.small(headerFile, append(header, '\n'))
	if c.Master != nil {
		w.small(masterFile, c.Master)
		w.small(rootFile, c.Root)
	}
	w.file(dataFile, c.Header.DataSize, data)
	w.small(sumFile, bytes.Clone(w.sums.Bytes()))
	if w.err == nil {
		w.err = w.tar.Close()
	}
	return w.err
}

// writer writes one file after the other, until the first error.
type writer struct {
	tar      *tar.Writer
	modified time.Time
	sums     bytes.Buffer
	err      error
}

func (w *writer) small(name string, content []byte) {
	w.file(name, int64(len(content)), bytes.NewReader(content))
}

func (w *writer) file(name string, size int64, content io.Reader) {
	if w.err != nil {
		return
	}
	head := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.modified.Truncate(time.Second), Format: tar.FormatGNU}
	if w.err = w.tar.WriteHeader(&head); w.err != nil {
		return
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum), content)
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes and not %d", name, n, size)
	}
	w.err = err
	addSum(&w.sums, name, sum)
}

func addSum(sums *bytes.Buffer, name string, sum hash.Hash) {
	fmt.Fprintf(sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), name)
}

// Sink takes what is read from a backup.
type Sink struct {
	// Begin is called with everything but the data, before any of that. Its error
	// ends the reading. nil does nothing.
	Begin func(Content) error

	// Data takes the data; nil drops it.
	Data io.Writer
}

// Read reads a backup to its end and hands over what is in it. Only when it
// returned nil is all of that what was written: until then the sums and the end
// are unknown. An error that is not Begin's or Data's wraps [ErrDamaged] or
// [ErrNewer], or is one that in returned.
func Read(in io.Reader, to Sink) (*Content, error) {
	source := &source{r: in}
	r := &reader{source: source, tar: tar.NewReader(source)}
	var c Content
	header := r.small(headerFile)
	if r.err == nil {
		c.Header, r.err = parseHeader(header)
	}
	name := r.next("")
	if r.err == nil && name == masterFile {
		c.Master, c.Root = r.content(masterFile), r.small(rootFile)
		name = r.next("")
	}
	r.want(name, dataFile)
	if r.err == nil && r.size != c.Header.DataSize {
		r.err = damaged("%s has %d bytes, and the header says %d", dataFile, r.size, c.Header.DataSize)
	}
	if r.err == nil && to.Begin != nil {
		r.err = to.Begin(c)
	}
	r.copy(dataFile, to.Data)
	sums := bytes.Clone(r.sums.Bytes())
	if got := r.small(sumFile); r.err == nil && !bytes.Equal(got, sums) {
		r.err = damaged("the sums in it are of something else")
	}
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	return &c, nil
}

func parseHeader(b []byte) (h Header, err error) {
	var form struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return h, damaged("its header is no JSON")
	}
	if form.Format > Format {
		return h, ErrNewer
	}
	if err := json.Unmarshal(b, &h); err != nil || h.Format != Format || h.DataSize < 0 || h.Instance == "" {
		return h, damaged("its header makes no sense")
	}
	return h, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// source keeps what in returned apart from what the archive makes of it.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// reader reads one file after the other, until the first error.
type reader struct {
	source *source
	tar    *tar.Reader
	size   int64 // of the file that is next to be read
	sums   bytes.Buffer
	err    error
}

// fail notes an error of the archive, or of what it is read from.
func (r *reader) fail(err error) {
	switch {
	case r.source.err != nil:
		r.err = r.source.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.err = damaged("it ends too early")
	default:
		r.err = damaged("it is no backup of coffer")
	}
}

// next goes to the next file, which must be the named one if there is a name.
func (r *reader) next(want string) string {
	if r.err != nil {
		return ""
	}
	head, err := r.tar.Next()
	if err != nil {
		r.fail(err)
		return ""
	}
	if head.Typeflag != tar.TypeReg || len(head.PAXRecords) > 0 {
		r.err = damaged("%q is no plain file", head.Name)
		return ""
	}
	r.size = head.Size
	if want != "" {
		r.want(head.Name, want)
	}
	return head.Name
}

func (r *reader) want(name, want string) {
	if r.err == nil && name != want {
		r.err = damaged("%q stands where %s belongs", name, want)
	}
}

// small reads the next file, which must be the named one, into memory.
func (r *reader) small(name string) []byte {
	r.next(name)
	return r.content(name)
}

func (r *reader) content(name string) []byte {
	if r.err == nil && r.size > maxSmall {
		r.err = damaged("%s has %d bytes", name, r.size)
	}
	var b bytes.Buffer
	r.copy(name, &b)
	return b.Bytes()
}

// copy hands over the file that is next to be read.
func (r *reader) copy(name string, to io.Writer) {
	if r.err != nil {
		return
	}
	if to == nil {
		to = io.Discard
	}
	sum, sink := sha256.New(), &sink{w: to}
	_, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(sink, sum)}, struct{ io.Reader }{r.tar}, make([]byte, 256<<10))
	switch {
	case sink.err != nil:
		r.err = sink.err
	case err != nil:
		r.fail(err)
	}
	addSum(&r.sums, name, sum)
}

// sink remembers that it was the receiver who failed.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (n int, err error) {
	n, s.err = s.w.Write(b)
	return n, s.err
}

// end wants nothing more to be there.
func (r *reader) end() {
	if r.err != nil {
		return
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		if r.fail(err); err == nil {
			r.err = damaged("it holds more than a backup does")
		}
		return
	}
	// Only the end of the stream proves that it is whole.
	n, err := io.Copy(io.Discard, io.LimitReader(r.source, 1))
	switch {
	case r.source.err != nil:
		r.err = r.source.err
	case n > 0:
		r.err = damaged("it goes on behind its end")
	case err != nil:
		r.fail(err)
	}
}
