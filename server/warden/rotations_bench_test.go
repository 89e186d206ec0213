package warden_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

const rotated = 10_000

// syncedHouse is a house that was filled, on a disk that is waited for.
func syncedHouse(b *testing.B, fill func(*house, *warden.Warden)) (*house, *warden.Warden) {
	b.Helper()
	h := newHouseWith(b, func(c *warden.Config) { c.Plan.Secrets = api.Unlimited })
	fast := h.db
	w := h.warden(fast)
	fill(h, w)
	must(b, w.Close())
	db, err := bolt.Open(filepath.Join(b.TempDir(), "synced.db"), bolt.Options{})
	must(b, err)
	b.Cleanup(func() { _ = db.Close() })
	must(b, fast.View(context.Background(), func(r kv.Reader) error {
		return db.Update(context.Background(), func(tx kv.Tx) error {
			return r.Scan(kv.Range{}, func(k, v []byte) error {
				return tx.Put(append([]byte(nil), k...), append([]byte(nil), v...))
			})
		})
	}))
	h.db = db
	return h, h.warden(db)
}

// writeFloor writes rows of a size in transactions of forty, and waits for the disk.
func writeFloor(b *testing.B, rows, size int) time.Duration {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), fmt.Sprint("floor", time.Now().UnixNano())), bolt.Options{})
	must(b, err)
	defer db.Close()
	write := func() {
		for n := 0; n < rows; n += 40 {
			must(b, db.Update(context.Background(), func(tx kv.Tx) error {
				for i := range 40 {
					if err := tx.Put([]byte(fmt.Sprintf("%032d", n+i)), make([]byte, size)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	write() // what is there already is replaced, as it is by a rotation
	began := time.Now()
	write()
	return time.Since(began)
}

func report(b *testing.B, took, crypto, disk time.Duration) {
	b.ReportMetric(took.Seconds()*1000, "ms")
	b.ReportMetric(crypto.Seconds()*1000, "floor-crypto-ms")
	b.ReportMetric(disk.Seconds()*1000, "floor-disk-ms")
	b.ReportMetric(float64(took)/float64(crypto+disk), "ratio")
}

// BenchmarkRewrap replaces the root key above 10,000 data keys. The floor is the same
// keys wrapped, and opened to see that they are, and the same bytes written.
func BenchmarkRewrap(b *testing.B) {
	h, w := syncedHouse(b, func(h *house, w *warden.Warden) {
		ann := h.ann(w)
		for i := range rotated {
			must(b, second(w.CreateVault(b.Context(), ann, api.CreateVault{RepoFullName: fmt.Sprintf("ann/v%d", i)})))
		}
	})
	for b.Loop() {
		must(b, second(w.Rekey(b.Context(), h.operator(w), api.Rekey{})))
		began := time.Now()
		must(b, w.GoOnRotating(b.Context()))
		took := time.Since(began)
		report(b, took, wrapFloor(b), writeFloor(b, rotated, 249))
	}
}

func wrapFloor(b *testing.B) time.Duration {
	b.Helper()
	m, err := crypto.NewMaster()
	must(b, err)
	old, _, err := crypto.NewRoot(m)
	must(b, err)
	fresh, _, err := crypto.NewRoot(m)
	must(b, err)
	defer old.Destroy()
	defer fresh.Destroy()
	_, file, err := old.NewDataKey(crypto.ID{1})
	must(b, err)
	began := time.Now()
	for range rotated {
		again, err := fresh.RewrapDataKey(old, crypto.ID{1}, file)
		must(b, err)
		must(b, second(fresh.OpenDataKey(crypto.ID{1}, again)))
	}
	return time.Since(began)
}

// BenchmarkRotate replaces the data key above 5,000 secrets of 50 bytes, each with one
// version: 10,000 sealed values.
func BenchmarkRotate(b *testing.B) {
	h, w := syncedHouse(b, func(h *house, w *warden.Warden) {
		values := make(map[string]string)
		for i := range rotated / 2 {
			values[fmt.Sprintf("KEY_%d", i)] = fmt.Sprintf("%050d", i)
			if len(values) == 500 {
				req := pushOf(values)
				req.Mode = new(api.ModeMerge)
				must(b, second(w.Push(b.Context(), h.ann(w), req)))
				clear(values)
			}
		}
	})
	for b.Loop() {
		began := time.Now()
		must(b, second(w.Rotate(b.Context(), h.operator(w), api.Rotate{RepoFullName: repo})))
		must(b, w.GoOnRotating(b.Context()))
		took := time.Since(began)
		report(b, took, sealFloor(b), writeFloor(b, rotated, 50+crypto.Overhead+80))
	}
}

func sealFloor(b *testing.B) time.Duration {
	b.Helper()
	m, err := crypto.NewMaster()
	must(b, err)
	root, _, err := crypto.NewRoot(m)
	must(b, err)
	defer root.Destroy()
	old, _, err := root.NewDataKey(crypto.ID{1})
	must(b, err)
	fresh, _, err := root.NewDataKey(crypto.ID{1})
	must(b, err)
	sealed := old.Seal(nil, make([]byte, 50), []byte("place"))
	began := time.Now()
	for range rotated {
		plain, err := old.Open(nil, sealed, []byte("place"))
		must(b, err)
		fresh.Seal(nil, plain, []byte("place"))
	}
	return time.Since(began)
}
