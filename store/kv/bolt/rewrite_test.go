package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

func mustRewrite(t *testing.T, d *DB) kv.Rewritten {
	t.Helper()
	r, err := d.Rewrite(background, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rewriteMeanwhile rewrites the file over and over until stop is called.
func rewriteMeanwhile(t *testing.T, d *DB) (stop func()) {
	ctx, cancel := context.WithCancel(background)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_, err := d.Rewrite(ctx, nil)
			if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, kv.ErrClosed) {
				t.Errorf("rewrite: %v", err)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	return func() { cancel(); wg.Wait() }
}

func TestConformanceBesideARewrite(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB {
		d := open(t, Options{NoSync: true})
		t.Cleanup(rewriteMeanwhile(t, d))
		return d
	})
}

func TestARewriteDropsWhatWasDeletedOrReplaced(t *testing.T) {
	d := open(t, Options{})
	secret := []byte("this was deleted long ago")
	for n := range 300 {
		put(t, d, fmt.Sprintf("k%04d", n), bytes.Repeat(secret, 200))
	}
	for n := range 290 {
		if err := d.Update(background, func(tx kv.Tx) error { return tx.Delete(fmt.Appendf(nil, "k%04d", n)) }); err != nil {
			t.Fatal(err)
		}
	}
	for n := 290; n < 300; n++ {
		put(t, d, fmt.Sprintf("k%04d", n), []byte("kept"))
	}
	if b, err := os.ReadFile(d.Path()); err != nil || !bytes.Contains(b, secret) {
		t.Fatalf("nothing is left to be dropped, %v", err)
	}
	before, err := d.Usage(background)
	if err != nil || before.Size != d.Size() || before.Used > before.Size/10 {
		t.Errorf("%+v, %v", before, err)
	}
	r := mustRewrite(t, d)
	if r.Before != before.Size || r.After != d.Size() || r.After > r.Before/2 {
		t.Errorf("%+v, and now %d", r, d.Size())
	}
	if b, err := os.ReadFile(d.Path()); err != nil || bytes.Contains(b, secret) {
		t.Errorf("the new file still holds deleted data, %v", err)
	}
	wantAlone(t, d)
	for range 2 {
		for n := range 300 {
			if has(t, d, fmt.Sprintf("k%04d", n)) != (n >= 290) {
				t.Errorf("key %d is wrong", n)
			}
		}
		put(t, d, "after", nil)
		if err := d.Check(background); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = openAt(t, d.Path(), Options{})
	}
	if !has(t, d, "after") {
		t.Error("what was written after the rewrite is gone")
	}
}

// TestNothingDeletedBeforeARewriteIsLeftWhileOthersWrite looks for the remains
// among the pages that the catching up frees.
func TestNothingDeletedBeforeARewriteIsLeftWhileOthersWrite(t *testing.T) {
	d := open(t, Options{NoSync: true})
	secret := []byte("this was replaced before")
	for round := range 5 {
		for n := range 200 {
			put(t, d, fmt.Sprintf("left/00/%09d", n), append(bytes.Clone(secret), byte(round)))
		}
		for n := range 200 {
			put(t, d, fmt.Sprintf("left/00/%09d", n), []byte("new"))
		}
		stop := writeMeanwhile(t, d)
		mustRewrite(t, d)
		stop()
		if b, err := os.ReadFile(d.Path()); err != nil || bytes.Contains(b, secret) {
			t.Fatalf("round %d: the new file still holds replaced data, %v", round, err)
		}
	}
}

// TestARewriteBesideWritersKeepsEverything compares each writer's part of the
// data with what that writer knows it to be.
func TestARewriteBesideWritersKeepsEverything(t *testing.T) {
	d := open(t, Options{NoSync: true})
	stop := rewriteMeanwhile(t, d)
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			model := map[string]string{}
			for range 600 {
				changes := map[string]string{}
				for range 1 + rnd.IntN(30) {
					changes[fmt.Sprintf("%c/%d/%03d", 'a'+rnd.IntN(3), w, rnd.IntN(300))] = strings.Repeat("v", rnd.IntN(4)*rnd.IntN(700))
				}
				if err := d.Update(background, func(tx kv.Tx) error { return write(tx, changes) }); err != nil {
					t.Errorf("update: %v", err)
					return
				}
				for k, v := range changes {
					if model[k] = v; v == "" {
						delete(model, k)
					}
				}
			}
			wantModel(t, d, w, model)
		})
	}
	wg.Wait()
	stop()
	if err := d.Check(background); err != nil {
		t.Error(err)
	}
}

