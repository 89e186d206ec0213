//go:build unix

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// The two data files that are compared: a team's, and that of a company with
// three million secrets.
var (
	smallLayout = layout{Vaults: 10, Filled: 3, Secrets: 10}
	largeLayout = layout{Vaults: 100_000, Filled: 3, Secrets: 10}
)

// slowRuns is the environment variable that lets benchmarks run that fill or
// read gigabytes; cacheDir is where the large file is kept between runs.
const (
	slowRuns = "COFFER_SLOW"
	cacheDir = "COFFER_BENCH_CACHE"
)

// ofLayout is a data file of a layout, from the cache if it is there.
func ofLayout(b testing.TB, l layout) *data {
	b.Helper()
	if l.Vaults > 1000 && os.Getenv(slowRuns) == "" {
		b.Skipf("set %s=1 to fill and measure a file of gigabytes", slowRuns)
	}
	root := os.Getenv(cacheDir)
	if root == "" {
		root = filepath.Join(os.TempDir(), "coffer-bench-cache")
	}
	dir := filepath.Join(root, fmt.Sprintf("%dx%dx%d", l.Vaults, l.Filled, l.Secrets))
	if d, ok := existingData(dir, l); ok {
		return d
	}
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	d, err := makeData(context.Background(), dir, l)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkScale holds requests to the large file against the same requests to
// the small one. Ten vaults are asked about in both, so that everything but the
// size is equal; "anywhere" asks about all vaults of the large file, most of
// which nobody asked about before.
func BenchmarkScale(b *testing.B) {
	small, large := ofLayout(b, smallLayout).copy(b), ofLayout(b, largeLayout)
	under, subject := startSubject(b, small, "batched"), startSubject(b, large, "batched")
	for _, name := range []string{"view", "pull10"} {
		for _, clients := range []int{1, 32} {
			for _, vaults := range []int{smallLayout.Vaults, largeLayout.Vaults} {
				where := "tenvaults"
				if vaults > smallLayout.Vaults {
					where = "anywhere"
				}
				b.Run(name+"/"+where+"/clients="+strconv.Itoa(clients), func(b *testing.B) {
					takeTurns(b,
						newSide(b, under, wanderers(small, name, clients, smallLayout.Vaults)),
						newSide(b, subject, wanderers(large, name, clients, vaults)),
						goal{latency: 1.3, throughput: 1 / 1.3})
				})
			}
		}
	}
}

// wanderers ask about vaults all over, always in the same order.
func wanderers(d *data, what string, clients, vaults int) []script {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]script, clients)
	for i := range all {
		for range 20_000 / clients {
			t := target{vault: random.IntN(vaults)}
			r := query(d, "/v1/secrets/pull", t)
			if what == "view" {
				r = query(d, "/v1/secrets/view", t, "key", secretName(random.IntN(d.Secrets)))
			}
			all[i] = append(all[i], r)
		}
	}
	return all
}
