package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/store/kv"
)

const (
	writers = 16
	rounds  = 20
)

// each runs fn on several goroutines at once and waits for them.
func each(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

func testSnapshot(t *testing.T, db kv.DB) {
	fill(t, db, "a", "b")
	view(t, db, func(r kv.Reader) error {
		wrote := make(chan error)
		go func() {
			wrote <- db.Update(background, func(tx kv.Tx) error {
				return errors.Join(put(tx, "c"), tx.Delete([]byte("a")), tx.Put([]byte("b"), []byte("x")))
			})
		}()
		if err := <-wrote; err != nil {
			return err
		}
		return wantRange(r, kv.Range{}, "ab")
	})
	if _, err := value(t, db, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a later view sees the deleted key: %v", err)
	}
}

func testReadYourWrites(t *testing.T, db kv.DB) {
	each(writers, func(i int) {
		key := []byte("own" + strconv.Itoa(i))
		for n := range rounds {
			want := strconv.Itoa(n)
			if err := db.Update(background, func(tx kv.Tx) error { return tx.Put(key, []byte(want)) }); err != nil {
				t.Errorf("update: %v", err)
				return
			}
			err := db.View(background, func(r kv.Reader) error {
				v, err := r.Get(key)
				if err == nil && string(v) != want {
					err = fmt.Errorf("%s is %q, want %q", key, v, want)
				}
				return err
			})
			if err != nil {
				t.Errorf("view: %v", err)
			}
		}
	})
}

// add adds n to the decimal number at key.
func add(tx kv.Tx, key string, n int) error {
	old := 0
	switch v, err := tx.Get([]byte(key)); {
	case err == nil:
		if old, err = strconv.Atoi(string(v)); err != nil {
			return err
		}
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	return tx.Put([]byte(key), []byte(strconv.Itoa(old+n)))
}

func wantNumber(t *testing.T, db kv.DB, key string, want int) {
	t.Helper()
	if v, err := value(t, db, key); err != nil || string(v) != strconv.Itoa(want) {
		t.Errorf("%s is %q, %v, want %d", key, v, err, want)
	}
}

func testCounter(t *testing.T, db kv.DB) {
	each(writers, func(int) {
		for range rounds {
			if err := db.Update(background, func(tx kv.Tx) error { return add(tx, "n", 1) }); err != nil {
				t.Errorf("update: %v", err)
			}
		}
	})
	wantNumber(t, db, "n", writers*rounds)
}

func testAtomic(t *testing.T, db kv.DB) {
	// Two numbers whose sum never changes.
	update(t, db, func(tx kv.Tx) error { return errors.Join(add(tx, "left", 1000), add(tx, "right", 1000)) })
	var over atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !over.Load() {
				err := db.View(background, func(r kv.Reader) error { return wantSum(r, 2000) })
				if err != nil {
					t.Errorf("view: %v", err)
					return
				}
			}
		})
	}
	each(writers, func(i int) {
		for range rounds {
			err := db.Update(background, func(tx kv.Tx) error {
				return errors.Join(add(tx, "left", i), add(tx, "right", -i), wantSum(tx, 2000))
			})
			if err != nil {
				t.Errorf("update: %v", err)
			}
		}
	})
	over.Store(true)
	readers.Wait()
}

func wantSum(r kv.Reader, want int) error {
	sum := 0
	err := r.Scan(kv.Range{}, func(_, v []byte) error {
		n, err := strconv.Atoi(string(v))
		sum += n
		return err
	})
	if err == nil && sum != want {
		err = fmt.Errorf("sum is %d, want %d", sum, want)
	}
	return err
}

func testNeighbours(t *testing.T, db kv.DB) {
	each(writers, func(i int) {
		for range rounds {
			err := db.Update(background, func(tx kv.Tx) error {
				if err := add(tx, "n", 1); err != nil || i%2 == 0 {
					return err
				}
				return errors.Join(tx.Put([]byte("bad"+strconv.Itoa(i)), nil), errTest)
			})
			if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, errTest) {
				t.Errorf("writer %d: %v", i, err)
			}
		}
	})
	wantNumber(t, db, "n", writers/2*rounds)
	wantKeys(t, db, kv.Prefix([]byte("bad")))
}

func testEndedContext(t *testing.T, db kv.DB) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := db.Update(ctx, func(tx kv.Tx) error { return put(tx, "a") }); !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v", err)
	}
	if err := db.View(ctx, func(kv.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	wantKeys(t, db, kv.Range{})
}

// testHonest ends contexts at all moments of an update: whoever was told that it
// failed must never find it written, whoever was told that it is done must.
func testHonest(t *testing.T, db kv.DB) {
	var mu sync.Mutex
	acked := map[string]bool{}
	each(writers, func(i int) {
		for n := range rounds {
			key := fmt.Sprintf("%02d-%03d", i, n)
			ctx, cancel := context.WithTimeout(background, time.Duration((i*rounds+n)*7%1000)*time.Microsecond)
			err := db.Update(ctx, func(tx kv.Tx) error { return put(tx, key) })
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("update: %v", err)
			}
			mu.Lock()
			acked[key] = err == nil
			mu.Unlock()
		}
	})
	view(t, db, func(r kv.Reader) error {
		for key, want := range acked {
			if _, err := r.Get([]byte(key)); (err == nil) != want {
				t.Errorf("%s: acknowledged %v, get says %v", key, want, err)
			}
		}
		return nil
	})
}

func testClose(t *testing.T, db kv.DB) {
	fill(t, db, "a")
	started, proceed := make(chan bool), make(chan bool)
	viewed := make(chan error, 1)
	go func() {
		viewed <- db.View(background, func(r kv.Reader) error {
			started <- true
			<-proceed
			return wantRange(r, kv.Range{}, "a")
		})
	}()
	<-started
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	close(proceed)
	if err := errors.Join(<-viewed, <-closed); err != nil {
		t.Errorf("close while a view runs: %v", err)
	}
	if err := db.View(background, func(kv.Reader) error { return nil }); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("view after close: %v", err)
	}
	if err := db.Update(background, func(tx kv.Tx) error { return put(tx, "b") }); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("update after close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
