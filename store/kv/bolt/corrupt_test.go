package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coffer/store/kv"
)

// sample returns the bytes of a data file with a tree of some depth.
func sample(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.db")
	d, err := Open(path, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		err := d.Update(background, func(tx kv.Tx) error {
			for j := range 50 {
				if err := tx.Put(fmt.Appendf(nil, "key/%04d", j*100+i), make([]byte, 20+i*j%40*(1+i/39*60))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDamagedFileIsRefusedWithAdvice(t *testing.T) {
	good := sample(t)
	page := os.Getpagesize()
	for name, damage := range map[string]func([]byte) []byte{
		"not a data file":    func([]byte) []byte { return bytes.Repeat([]byte("no bolt "), 4096) },
		"a short text":       func([]byte) []byte { return []byte("hello") },
		"truncated":          func(b []byte) []byte { return b[:len(b)/2] },
		"only a meta page":   func(b []byte) []byte { return b[:page] },
		"both metas damaged": func(b []byte) []byte { b[40] ^= 1; b[page+40] ^= 1; return b },
		"zeroed pages":       func(b []byte) []byte { clear(b[2*page:]); return b },
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.db")
			if err := os.WriteFile(path, damage(bytes.Clone(good)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, Options{})
			if !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), "backup") || !strings.Contains(err.Error(), path) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

func TestOneDamagedMetaPageIsSurvived(t *testing.T) {
	good := sample(t)
	for _, pos := range []int{40, os.Getpagesize() + 40} {
		b := bytes.Clone(good)
		b[pos] ^= 1
		path := filepath.Join(t.TempDir(), "half.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d := openAt(t, path, Options{})
		if !has(t, d, "key/0000") {
			t.Error("the data is gone")
		}
		put(t, d, "new", nil)
	}
}

// TestDamagedPagesNeverEndTheProcess damages a file at random places. Whatever
// cannot be noticed must read as something, whatever can be must be an error.
func TestDamagedPagesNeverEndTheProcess(t *testing.T) {
	good := sample(t)
	page := os.Getpagesize()
	refused := 0
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		b := bytes.Clone(good)
		at := 2*page + rnd.IntN(len(b)/page-2)*page
		switch rnd.IntN(3) {
		case 0:
			clear(b[at : at+page])
		case 1:
			b[at+rnd.IntN(64)] ^= byte(1 + rnd.IntN(255))
		case 2:
			copy(b[at:at+page], b[2*page+rnd.IntN(len(b)/page-2)*page:])
		}
		path := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, Options{NoSync: true})
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("seed %d: %v", seed, err)
			}
			refused++
			continue
		}
		useAll(t, d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d of 150 refused at open", refused)
}

// useAll reads everything and writes here and there.
func useAll(t *testing.T, d *DB) {
	t.Helper()
	err := d.View(background, func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(_, _ []byte) error { return nil })
	})
	for i := range 20 {
		err = errors.Join(err, tryPut(d, fmt.Sprintf("key/%04d", i*211), nil))
	}
	err = errors.Join(err, d.Check(background))
	if err != nil && !errors.Is(err, kv.ErrCorrupt) {
		t.Error(err)
	}
}

// TestDamageWhileOpenIsAnError damages the file under a running database.
func TestDamageWhileOpenIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.db")
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, harm := range map[string]func(*os.File) error{
		"overwritten": func(f *os.File) error {
			fi, err := f.Stat()
			if err != nil {
				return err
			}
			page := int64(os.Getpagesize())
			_, err = f.WriteAt(make([]byte, fi.Size()-2*page), 2*page)
			return err
		},
		// Reading beyond the end of a mapped file is a fault.
		"truncated": func(f *os.File) error { return f.Truncate(int64(2 * os.Getpagesize())) },
	} {
		d, err := Open(path, Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		err = d.View(background, func(r kv.Reader) error { _, err := r.Get([]byte("key/0001")); return err })
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s: view: %v", name, err)
		}
		err = d.Update(background, func(tx kv.Tx) error { _, err := tx.Get([]byte("key/0001")); return err })
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s: update that reads: %v", name, err)
		}
		if err = tryPut(d, "key/0001", nil); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s: update that writes: %v", name, err)
		}
		if err := d.Check(background); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s: check: %v", name, err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
