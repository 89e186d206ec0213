package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/store/kv"
)

// blockWriter holds the lead in an Update until the returned function is
// called, which waits for that Update.
func blockWriter(t *testing.T, d *DB) (release func()) {
	t.Helper()
	inside, proceed := make(chan bool), make(chan bool)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Update(background, func(tx kv.Tx) error {
			close(inside)
			<-proceed
			return tx.Put([]byte("blocker"), nil)
		})
	}()
	<-inside
	return func() {
		t.Helper()
		close(proceed)
		if err := <-ended; err != nil {
			t.Errorf("the blocking update: %v", err)
		}
	}
}

// waitQueued waits until n calls are in the queue.
func waitQueued(d *DB, n int) {
	for {
		d.mu.Lock()
		queued := len(d.queue)
		d.mu.Unlock()
		if queued == n {
			return
		}
		runtime.Gosched()
	}
}

// blockGroup holds a place in front of the queue, so that what is queued
// meanwhile goes into one group.
func blockGroup(t *testing.T, d *DB) (release func()) {
	t.Helper()
	inside, proceed, ended := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		ended <- d.alone(background, func() error { close(inside); <-proceed; return nil })
	}()
	<-inside
	return func() {
		t.Helper()
		close(proceed)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestWaitingUpdateIsWithdrawnWhenItsContextEnds(t *testing.T) {
	d := open(t, Options{})
	release := blockGroup(t, d)
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() {
		ended <- d.Update(ctx, func(tx kv.Tx) error {
			t.Error("the function of a withdrawn update ran")
			return tx.Put([]byte("withdrawn"), nil)
		})
	}()
	waitQueued(d, 1)
	cancel()
	// It returns while the writer is still busy.
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("withdrawn update: %v", err)
	}
	release()
	if put(t, d, "later", nil); has(t, d, "withdrawn") {
		t.Error("a withdrawn update was written")
	}
}

func TestTakenUpdateReturnsItsTrueOutcome(t *testing.T) {
	d := open(t, Options{})
	ctx, cancel := context.WithCancel(background)
	err := d.Update(ctx, func(tx kv.Tx) error {
		cancel()
		return tx.Put([]byte("taken"), nil)
	})
	if err != nil || !has(t, d, "taken") {
		t.Errorf("update whose context ended after it was taken: %v", err)
	}
}

