// Package datadir puts restored data in the place of what is in a data directory,
// so that a process which is killed anywhere leaves either what was there before or
// what was restored, and never a mixture.
//
// New files are prepared in a directory of their own inside the data directory.
// That it is complete is said by one renaming. From then on everything that is
// still to be done follows from what lies where, so whoever comes next does it:
//
//	restore.tmp/      being prepared; left behind, it is removed
//	restore.ready/    complete; what is in it belongs into the data directory
//	  aside           the name of the directory that what was there before goes to
//	replaced-…/       what was there before
//
// It knows which files there are in a data directory and nothing about what is in
// them. Its invariant: a file that was there is either where it was or in the
// directory aside.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Names of the files that a restore brings.
const (
	DataFile = "coffer.db"
	KeyFile  = "coffer.key"
)

const (
	preparing = "restore.tmp"
	complete  = "restore.ready"
	asideName = "aside"
	asideDir  = "replaced-"
)

// ErrBusy means that a restore into the directory is under way.
var ErrBusy = errors.New("a restore into this directory is under way")

// ErrUnfinished means that what was restored is complete and could not be moved into its
// place. The next one who looks at the directory goes on with it.
var ErrUnfinished = errors.New("what was restored could not be moved into its place")

// A process that works on these holds a lock on the directory; it ends with the
// process.

// Recovered says what was found of a restore that was cut short.
type Recovered struct {
	Undone   bool   // it had not come far: what was there before is there
	Finished bool   // it was complete, and what it restored is there
	Aside    string // where the data is that was there before, if there was any
}

// String says it in a sentence, or nothing.
func (r Recovered) String() string {
	switch {
	case r.Finished && r.Aside != "":
		return "A restore that was cut short is finished now. The data that was there before is in " + r.Aside + "."
	case r.Finished:
		return "A restore that was cut short is finished now."
	case r.Undone:
		return "A restore that was cut short is undone: the directory is as it was before."
	}
	return ""
}

// Recover finishes or undoes what a killed process left behind, and keeps others
// from restoring into the directory until release is called. A directory that does
// not exist has nothing to recover.
func Recover(dir string) (found Recovered, release func(), err error) {
	unlock, err := lock(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, func() {}, nil
	}
	if err != nil {
		return found, nil, err
	}
	if found, err = recovered(dir); err != nil {
		unlock()
		return found, nil, fmt.Errorf("finish the restore that was cut short: %w", err)
	}
	return found, unlock, nil
}

// Pending reports whether a restore was cut short that Recover would finish.
func Pending(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, complete))
	return err == nil
}

