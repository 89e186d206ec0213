package listen

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// files is a certificate that somebody else writes.
type files struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time
	current   atomic.Pointer[tls.Certificate]

	mu      sync.Mutex
	known   [sha256.Size]byte // of what was read last, whether it was any good or not
	settles [sha256.Size]byte // of what differs from that since the last look
}

func openFiles(cert, key string, p Place) (*files, error) {
	f := &files{cert: cert, key: key, log: p.Log, now: p.Now}
	pair, sum, err := f.read()
	if err != nil {
		return nil, err
	}
	f.known = sum
	f.current.Store(pair)
	if f.expired(pair) {
		// The server stays up: clients say what is wrong, and a new file is taken.
		f.log.Warn("the certificate has expired; clients will refuse it", "file", cert, "expired", pair.Leaf.NotAfter)
	}
	return f, nil
}

func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.current.Load(), nil }

func (f *files) begin(context.Context) {}

// read reads the pair, and tells it from others. What cannot be read has a sum too.
func (f *files) read() (*tls.Certificate, [sha256.Size]byte, error) {
	cert, err := os.ReadFile(f.cert)
	key, errKey := os.ReadFile(f.key)
	if err = errors.Join(err, errKey); err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(cert), cert, key))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, sum, fmt.Errorf("%s and %s: %w", f.cert, f.key, err)
	}
	return &pair, sum, nil
}

func (f *files) expired(pair *tls.Certificate) bool { return f.now().After(pair.Leaf.NotAfter) }

func (f *files) look(asked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pair, sum, err := f.read()
	if sum == f.known {
		return
	}
	if sum != f.settles && !asked {
		f.settles = sum
		return
	}
	f.known = sum
	if err == nil && f.expired(pair) && !f.expired(f.current.Load()) {
		err = fmt.Errorf("%s has expired on %s", f.cert, pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	if err != nil {
		f.log.Warn("the new certificate is of no use; the old one stays", "error", err)
		return
	}
	f.current.Store(pair)
	f.log.Info("new certificate", "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
}