// inOneGroup runs all functions in one group, in their order, each on its own
// goroutine, and returns what became of each: an error, or a panic as one.
func inOneGroup(t *testing.T, d *DB, fns ...func(kv.Tx) error) []error {
	t.Helper()
	release := blockGroup(t, d)
	outcome := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() {
			outcome[i] = errVanished // when the goroutine ends early
			defer func() {
				if p := recover(); p != nil {
					outcome[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			outcome[i] = d.Update(background, fn)
		})
		waitQueued(d, i+1)
	}
	release()
	wg.Wait()
	return outcome
}

func putKey(key string) func(kv.Tx) error {
	return func(tx kv.Tx) error { return tx.Put([]byte(key), []byte(key)) }
}

func TestGroupIsOneCommitInOrder(t *testing.T) {
	d := open(t, Options{})
	before := lastTx(t, d)
	got := inOneGroup(t, d,
		putKey("a"),
		func(tx kv.Tx) error {
			v, err := tx.Get([]byte("a"))
			return errors.Join(err, tx.Put([]byte("b"), v), tx.Delete([]byte("a")))
		},
		func(tx kv.Tx) error {
			if _, err := tx.Get([]byte("a")); !errors.Is(err, kv.ErrNotFound) {
				return fmt.Errorf("a deleted key: %v", err)
			}
			return nil
		},
	)
	if err := errors.Join(got...); err != nil {
		t.Error(err)
	}
	if n := lastTx(t, d) - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	if has(t, d, "a") || !has(t, d, "b") {
		t.Error("the writes of the group are not those of its order")
	}
}

func TestFailureAndPanicHarmNoNeighbour(t *testing.T) {
	d := open(t, Options{})
	refused := errors.New("refused")
	for _, bad := range []int{0, 1, 2} {
		fns := []func(kv.Tx) error{putKey("x"), putKey("y"), putKey("z")}
		fns[bad] = func(tx kv.Tx) error { _ = tx.Put([]byte("bad"), nil); panic("told to panic") }
		got := inOneGroup(t, d, append(fns, func(tx kv.Tx) error { _ = tx.Put([]byte("bad"), nil); return refused })...)
		for i, err := range got {
			switch {
			case i == bad && (err == nil || !strings.Contains(err.Error(), "told to panic")):
				t.Errorf("panic came back as %v", err)
			case i == 3 && err != refused:
				t.Errorf("error came back as %v", err)
			case i != bad && i != 3 && err != nil:
				t.Errorf("neighbour: %v", err)
			}
		}
		if has(t, d, "bad") {
			t.Error("a failed update left something")
		}
	}
}

// A function that calls t.FailNow ends the goroutine it runs on, which may be
// that of another caller.
func TestVanishedGoroutineStopsNobodyElse(t *testing.T) {
	for _, bad := range []int{0, 1, 2} {
		d := open(t, Options{})
		fns := []func(kv.Tx) error{putKey("k0"), putKey("k1"), putKey("k2")}
		fns[bad] = func(tx kv.Tx) error { _ = tx.Put([]byte("bad"), nil); runtime.Goexit(); return nil }
		for i, err := range inOneGroup(t, d, fns...) {
			if i == bad && !errors.Is(err, errVanished) || i != bad && err != nil && !errors.Is(err, errVanished) {
				t.Errorf("bad %d, call %d: %v", bad, i, err)
			}
			if i != bad && (err == nil) != has(t, d, fmt.Sprintf("k%d", i)) {
				t.Errorf("bad %d, call %d: %v does not fit what was written", bad, i, err)
			}
		}
		if put(t, d, "later", nil); has(t, d, "bad") {
			t.Error("the vanished update left something")
		}
	}
}

func TestFailedCommitReachesTheWholeGroup(t *testing.T) {
	d := open(t, Options{MaxSize: 256 << 10})
	refused := errors.New("refused")
	got := inOneGroup(t, d,
		putKey("small"),
		func(tx kv.Tx) error { return tx.Put([]byte("large"), make([]byte, 1<<20)) },
		func(kv.Tx) error { return refused },
		func(tx kv.Tx) error {
			if _, err := tx.Get([]byte("small")); err == nil {
				return fmt.Errorf("%w: small exists", refused)
			}
			return nil
		},
	)
	for i, want := range []error{kv.ErrFull, kv.ErrFull, refused, kv.ErrFull} {
		if !errors.Is(got[i], want) {
			t.Errorf("call %d: %v, want %v", i, got[i], want)
		}
	}
	if has(t, d, "small") || has(t, d, "large") {
		t.Error("a failed commit left something")
	}
	put(t, d, "small", nil)
}

func TestUpdateThatWritesNothingCommitsNothing(t *testing.T) {
	d := open(t, Options{})
	before := lastTx(t, d)
	if err := d.Update(background, func(kv.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if lastTx(t, d) != before {
		t.Error("there was a commit")
	}
}

func TestTransactionIsOfNoUseAfterItsEnd(t *testing.T) {
	d := open(t, Options{})
	var kept kv.Tx
	if err := d.Update(background, func(tx kv.Tx) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	_, err := kept.Get([]byte("a"))
	if err == nil || kept.Put([]byte("a"), nil) == nil || kept.Scan(kv.Range{}, nil) == nil {
		t.Error("an ended transaction can be used")
	}
}

func TestCloseWaitsForQueuedUpdates(t *testing.T) {
	d := open(t, Options{})
	release := blockWriter(t, d)
	queued, closed := make(chan error, 1), make(chan error, 1)
	go func() { queued <- tryPut(d, "queued", nil) }()
	time.Sleep(5 * time.Millisecond)
	go func() { closed <- d.Close() }()
	time.Sleep(5 * time.Millisecond)
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-queued; err != nil && !errors.Is(err, kv.ErrClosed) {
		t.Error(err)
	}
}

// lastTx returns the number of the newest commit.
func lastTx(t *testing.T, d *DB) int {
	t.Helper()
	tx, err := d.begin(d.file.Load(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.rollback(tx)
	return tx.ID()
}
