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
	before := anonymousMiB(b, s.cmd.Process.Pid)
	var ratios, took, memory []float64
	for b.Loop() {
		alone, beside, whole, most := backupPair(b, l, op, s.cmd.Process.Pid)
		ratios = append(ratios, float64(beside.p99)/float64(alone.p99))
		took = append(took, whole.Seconds())
		memory = append(memory, most-before)
		b.Logf("p99 alone %v, beside a backup %v; p50 %v, %v; the backup took %v; anonymous memory %.1f MiB more", alone.p99, beside.p99, alone.p50, beside.p50, whole, most-before)
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

// backupPair is a stretch of load, and then one with a backup beside it.
func backupPair(b *testing.B, l *load, op *client.Client, pid int) (alone, beside sample, took time.Duration, most float64) {
	b.Helper()
	alone, err := l.run(5 * time.Second)
	if err != nil {
		b.Fatal(err)
	}
	made := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := op.Backup(context.Background(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return io.Discard, nil })
		made <- err
	}()
	var parts []sample
	for ended := false; !ended; {
		part, err := l.run(500 * time.Millisecond)
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, part)
		most = max(most, anonymousMiB(b, pid))
		select {
		case err := <-made:
			if err != nil {
				b.Fatal(err)
			}
			ended = true
		default:
		}
	}
	// The worst half second says more than all of them together.
	beside = parts[0]
	for _, p := range parts {
		if p.p99 > beside.p99 {
			beside = p
		}
	}
	return alone, beside, time.Since(start), most
}
