package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// file appends to a file that others may move away or empty: it is opened anew
// when its name means another file.
type file struct {
	path string
	f    *os.File
}

func (t *file) Send(_ context.Context, b Batch) (int, error) {
	empty, err := t.open(b.Closes)
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	if empty {
		text.Write(b.Opens)
	}
	for _, l := range b.Lines {
		text.Write(l.Text)
	}
	if err := t.write(text.Bytes()); err != nil {
		return 0, err
	}
	return len(b.Lines), nil
}

// write writes all or, as far as that is possible, nothing.
func (t *file) write(text []byte) error {
	before, err := t.f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = t.f.Write(text)
	}
	if err != nil {
		// Half a line would spoil the next one.
		_ = t.f.Truncate(before)
		t.drop()
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	return nil
}

// open makes sure that the file of that name is open, and reports whether it is
// empty. closes goes to the end of a file that was moved away.
func (t *file) open(closes []byte) (empty bool, err error) {
	if t.f != nil && t.moved() {
		err := t.write(closes)
		if err == nil {
			err = t.f.Sync()
		}
		t.drop()
		if err != nil {
			return false, err
		}
	}
	if t.f == nil {
		if t.f, err = os.OpenFile(t.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return false, err
		}
		if err := t.mend(); err != nil {
			t.drop()
			return false, err
		}
	}
	now, err := t.f.Stat()
	if err != nil {
		t.drop()
		return false, err
	}
	return now.Size() == 0, nil
}

// moved reports whether the name means another file by now, or none.
func (t *file) moved() bool {
	named, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	open, err2 := t.f.Stat()
	return err == nil && err2 == nil && !os.SameFile(named, open)
}

// mend deals with a last line that has no end. One of ours was cut off by a crash
// and will be written again, so it is taken away; anything else is not ours to
// remove, and gets an end.
func (t *file) mend() error {
	end, err := t.f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	tail := make([]byte, min(end, maxTorn))
	if _, err := t.f.ReadAt(tail, end-int64(len(tail))); err != nil {
		return err
	}
	begins := bytes.LastIndexByte(tail, '\n') + 1
	switch {
	case begins == len(tail):
		return nil
	case tail[begins] == '{' && (begins > 0 || int64(len(tail)) == end):
		return t.f.Truncate(end - int64(len(tail)-begins))
	default:
		_, err = t.f.Write([]byte{'\n'})
		return err
	}
}

// maxTorn is how long a torn line may be to be known as one of ours.
const maxTorn = 8 << 20

func (t *file) Sync() error {
	if t.f == nil {
		return nil
	}
	if err := t.f.Sync(); err != nil {
		t.drop()
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	return nil
}

func (t *file) drop() {
	_ = t.f.Close()
	t.f = nil
}

func (t *file) Close() error {
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f = nil
	return err
}
