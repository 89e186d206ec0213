package bolt

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// How many keys one benchmarked update writes: a view of one secret leaves 4
// behind, and a push of 50 about a hundred.
const (
	puts4   = 4
	puts100 = 100
)

// BenchmarkUpdate compares the group commit with what bbolt offers by itself.
func BenchmarkUpdate(b *testing.B) {
	for _, puts := range []int{puts4, puts100} {
		for _, writers := range []int{1, 8, 64, 256} {
			b.Run(fmt.Sprintf("puts=%d/writers=%d/group", puts, writers), func(b *testing.B) {
				d := open(b, Options{})
				benchWrites(b, writers, func(n int64) error {
					return d.Update(background, func(tx kv.Tx) error { return benchPuts(tx, n, puts) })
				})
			})
			b.Run(fmt.Sprintf("puts=%d/writers=%d/update", puts, writers), func(b *testing.B) {
				plain := openPlain(b)
				benchWrites(b, writers, func(n int64) error {
					return plain.Update(func(t *bbolt.Tx) error { return benchPuts(t.Bucket(bucketName), n, puts) })
				})
			})
			b.Run(fmt.Sprintf("puts=%d/writers=%d/batch", puts, writers), func(b *testing.B) {
				plain := openPlain(b)
				benchWrites(b, writers, func(n int64) error {
					return plain.Batch(func(t *bbolt.Tx) error { return benchPuts(t.Bucket(bucketName), n, puts) })
				})
			})
		}
	}
}

// BenchmarkUpdateItself leaves the disk out: what remains is bbolt and we.
func BenchmarkUpdateItself(b *testing.B) {
	for _, puts := range []int{0, 1, puts4, puts100} {
		b.Run(fmt.Sprintf("puts=%d/group", puts), func(b *testing.B) {
			d := open(b, Options{NoSync: true})
			benchWrites(b, 1, func(n int64) error {
				return d.Update(background, func(tx kv.Tx) error { return benchPuts(tx, n, puts) })
			})
		})
		b.Run(fmt.Sprintf("puts=%d/update", puts), func(b *testing.B) {
			plain := openPlain(b)
			plain.NoSync = true
			benchWrites(b, 1, func(n int64) error {
				return plain.Update(func(t *bbolt.Tx) error { return benchPuts(t.Bucket(bucketName), n, puts) })
			})
		})
	}
}

func BenchmarkView(b *testing.B) {
	d := open(b, Options{NoSync: true})
	for n := range int64(100) {
		if err := d.Update(background, func(tx kv.Tx) error { return benchPuts(tx, n, puts100) }); err != nil {
			b.Fatal(err)
		}
	}
	key := benchKey(50, 3)
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = d.View(background, func(r kv.Reader) error { _, err := r.Get(key); return err })
		}
	})
	b.Run("get4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = d.View(background, func(r kv.Reader) error {
				for range 4 {
					if _, err := r.Get(key); err != nil {
						return err
					}
				}
				return nil
			})
		}
	})
	b.Run("scan50", func(b *testing.B) {
		b.ReportAllocs()
		g := kv.Range{Start: key, Limit: 50}
		for b.Loop() {
			_ = d.View(background, func(r kv.Reader) error {
				return r.Scan(g, func(_, _ []byte) error { return nil })
			})
		}
	})
}

func benchWrites(b *testing.B, writers int, write func(n int64) error) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := write(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

var benchValue = make([]byte, 150)

// benchPuts writes half of the keys to random places and half in append order,
// as a push does.
func benchPuts(tx interface{ Put(k, v []byte) error }, n int64, puts int) error {
	for i := range puts {
		if err := tx.Put(benchKey(n, i), benchValue); err != nil {
			return err
		}
	}
	return nil
}

func benchKey(n int64, i int) []byte {
	key := make([]byte, 25)
	if i%2 == 0 {
		key[0] = 'v'
		binary.BigEndian.PutUint64(key[1:], uint64(n))
	} else {
		key[0] = 's'
		binary.BigEndian.PutUint64(key[1:], uint64(n%1000)*0x9E3779B97F4A7C15)
	}
	binary.BigEndian.PutUint64(key[17:], uint64(i))
	return key
}

func openPlain(b *testing.B) *bbolt.DB {
	b.Helper()
	plain, err := bbolt.Open(filepath.Join(b.TempDir(), "plain.db"), 0o600, &bbolt.Options{
		NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: 1 << 30, NoStatistics: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { plain.Close() })
	err = plain.Update(func(t *bbolt.Tx) error {
		_, err := t.CreateBucket(bucketName)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return plain
}