func write(tx kv.Tx, changes map[string]string) error {
	for k, v := range changes {
		err := error(nil)
		if v == "" {
			err = tx.Delete([]byte(k))
		} else {
			err = tx.Put([]byte(k), []byte(v))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func wantModel(t *testing.T, d *DB, w int, model map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := d.View(background, func(r kv.Reader) error {
		for _, side := range "abc" {
			err := r.Scan(kv.Prefix(fmt.Appendf(nil, "%c/%d/", side, w)), func(k, v []byte) error {
				got[string(k)] = string(v)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(got) != len(model) {
		t.Errorf("writer %d: %d keys instead of %d", w, len(got), len(model))
	}
	for k, v := range model {
		if got[k] != v {
			t.Errorf("writer %d: %s is wrong", w, k)
		}
	}
}

func TestAReaderOfTheOldFileFinishesAndHoldsNobodyUp(t *testing.T) {
	d := open(t, Options{})
	put(t, d, "a", []byte("old"))
	reading, finish, read := make(chan bool), make(chan bool), make(chan error)
	go func() {
		read <- d.View(background, func(r kv.Reader) error {
			close(reading)
			<-finish
			v, err := r.Get([]byte("a"))
			if string(v) != "old" {
				err = errors.Join(err, fmt.Errorf("the snapshot reads %q", v))
			}
			return err
		})
	}()
	<-reading
	rewritten, old := make(chan error), d.file.Load()
	go func() { _, err := d.Rewrite(background, nil); rewritten <- err }()
	for deadline := time.Now().Add(10 * time.Second); d.file.Load() == old; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the reader keeps the file from being replaced")
		}
	}
	put(t, d, "a", []byte("new"))
	if !has(t, d, "a") {
		t.Error("reads do not go on")
	}
	if _, err := d.Rewrite(background, nil); !errors.Is(err, ErrRewriting) {
		t.Errorf("a second rewrite beside the first: %v", err)
	}
	select {
	case err := <-rewritten:
		t.Errorf("the rewrite returned while the old file was read: %v", err)
	default:
	}
	close(finish)
	if err := errors.Join(<-read, <-rewritten); err != nil {
		t.Error(err)
	}
}

// TestNobodyElseGetsHoldOfTheFile lets others try to open it all the time.
func TestNobodyElseGetsHoldOfTheFile(t *testing.T) {
	d := open(t, Options{NoSync: true})
	put(t, d, "a", nil)
	done := make(chan bool)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				other, err := Open(d.Path(), Options{Timeout: 20 * time.Millisecond})
				if err == nil {
					t.Error("somebody else opened the file")
					other.Close()
					return
				}
				if !errors.Is(err, kv.ErrLocked) {
					t.Errorf("open: %v", err)
				}
			}
		})
	}
	for range 60 {
		mustRewrite(t, d)
	}
	close(done)
	wg.Wait()
}

// wantAsBefore checks that a rewrite that failed changed nothing.
func wantAsBefore(t *testing.T, d *DB, before os.FileInfo) {
	t.Helper()
	now, err := os.Stat(d.Path())
	if err != nil || !os.SameFile(before, now) {
		t.Errorf("the file is another one, %v", err)
	}
	if _, err := os.Stat(rewritePath(d.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half new file is still there: %v", err)
	}
	if !has(t, d, "k0000") {
		t.Error("the data is gone")
	}
}

func filled(t *testing.T, path string, megabytes int, o Options) (*DB, os.FileInfo) {
	t.Helper()
	d := openAt(t, path, o)
	for n := range megabytes {
		err := d.Update(background, func(tx kv.Tx) error {
			for i := range 256 {
				value := make([]byte, 4000)
				if err := tx.Put(fmt.Appendf(nil, "k%04d", n*256+i), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return d, fi
}

func TestARewriteOnAFullDiskLeavesTheOldFile(t *testing.T) {
	disk := kvtest.SmallDisk(t, 48<<20)
	d, before := filled(t, filepath.Join(disk.Path, "coffer.db"), 10, Options{})
	disk.Fill(t, 8<<20)
	if _, err := d.Rewrite(background, nil); !errors.Is(err, kv.ErrFull) || !strings.Contains(err.Error(), "make room first") {
		t.Errorf("with too little room from the start: %v", err)
	}
	wantAsBefore(t, d, before)

	// This time the room goes while it is at work.
	disk.Empty(t)
	halfway := func(done, all int64) {
		if done < all {
			disk.Fill(t, 1<<20)
		}
	}
	if _, err := d.Rewrite(background, halfway); !errors.Is(err, kv.ErrFull) {
		t.Errorf("with a disk that fills up: %v", err)
	}
	wantAsBefore(t, d, before)

	disk.Empty(t)
	put(t, d, "new", nil)
	mustRewrite(t, d)
	if !has(t, d, "new") || !has(t, d, "k0000") {
		t.Error("the data is gone")
	}
	// Everything must be closed before the disk goes.
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestARewriteInAReadOnlyDirectoryLeavesTheOldFile(t *testing.T) {
	disk := kvtest.SmallDisk(t, 16<<20)
	dir := filepath.Join(disk.Path, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, before := filled(t, filepath.Join(dir, "coffer.db"), 1, Options{})
	undo := disk.NoNewFiles(t, dir)
	if _, err := d.Rewrite(background, nil); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("in a read-only directory: %v", err)
	}
	wantAsBefore(t, d, before)
	undo()
	put(t, d, "new", nil)
	mustRewrite(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestARewriteEndsWithItsContext(t *testing.T) {
	d, before := filled(t, filepath.Join(t.TempDir(), "coffer.db"), 12, Options{NoSync: true})
	ctx, cancel := context.WithCancel(background)
	steps := 0
	_, err := d.Rewrite(ctx, func(done, all int64) {
		if steps++; done >= all || all < 12<<20 {
			t.Errorf("%d of %d bytes are copied after the first step", done, all)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || steps != 1 {
		t.Errorf("after %d steps: %v", steps, err)
	}
	wantAsBefore(t, d, before)
}

func TestClosingEndsARewrite(t *testing.T) {
	d, before := filled(t, filepath.Join(t.TempDir(), "coffer.db"), 12, Options{NoSync: true})
	closed := make(chan error, 1)
	_, err := d.Rewrite(background, func(int64, int64) {
		if !d.closed.Load() {
			go func() { closed <- d.Close() }()
			for !d.closed.Load() {
				time.Sleep(time.Millisecond)
			}
		}
	})
	if !errors.Is(err, kv.ErrClosed) {
		t.Errorf("rewrite: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantAsBefore(t, openAt(t, d.Path(), Options{}), before)
}

func TestARewriteOfADamagedFileLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coffer.db")
	d, before := filled(t, path, 12, Options{NoSync: true})
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The header of a leaf in the middle says that it is something else.
	page := int64(os.Getpagesize())
	header := make([]byte, pageHeader)
	for at := before.Size() / 2 / page * page; ; at += page {
		if _, err := f.ReadAt(header, at); err != nil {
			t.Fatal(err)
		}
		if native.Uint64(header) == uint64(at/page) && native.Uint16(header[8:]) == flagLeaf {
			native.PutUint16(header[8:], 0x40)
			if _, err := f.WriteAt(header, at); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := d.Rewrite(background, nil); !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("rewrite: %v", err)
	}
	wantAsBefore(t, d, before)
}

func TestOpenRemovesTheRemainsOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coffer.db")
	d := openAt(t, path, Options{})
	put(t, d, "k0000", nil)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	others := []string{path + ".txt", filepath.Join(filepath.Dir(path), "backup-1"), path + ".rewrite.txt"}
	for _, name := range append(others, path+".rewrite", path+".backup-123") {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d = openAt(t, path, Options{})
	if !has(t, d, "k0000") {
		t.Error("the data is gone")
	}
	for _, name := range others {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("what is not ours went as well: %v", err)
		}
		os.Remove(name)
	}
	wantAlone(t, d)
}

func TestARewriteGoesThroughASymbolicLinkAndKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.db")
	d := openAt(t, real, Options{})
	put(t, d, "a", nil)
	if err := errors.Join(d.Close(), os.Chmod(real, 0o640), os.Symlink("real.db", filepath.Join(dir, "coffer.db"))); err != nil {
		t.Fatal(err)
	}
	d = openAt(t, filepath.Join(dir, "coffer.db"), Options{})
	mustRewrite(t, d)
	if fi, err := os.Lstat(d.Path()); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(real); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if !has(t, d, "a") {
		t.Error("the data is gone")
	}
}

// TestALargeFileIsRewrittenBesideWriters: what is copied last is proven key by key
// there.
func TestALargeFileIsRewrittenBesideWriters(t *testing.T) {
	d := open(t, Options{NoSync: true})
	for n := range walkBelow>>20 + 4 {
		put(t, d, fmt.Sprintf("k%04d", n), bytes.Repeat([]byte{byte(n)}, 1<<20))
	}
	stop := writeMeanwhile(t, d)
	r := mustRewrite(t, d)
	stop()
	if r.After <= walkBelow {
		t.Fatalf("%d bytes are not large", r.After)
	}
	wantPairsOnly(t, d)
	if err := d.Check(background); err != nil {
		t.Error(err)
	}
}

// wantPairsOnly is wantWholePairs beside other keys.
func wantPairsOnly(t *testing.T, d *DB) {
	t.Helper()
	pairs := 0
	err := d.View(background, func(r kv.Reader) error {
		return r.Scan(kv.Prefix([]byte("left/")), func(k, _ []byte) error {
			pairs++
			_, err := r.Get([]byte("right/" + strings.TrimPrefix(string(k), "left/")))
			return err
		})
	})
	if err != nil || pairs == 0 {
		t.Errorf("%d pairs, %v", pairs, err)
	}
}

func TestARecordThatReadsDifferentlyIsNoticed(t *testing.T) {
	a, b := open(t, Options{NoSync: true}), open(t, Options{NoSync: true})
	for key, values := range map[string][2]string{"same": {"1", "1"}, "other": {"1", "2"}, "only": {"1", ""}} {
		put(t, a, key, []byte(values[0]))
		if values[1] != "" {
			put(t, b, key, []byte(values[1]))
		}
	}
	compare := func(keys ...string) error {
		return a.View(background, func(was kv.Reader) error {
			return b.View(background, func(is kv.Reader) error { return sameKeys(was, is, keys) })
		})
	}
	if err := compare("same", "neither"); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"other", "only"} {
		if err := compare("same", key); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