func recovered(dir string) (found Recovered, err error) {
	if _, err := os.Lstat(filepath.Join(dir, preparing)); err == nil {
		found.Undone = true
		if err := os.RemoveAll(filepath.Join(dir, preparing)); err != nil {
			return found, err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, complete)); err != nil {
		return found, ignoreMissing(err)
	}
	found.Undone, found.Finished = false, true
	found.Aside, err = finish(dir)
	return found, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Restore is a restore under way.
type Restore struct {
	dir    string
	unlock func()
	found  Recovered
	made   bool // the directory was not there before
}

// Begin prepares for files to be restored into dir, which is made if it is missing.
// What a killed process left behind is recovered first.
func Begin(dir string) (r *Restore, err error) {
	_, missing := os.Lstat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	found, unlock, err := Recover(dir)
	if err != nil {
		return nil, err
	}
	r = &Restore{dir, unlock, found, errors.Is(missing, fs.ErrNotExist)}
	if err := os.Mkdir(r.Place(), 0o700); err != nil {
		unlock()
		return nil, err
	}
	return r, nil
}

// Recovered says what Begin found.
func (r *Restore) Recovered() Recovered { return r.found }

// Place is where the new files go.
func (r *Restore) Place() string { return filepath.Join(r.dir, preparing) }

// Abandon removes what was prepared. After Commit it does nothing.
func (r *Restore) Abandon() {
	if r.unlock != nil {
		_ = os.RemoveAll(r.Place())
		if r.made {
			_ = os.Remove(r.dir) // unless something is in it
		}
		r.unlock()
		r.unlock = nil
	}
}

// Commit puts the new files in the place of what is there. Unless keep is false,
// what is there goes into a directory aside, which it returns the path of, "" if
// there was nothing. A key file that would be overwritten goes there in any case:
// what it opens may be elsewhere. When it fails after the point of no return, its error
// is [ErrUnfinished].
func (r *Restore) Commit(now time.Time, keep bool) (aside string, err error) {
	defer r.Abandon()
	entries, err := os.ReadDir(r.Place())
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() != DataFile && e.Name() != KeyFile {
			if err := os.RemoveAll(filepath.Join(r.Place(), e.Name())); err != nil {
				return "", err
			}
		}
	}
	if keep || both(r.dir, r.Place(), KeyFile) {
		name, err := freeName(r.dir, asideDir+now.UTC().Format("20060102T150405Z"))
		if err == nil {
			err = os.WriteFile(filepath.Join(r.Place(), asideName), []byte(name), 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	if err := syncAll(r.Place()); err != nil {
		return "", err
	}
	if err := os.Rename(r.Place(), filepath.Join(r.dir, complete)); err != nil {
		return "", err
	}
	if err = syncDir(r.dir); err == nil {
		aside, err = finish(r.dir)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return aside, nil
}

// both reports whether a file is in two directories.
func both(one, other, file string) bool {
	_, err := os.Lstat(filepath.Join(one, file))
	if err == nil {
		_, err = os.Lstat(filepath.Join(other, file))
	}
	return err == nil
}

func freeName(dir, name string) (string, error) {
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := os.Lstat(filepath.Join(dir, free)); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		} else if err != nil {
			return "", err
		}
	}
}

// finish does what is still to be done once the new files are complete. It may have
// been begun before. A file that is not among the new ones any more is in its place
// already.
func finish(dir string) (aside string, err error) {
	from := filepath.Join(dir, complete)
	name, err := os.ReadFile(filepath.Join(from, asideName))
	if err := ignoreMissing(err); err != nil {
		return "", err
	}
	if len(name) > 0 {
		if aside = filepath.Join(dir, filepath.Base(string(name))); !strings.HasPrefix(filepath.Base(aside), asideDir) {
			return "", fmt.Errorf("%s names a place that coffer did not choose", filepath.Join(from, asideName))
		}
	}
	if aside != "" {
		if err := setAside(dir, aside); err != nil {
			return "", err
		}
	}
	// The key before the data: data without its key would start sealed.
	for _, file := range []string{KeyFile, DataFile} {
		if err := place(dir, from, aside, file); err != nil {
			return "", err
		}
	}
	if err := syncDir(dir); err != nil {
		return "", err
	}
	if err := os.RemoveAll(from); err != nil {
		return "", err
	}
	if _, err := os.Lstat(aside); err != nil {
		aside = ""
	}
	return aside, syncDir(dir)
}

// setAside moves what belongs to the data that were there: copies of before an
// upgrade, which must not come back in the place of what is restored.
func setAside(dir, aside string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), DataFile+".schema-") {
			if err := moveAside(filepath.Join(dir, e.Name()), aside); err != nil {
				return err
			}
		}
	}
	return nil
}

func moveAside(path, aside string) error {
	if err := os.Mkdir(aside, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(path, filepath.Join(aside, filepath.Base(path))); err != nil {
		return err
	}
	return errors.Join(syncDir(aside), syncDir(filepath.Dir(path)))
}

// place moves one new file into the directory, and what stands there aside.
func place(dir, from, aside, file string) error {
	fresh, there := filepath.Join(from, file), filepath.Join(dir, file)
	if _, err := os.Lstat(fresh); err != nil {
		return ignoreMissing(err)
	}
	if _, err := os.Lstat(there); err == nil && aside != "" {
		if err := moveAside(there, aside); err != nil {
			return err
		}
	}
	return os.Rename(fresh, there)
}

// Occupied names what is in a directory besides what a restore may find there: a key
// file, what servers and file systems leave behind, and what ignore names.
func Occupied(dir string, ignore ...string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	harmless := map[string]bool{
		KeyFile: true, DataFile + ".lock": true, "coffer.sock": true, "lost+found": true, preparing: true, complete: true,
	}
	for _, path := range ignore {
		if same(filepath.Dir(path), dir) {
			harmless[filepath.Base(path)] = true
		}
	}
	for _, e := range entries {
		if !harmless[e.Name()] {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// syncAll makes a directory durable with the files in it.
func syncAll(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err == nil {
			err = syncFile(filepath.Join(dir, e.Name()))
		}
	}
	if err == nil {
		err = syncDir(dir)
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some systems cannot sync a directory and say so with EINVAL.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
