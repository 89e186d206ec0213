package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

const alpnProto = acme.ALPNProto

// ACME says which names an authority vouches for, and where it is asked.
type ACME struct {
	Hosts      []string // by which clients reach the server
	Email      string   // where the authority writes to; may be empty
	Directory  string   // of the authority; default Let's Encrypt
	HTTPListen string   // HOST:PORT where the authority asks by HTTP; default: only on the TLS port
	CAFile     string   // certificates in PEM that vouch for the directory, instead of the system's
}

func (a ACME) enabled() bool { return len(a.Hosts) > 0 }

func (a ACME) check() error {
	if !a.enabled() && (a.Email != "" || a.Directory != "" || a.HTTPListen != "" || a.CAFile != "") {
		return errors.New("tls.acme.hosts is empty; name the hosts that the certificate is for")
	}
	for _, host := range a.Hosts {
		if !strings.Contains(strings.Trim(host, "."), ".") || net.ParseIP(host) != nil || strings.ContainsAny(host, "*:/ ") {
			return fmt.Errorf("tls.acme.hosts: %q is no name that an authority vouches for this way; write it like vault.example, and use tls.self_signed for addresses", host)
		}
	}
	return nil
}

// authority is a certificate that an ACME server gives and renews.
type authority struct {
	*autocert.Manager
	hosts []string
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	failed map[string]failure
}

// failure is kept for a while: authorities count attempts, and every handshake
// would be one.
type failure struct {
	at  time.Time
	err error
}

const attemptEvery = 15 * time.Minute

func (a ACME) open(p Place) (*authority, error) {
	ask := &http.Client{Timeout: time.Minute}
	if a.CAFile != "" {
		text, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", a.CAFile)
		}
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
		ask.Transport = t
	}
	dir := filepath.Join(p.Dir, "acme")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var hosts []string
	for _, host := range a.Hosts {
		hosts = append(hosts, strings.ToLower(strings.TrimSuffix(host, "."))) // as clients ask for it
	}
	policy := autocert.HostWhitelist(hosts...)
	m := &authority{hosts: hosts, log: p.Log, now: p.Now, failed: map[string]failure{}}
	m.Manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: a.Email, Cache: autocert.DirCache(dir),
		Client: &acme.Client{DirectoryURL: a.Directory, HTTPClient: ask, UserAgent: "coffer"},
		HostPolicy: func(ctx context.Context, host string) error {
			if name, _, err := net.SplitHostPort(host); err == nil {
				host = name // of a challenge on another port than 80
			}
			return policy(ctx, host)
		},
	}
	return m, nil
}

// get answers the authority's own handshakes, and others with a certificate,
// which the first one for a name may have to wait for.
func (m *authority) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Equal(hello.SupportedProtos, []string{alpnProto}) {
		return m.GetCertificate(hello)
	}
	if hello.ServerName == "" {
		hello.ServerName = m.hosts[0] // who comes by address sees whose it is
	}
	host := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if !slices.Contains(m.hosts, host) {
		return nil, fmt.Errorf("%q is none of tls.acme.hosts", host)
	}
	m.mu.Lock()
	last := m.failed[host]
	m.mu.Unlock()
	if last.err != nil && m.now().Sub(last.at) < attemptEvery {
		return nil, last.err
	}
	got, err := m.GetCertificate(hello)
	m.note(host, err)
	return got, err
}

func (m *authority) note(host string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.failed, host)
		return
	}
	if old := m.failed[host]; old.err != nil && m.now().Sub(old.at) < attemptEvery {
		return // several waited for the same attempt
	}
	m.failed[host] = failure{m.now(), err}
	m.log.Warn("the authority gives no certificate; it is asked again later, or at once on SIGHUP", "host", host, "error", err, "wait", attemptEvery)
}

// look forgets failures when somebody says that what caused them is mended.
// Renewal is autocert's.
func (m *authority) look(asked bool) {
	if !asked {
		return
	}
	m.mu.Lock()
	clear(m.failed)
	m.mu.Unlock()
	go m.fetch(context.Background())
}

// begin gets the certificates before somebody waits for them.
func (m *authority) begin(ctx context.Context) { go m.fetch(ctx) }

func (m *authority) fetch(ctx context.Context) {
	for _, host := range m.hosts {
		if ctx.Err() != nil {
			return
		}
		got, err := m.get(&tls.ClientHelloInfo{
			ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
		})
		if err == nil {
			m.log.Info("an authority vouches for this server", "host", host, "expires", got.Leaf.NotAfter)
		}
	}
}

// Challenges answers an authority that asks by HTTP, and hands everything else to
// the handler.
func (c *Certificates) Challenges(rest http.Handler) http.Handler {
	if m, ok := c.source.(*authority); ok {
		return m.HTTPHandler(rest)
	}
	return rest
}
