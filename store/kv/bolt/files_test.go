package bolt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

func TestACopyOpensAndReplacesWhatIsThere(t *testing.T) {
	d := open(t, Options{NoSync: true})
	put(t, d, "a", []byte("1"))
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, []byte("something else"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.CopyTo(background, path); err != nil {
		t.Fatal(err)
	}
	put(t, d, "b", []byte("2"))
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	c := openAt(t, path, Options{})
	if !has(t, c, "a") || has(t, c, "b") {
		t.Error("the copy is not of then")
	}
}

func TestACopyThatEndsEarlyIsGone(t *testing.T) {
	d := open(t, Options{NoSync: true})
	path := filepath.Join(t.TempDir(), "copy.db")
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := d.CopyTo(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := d.CopyTo(background, filepath.Join(path, "no", "directory")); err == nil {
		t.Error("it was written nowhere")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left behind: %v", err)
	}
}

func TestACopyNeedsRoom(t *testing.T) {
	disk := kvtest.SmallDisk(t, 1<<20)
	d := open(t, Options{NoSync: true})
	put(t, d, "a", make([]byte, room(disk.Path)+1))
	path := filepath.Join(disk.Path, "copy.db")
	if err := d.CopyTo(background, path); !errors.Is(err, kv.ErrFull) {
		t.Errorf("%v", err)
	}
	// The disk may also fill up while it is written.
	if err := d.write(background, path); !errors.Is(explain(err, path), kv.ErrFull) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left behind: %v", err)
	}
}

func TestAKeptFileOutlivesItsName(t *testing.T) {
	dir := t.TempDir()
	path, as, other := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for _, keep := range []func(string, string) error{Keep, duplicate} {
		for name, text := range map[string]string{path: "first", other: "second"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := keep(path, as); err != nil {
			t.Fatal(err)
		}
		if err := keep(path, as); !errors.Is(err, os.ErrExist) {
			t.Errorf("a name was taken twice: %v", err)
		}
		if err := Rename(other, path); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{path: "second", as: "first"} {
			if text, err := os.ReadFile(name); string(text) != want || err != nil {
				t.Errorf("%s holds %q, %v", name, text, err)
			}
		}
		os.Remove(as)
	}
}
