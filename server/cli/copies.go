package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coffer/server/offline"
)

// copies are the offline copies on this machine: sealed files in the user's
// cache, and the key to them in the operating system's keyring, else in a file
// of the user's configuration.
type copies struct {
	dir     string // of the files, or ""
	keyFile string
	ring    *ring
}

const (
	copySuffix = ".copy"
	copyKey    = "offline copies" // what the keyring calls their key
)

func (a *app) copies() *copies {
	s := &copies{ring: openRing(a.env)}
	if dir := a.env.cacheDir(); dir != "" {
		s.dir = filepath.Join(dir, "offline")
	}
	if dir := a.env.configDir(); dir != "" {
		s.keyFile = filepath.Join(dir, "offline.key")
	}
	return s
}

// path is the file of a place's copy. Names of places may hold anything.
func (s *copies) path(p offline.Place) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", p.Server, p.Repository, p.Environment, p.User))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+copySuffix)
}

// keep replaces the copy of a place.
func (s *copies) keep(l offline.Label, values map[string]string) error {
	if s.dir == "" || s.keyFile == "" {
		return failf(exitError, "There is no place to keep it: set HOME.")
	}
	key, err := s.key()
	if err != nil {
		return err
	}
	data, err := offline.Seal(key, l, values)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return writePrivate(s.path(l.Place), data)
}

// label is what the copy of a place says of itself, unproven.
func (s *copies) label(p offline.Place) (*offline.Label, error) {
	data, err := os.ReadFile(s.path(p))
	if err != nil {
		return nil, err
	}
	return offline.ReadLabel(data)
}

// open reads the copy of a place.
func (s *copies) open(p offline.Place) (*offline.Label, map[string]string, error) {
	data, err := os.ReadFile(s.path(p))
	if err != nil {
		return nil, nil, err
	}
	l, err := offline.ReadLabel(data)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range s.keys() {
		if key.ID() == l.KeyID {
			return offline.Open(key, p, data)
		}
	}
	return nil, nil, offline.ErrKey
}

// key is the one for new copies; the first time it is made.
func (s *copies) key() (offline.Key, error) {
	if all := s.keys(); len(all) > 0 {
		return all[0], nil
	}
	key, err := offline.NewKey()
	if err != nil || s.ring.store(copyKey, key.Text()) == nil {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(s.keyFile), 0o700); err != nil {
		return key, err
	}
	return key, writePrivate(s.keyFile, []byte(key.Text()+"\n"))
}

// keys are all that can be had: a keyring that was locked once has left a file
// beside it.
func (s *copies) keys() []offline.Key {
	var all []offline.Key
	if text, err := s.ring.token(copyKey); err == nil {
		if key, err := offline.ParseKey(text); err == nil {
			all = append(all, key)
		}
	}
	if text, err := os.ReadFile(s.keyFile); err == nil {
		if key, err := offline.ParseKey(string(text)); err == nil {
			all = append(all, key)
		}
	}
	return all
}

// keptCopy is a copy in its file.
type keptCopy struct {
	offline.Label
	file string
}

// list is all copies; what is no copy is left out.
func (s *copies) list() ([]keptCopy, error) {
	files, err := filesIn(s.dir, copySuffix)
	if err != nil {
		return nil, err
	}
	var all []keptCopy
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if l, err := offline.ReadLabel(data); err == nil {
			all = append(all, keptCopy{*l, file})
		}
	}
	return all, nil
}

// remove removes the copies of matching places and says how many.
func (s *copies) remove(matches func(offline.Place) bool) (int, error) {
	all, err := s.list()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, c := range all {
		if !matches(c.Place) {
			continue
		}
		if err := os.Remove(c.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		n++
	}
	return n, nil
}

// since says how long ago an instant was, in one unit.
func since(then, now time.Time) string {
	n, unit := int(now.Sub(then)/time.Minute), "minute"
	switch {
	case n < 1:
		return "less than a minute"
	case n >= 48*60:
		n, unit = n/(24*60), "day"
	case n >= 120:
		n, unit = n/60, "hour"
	}
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
