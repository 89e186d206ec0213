package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"coffer/store/kv"
)

// CopyTo writes a copy of the data as of now into a file at path, in place of what
// may be there. The copy is a data file that Open takes; it was verified and is
// durable when CopyTo returned nil, and gone when it did not. Without room for it
// CopyTo returns kv.ErrFull before it writes anything.
func (d *DB) CopyTo(ctx context.Context, path string) error {
	if err := d.copyToFile(ctx, path); err != nil {
		return fmt.Errorf("copy %s to %s: %w", d.path, path, explain(err, path))
	}
	return nil
}

func (d *DB) copyToFile(ctx context.Context, path string) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if need, free := d.Size(), room(filepath.Dir(path)); free < need {
		return fmt.Errorf("%w: it takes %d MB, and there are %d MB", kv.ErrFull, need>>20+1, free>>20)
	}
	return d.write(ctx, path)
}

// write makes the file, or nothing.
func (d *DB) write(ctx context.Context, path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			os.Remove(path)
		}
	}()
	size, err := d.copyTo(ctx, f, nil)
	if err != nil {
		return err
	}
	if err := verify(ctx, f, size); err != nil {
		return err
	}
	return f.Sync()
}

// Rename gives a closed data file, or a copy of one, another name. What has that
// name already is replaced at once: at no time is there nothing. The change is
// durable when Rename returned nil.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// Keep gives a file a second name, so that it stays when something else takes the
// first. Where a file can have one name only, it is copied. The second name must
// be free; it is durable when Keep returned nil.
func Keep(path, as string) error {
	if err := os.Link(path, as); err != nil {
		if errors.Is(err, os.ErrExist) {
			return err
		}
		// A copy that was not finished must not pass for the file.
		part := as + ".part"
		if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		err := duplicate(path, part)
		if err == nil {
			err = os.Rename(part, as)
		}
		if err != nil {
			return fmt.Errorf("keep %s as %s: %w", path, as, explain(err, as))
		}
	}
	return syncDir(filepath.Dir(as))
}

func duplicate(path, as string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(as, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(as)
	}
	return err
}
