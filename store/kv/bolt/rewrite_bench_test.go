package bolt

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"coffer/store/kv"
)

// BenchmarkRewrite holds the writing anew of a file against a plain copy of it,
// both made durable, with nobody beside it and with writers. The latter are asked
// how long their slowest updates took, during a rewrite and without.
// COFFER_BENCH_MEGABYTES says how large the file is.
func BenchmarkRewrite(b *testing.B) {
	megabytes := 128
	if n, err := strconv.Atoi(os.Getenv("COFFER_BENCH_MEGABYTES")); err == nil {
		megabytes = n
	}
	d := open(b, Options{})
	for n := range megabytes {
		err := d.Update(background, func(tx kv.Tx) error {
			for i := range 2048 {
				key := binary.BigEndian.AppendUint64(nil, uint64(n*2048+i))
				if err := tx.Put(key, make([]byte, 470)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, writers := range []int{0, 8} {
		b.Run("writers="+strconv.Itoa(writers), func(b *testing.B) { benchRewrite(b, d, writers) })
	}
}

func benchRewrite(b *testing.B, d *DB, writers int) {
	var rewriting, copying time.Duration
	var alone, beside []time.Duration
	for range b.N {
		size := d.Size()
		beside = append(beside, whileWriting(b, d, writers, func() {
			begin := time.Now()
			if _, err := d.Rewrite(background, nil); err != nil {
				b.Fatal(err)
			}
			rewriting += time.Since(begin)
		})...)
		alone = append(alone, whileWriting(b, d, writers, func() { time.Sleep(time.Second) })...)
		begin := time.Now()
		plainCopy(b, d.Path())
		copying += time.Since(begin)
		b.SetBytes(size)
	}
	b.ReportMetric(float64(rewriting)/float64(copying), "x-copy")
	if writers > 0 {
		b.ReportMetric(p99(beside).Seconds()*1e3, "p99-ms")
		b.ReportMetric(p99(alone).Seconds()*1e3, "p99-alone-ms")
		b.ReportMetric(slices.Max(beside).Seconds()*1e3, "max-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// whileWriting runs fn beside writers, and returns how long their updates took.
func whileWriting(b *testing.B, d *DB, writers int, fn func()) (took []time.Duration) {
	done := make(chan bool)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := int64(0); ; n++ {
				select {
				case <-done:
					return
				default:
				}
				begin := time.Now()
				err := d.Update(background, func(tx kv.Tx) error { return benchPuts(tx, n*int64(writers)+int64(w), puts4) })
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	fn()
	close(done)
	wg.Wait()
	return took
}

func plainCopy(b *testing.B, path string) {
	from, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(b.TempDir(), "copy"))
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close()
	// Hidden from the system, which could clone the file instead.
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 1<<20)); err != nil {
		b.Fatal(err)
	}
	if err := to.Sync(); err != nil {
		b.Fatal(err)
	}
}
