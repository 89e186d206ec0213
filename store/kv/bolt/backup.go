package bolt

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"coffer/store/kv"
)

// Backup writes a copy of the data as of now to w and returns the number of
// bytes written. The copy is a data file that Open takes. Reads and writes go
// on meanwhile.
func (d *DB) Backup(ctx context.Context, w io.Writer) (int64, error) {
	c, err := d.Copy(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	n, err := io.Copy(w, during(ctx, c))
	if err != nil {
		return n, fmt.Errorf("back up %s: %w", d.path, explain(err, d.path))
	}
	return n, nil
}

// Copy is part of kv.Copier.
//
// The copy is made beside the data file and verified first, and only then handed
// out: a slow receiver must not hold a snapshot, which would keep all pages that
// are freed meanwhile from being reused, and a damaged copy must not pass as a
// backup. It needs as much free disk as the data, and returns kv.ErrFull without.
func (d *DB) Copy(ctx context.Context, look func(kv.Reader) error) (kv.Copy, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	spool, err := newSpool(d.path)
	if err == nil {
		if err = d.spool(ctx, spool, look); err == nil {
			return spool, nil
		}
		_ = spool.Close()
	}
	return nil, fmt.Errorf("back up %s: %w", d.path, explain(err, d.path))
}

// spool fills and verifies a copy.
func (d *DB) spool(ctx context.Context, s *spool, look func(kv.Reader) error) error {
	paced := &pacedFile{f: s.f}
	size, err := d.copyTo(ctx, paced, look)
	if err != nil {
		return err
	}
	s.SectionReader = io.NewSectionReader(paced, 0, size)
	return verify(ctx, paced, size)
}

// spool is a copy in a file that has no name any more.
type spool struct {
	*io.SectionReader
	f *os.File
}

func newSpool(path string) (*spool, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".backup-*")
	if err != nil {
		return nil, err
	}
	// A crash must not leave a copy behind. Where an open file cannot be
	// removed, this fails and Close does it.
	_ = os.Remove(f.Name())
	return &spool{f: f}, nil
}

// Close is part of kv.Copy.
func (s *spool) Close() error {
	err := s.f.Close()
	_ = os.Remove(s.f.Name())
	return err
}

// copyTo writes a snapshot of the whole file to f, piece by piece, and shows it to look.
func (d *DB) copyTo(ctx context.Context, f io.Writer, look func(kv.Reader) error) (n int64, err error) {
	h := d.holding()
	defer h.letGo()
	t, err := d.begin(h, false)
	if err != nil {
		return 0, err
	}
	defer d.rollback(t)
	if look != nil {
		s := &snapshot{}
		err := guard(func() error {
			s.bucket = t.Bucket(bucketName)
			return look(s)
		})
		if s.ended = true; err != nil {
			return 0, err
		}
	}
	return t.WriteTo(writerDuring{ctx, f})
}

// during makes r fail with ctx's error once ctx ended.
func during(ctx context.Context, r io.Reader) io.Reader { return readerDuring{ctx, r} }

type readerDuring struct {
	ctx context.Context
	r   io.Reader
}

func (r readerDuring) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

type writerDuring struct {
	ctx context.Context
	w   io.Writer
}

func (w writerDuring) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// Compact writes the data as of now into a new file at dest, without the room
// that deletions left and without the remains of deleted data. dest must not
// exist; it is durable when Compact returned nil and gone when it did not. What
// is written meanwhile is not in it, so whoever wants to replace the data file
// stops writing first.
func (d *DB) Compact(ctx context.Context, dest string) error {
	if err := d.compact(ctx, dest); err != nil {
		return fmt.Errorf("compact %s into %s: %w", d.path, dest, explain(err, dest))
	}
	return nil
}

func (d *DB) compact(ctx context.Context, dest string) (err error) {
	f, err := os.OpenFile(dest, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	defer func() {
		if err != nil {
			os.Remove(dest)
		}
	}()
	out, err := Open(dest, Options{NoSync: true})
	if err != nil {
		return err
	}
	err = d.View(ctx, func(r kv.Reader) error { return out.fill(ctx, r) })
	if err == nil {
		err = out.file.Load().b.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dest))
}
