//go:build unix

package bench

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

// backupLayout makes a file of about a gigabyte.
var backupLayout = layout{Vaults: 24_000, Filled: usual, Secrets: 10}

// BenchmarkBackup has one backup made after the other beside pulls of ten values by
// 8 clients. One iteration is one pair: a stretch without backups, and one that goes
// on until a whole backup was made.
func BenchmarkBackup(b *testing.B) {
	path := program(b)
	d := ofLayout(b, backupLayout)
	s := serve(b, path, d)
	defer s.stop(b)
	addr := s.cmd.Args[len(s.cmd.Args)-1]
	l, err := newLoad(addr, wanderers(d, "pull10", 8, 10))
	if err == nil {
		_, err = l.run(3 * time.Second) // to warm up
	}
	if err != nil {
		b.Fatal(err)
	}
	op := operatorOf(b, d)
	var ratios, took, memory []float64
	for b.Loop() {
		alone, beside, whole := backupPair(b, l, op, s.cmd.Process.Pid)
		ratios = append(ratios, beside.p99()/alone.p99())
		took = append(took, whole.Seconds())
		memory = append(memory, beside.memory-alone.memory)
		b.Logf("p99 %.1f ms alone, %.1f ms beside a backup of %v; anonymous memory at most %.1f and %.1f MiB", alone.p99(), beside.p99(), whole.Round(time.Second), alone.memory, beside.memory)
	}
	if err := l.close(); err != nil {
		b.Fatal(err)
	}
	recordFigure(b, figure{what: b.Name() + "/p99", unit: "p99-beside/alone", value: spreadOf(ratios).mid, most: 2})
	recordFigure(b, figure{what: b.Name() + "/took", unit: "s", value: spreadOf(took).mid})
	recordFigure(b, figure{what: b.Name() + "/memory", unit: "MiB-more", value: slices.Max(memory), most: 16})
}

func operatorOf(b *testing.B, d *data) *client.Client {
	b.Helper()
	transport, err := server.DialOperator(d.Dir)
	if err != nil {
		b.Fatal(err)
	}
	return &client.Client{URL: "http://operator", Transport: transport}
}

// stretches are what load of a while came to.
type stretches struct {
	parts  []sample
	memory float64 // the most, in MiB
}

// p99 is the median of the stretches' 99th percentiles, in milliseconds.
func (s stretches) p99() float64 {
	return medianOf(s.parts, func(p sample) float64 { return p.p99.Seconds() * 1e3 })
}

func (s *stretches) more(b *testing.B, l *load, pid int) {
	b.Helper()
	part, err := l.run(2 * time.Second)
	if err != nil {
		b.Fatal(err)
	}
	s.parts = append(s.parts, part)
	s.memory = max(s.memory, anonymousMiB(b, pid))
}

// backupPair is load alone, and then with a backup beside it.
func backupPair(b *testing.B, l *load, op *client.Client, pid int) (alone, beside stretches, took time.Duration) {
	b.Helper()
	for range 5 {
		alone.more(b, l, pid)
	}
	made := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := op.Backup(context.Background(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return io.Discard, nil })
		made <- err
	}()
	for {
		beside.more(b, l, pid)
		select {
		case err := <-made:
			if err != nil {
				b.Fatal(err)
			}
			return alone, beside, time.Since(start)
		default:
		}
	}
}
