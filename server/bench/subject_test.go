//go:build unix

package bench

import (
	"context"
	"os"
	"testing"

	"coffer/server"
)

// Environment variables of the subject: its data directory, and audit.reads.
const (
	subjectData  = "COFFER_BENCH_DATA"
	subjectReads = "COFFER_BENCH_READS"
)

// startSubject starts coffer on data, which it changes.
func startSubject(b testing.TB, d *data, reads string) *child {
	b.Helper()
	return startChild(b, "subject", subjectData+"="+d.Dir, subjectReads+"="+reads)
}

// serveSubject is the child. Nobody reads its log, but it is written.
func serveSubject() error {
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	s, err := server.New(server.Config{
		Listen: "127.0.0.1:0", Data: os.Getenv(subjectData), Version: "bench",
		Audit:  server.AuditConfig{Reads: os.Getenv(subjectReads)},
		Limits: server.NoLimits(),
		Log:    server.LogConfig{Level: os.Getenv("COFFER_LOG_LEVEL"), Output: log},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-ended:
		return err
	}
	told := obey(s.Addr(), func(string) (string, error) { return "", nil })
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return told
}
