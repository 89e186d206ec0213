package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// directory keeps each backup in a file. It is never made: one that is missing
// is most often a disk that is not mounted, and backups on the disk of the data
// would be none.
type directory struct{ path string }

const partial = ".partial" // ends the name of a file that is not whole yet

func (d *directory) Where() string { return d.path }

func (d *directory) Check(_ context.Context, instance string) error {
	err := d.exists()
	if err == nil {
		path := filepath.Join(d.path, checkName(instance)+partial)
		var f *os.File
		if f, err = create(path); err == nil {
			_, err = f.WriteString("coffer looks whether it may write here\n")
			err = errors.Join(err, f.Close())
		}
		if gone := os.Remove(path); err == nil {
			err = gone
		}
	}
	return d.explain("write to", err)
}

func (d *directory) Put(ctx context.Context, name Name, r io.Reader) (int64, error) {
	if err := d.exists(); err != nil {
		return 0, d.explain("write to", err)
	}
	whole := filepath.Join(d.path, name.String())
	f, err := create(whole + partial)
	if err != nil {
		return 0, d.explain("write to", err)
	}
	n, err := io.Copy(f, during{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = errors.Join(os.Rename(whole+partial, whole), syncDir(d.path))
	}
	if err != nil {
		_ = os.Remove(whole + partial) // Clean does it when this cannot
		return n, d.explain("write to", err)
	}
	return n, nil
}

// create makes a file in the place of what an earlier one left. Where others write
// too, that may be a link, and what it leads to is not ours to write over.
func create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// syncDir makes a new name durable, where the system knows such a thing.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // some network file systems do it by themselves
	}
	return errors.Join(err, f.Close())
}

func (d *directory) List(_ context.Context, instance string) ([]Object, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, d.explain("read", err)
	}
	var all []Object
	for _, e := range entries {
		name, ok := ours(instance, e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, d.explain("read", err)
		}
		all = append(all, Object{name, info.Size()})
	}
	slices.SortFunc(all, func(a, b Object) int { return a.Name.compare(b.Name) })
	return all, nil
}

func (d *directory) Get(_ context.Context, name Name) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(d.path, name.String()))
	if errors.Is(err, fs.ErrNotExist) && d.exists() == nil {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, d.explain("read", err)
	}
	return f, nil
}

func (d *directory) Delete(_ context.Context, name Name) error {
	err := os.Remove(filepath.Join(d.path, name.String()))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return d.explain("remove a backup from", err)
}

func (d *directory) Clean(_ context.Context, instance string) error {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		whole, half := strings.CutSuffix(e.Name(), partial)
		_, named := ours(instance, whole)
		if half && e.Type().IsRegular() && (named || whole == checkName(instance)) {
			err = errors.Join(err, os.Remove(filepath.Join(d.path, e.Name())))
		}
	}
	return d.explain("clean up", err)
}

func (d *directory) Free() (uint64, bool) { return Free(d.path) }

func (d *directory) exists() error {
	info, err := os.Stat(d.path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

// explain says what to do about an error of the file system. An error that is none
// came from what was to be put, and stays as it is.
func (d *directory) explain(what string, err error) error {
	number, ok := errors.AsType[syscall.Errno](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s; make it, or mount what it is on", d.path)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("cannot %s %s, which can only be read; mount it so that it can be written", what, d.path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot %s %s; let the user that coffer runs as write there", what, d.path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("there is no room left in %s; make some, or keep fewer backups", d.path)
	default:
		return fmt.Errorf("cannot %s %s (%w)", what, d.path, number)
	}
}
