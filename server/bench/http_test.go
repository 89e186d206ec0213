//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stretch is how long one side of a pair is under load.
const stretch = 400 * time.Millisecond

// BenchmarkHTTP runs every workload against its floor. One iteration is one
// pair of stretches, so -benchtime 9x means the medians of nine pairs.
func BenchmarkHTTP(b *testing.B) {
	d := teamData(b)
	for _, w := range workloads() {
		name := w.name
		if w.reads != "" {
			name += "/" + w.reads
		}
		b.Run(name, func(b *testing.B) {
			for _, clients := range []int{1, 8, 32, 128} {
				b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
					contest(b, w, d, apart(clients))
				})
			}
			b.Run("clients=32/onevault", func(b *testing.B) {
				contest(b, w, d, make([]target, 32))
			})
		})
	}
}

// apart gives every client a vault of its own.
func apart(clients int) []target {
	all := make([]target, clients)
	for i := range all {
		all[i] = target{i, i}
	}
	return all
}

// templates are made once for all benchmarks of a run, by those that need them.
var templates struct {
	dir     string
	team    *data  // a data file to copy
	program string // the path of the program
}

func templateDir(b testing.TB) string {
	b.Helper()
	if templates.dir == "" {
		dir, err := os.MkdirTemp("", "coffer-bench-")
		if err != nil {
			b.Fatal(err)
		}
		templates.dir = dir
	}
	return templates.dir
}

func teamData(b testing.TB) *data {
	b.Helper()
	if templates.team == nil {
		d, err := makeData(context.Background(), templateDir(b), layout{Vaults: 128, Filled: 1, Secrets: perPush})
		if err != nil {
			b.Fatal(err)
		}
		templates.team = d
	}
	return templates.team
}

// side is one of the two processes that take turns.
type side struct {
	*child
	*load
	samples []sample
}

func newSide(b *testing.B, c *child, scripts []script) *side {
	b.Helper()
	l, err := newLoad(c.addr, scripts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.close(); err != nil {
			b.Error(err)
		}
	})
	return &side{child: c, load: l}
}

func (s *side) turn(b *testing.B, d time.Duration) sample {
	b.Helper()
	before, err := s.processorTime()
	if err != nil {
		b.Fatal(err)
	}
	got, err := s.run(d)
	if err != nil {
		b.Fatal(err)
	}
	after, err := s.processorTime()
	if err != nil {
		b.Fatal(err)
	}
	got.server = after - before
	return got
}

// contest lets the floor and coffer take turns under the same requests.
func contest(b *testing.B, w workload, d *data, targets []target) {
	d = d.copy(b)
	scripts := make([]script, len(targets))
	for i, t := range targets {
		t.client = i
		scripts[i] = w.make(d, t)
	}
	subject := newSide(b, startSubject(b, d, w.reads), scripts)
	answer := fetchAnswer(b, subject.addr, scripts[0][0])
	under := newSide(b, startFloor(b, floor{Answer: answer, Put: w.put, Audit: w.audit}), scripts)
	takeTurns(b, under, subject, w.goal)
}

// takeTurns measures pairs of stretches, and reports what they came to.
func takeTurns(b *testing.B, under, subject *side, g goal) {
	b.Helper()
	under.turn(b, stretch/4)
	subject.turn(b, stretch/4)
	stop := subject.profile(b)
	for b.Loop() {
		under.samples = append(under.samples, under.turn(b, stretch))
		subject.samples = append(subject.samples, subject.turn(b, stretch))
	}
	stop()
	record(b, under.samples, subject.samples, g)
}

// fetchAnswer is the body of the subject's own answer.
func fetchAnswer(b *testing.B, addr string, r request) []byte {
	b.Helper()
	c, err := dial(addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	status, body, err := c.fetch(r)
	if err != nil || status/100 != 2 {
		b.Fatalf("status %d, %v: %s", status, err, body)
	}
	return body
}

// profileDir is the environment variable for a directory that gets a CPU
// profile of the subject under each workload.
const profileDir = "COFFER_BENCH_PROFILES"

func (s *side) profile(b *testing.B) (stop func()) {
	dir := os.Getenv(profileDir)
	if dir == "" {
		return func() {}
	}
	path := filepath.Join(dir, strings.NewReplacer("/", "_", "=", "").Replace(b.Name())+".pprof")
	if _, err := s.tell("profile " + path); err != nil {
		b.Fatal(err)
	}
	return func() {
		if _, err := s.tell("profiled"); err != nil {
			b.Error(err)
		}
	}
}
