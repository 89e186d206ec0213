package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/listen"
)

// TLSConfig says where the server's certificate comes from.
type TLSConfig = listen.TLS

// ACMEConfig says which names an authority vouches for.
type ACMEConfig = listen.ACME

// tlsDir is where certificates are kept that the server gets by itself.
const tlsDir = "tls"

// publicURL is how clients reach the instance, without a trailing slash.
func (c Config) publicURL() string {
	return strings.TrimRight(cmp.Or(c.PublicURL, localURL(c.TLS, c.Listen)), "/")
}

// localURL is how this machine reaches an address that something listens on. By a
// Unix socket only a proxy comes, which knows better.
func localURL(t TLSConfig, address string) string {
	scheme := "http://"
	if t.Enabled() {
		scheme = "https://"
	}
	if _, ok := listen.SocketPath(address); ok {
		return scheme + "localhost"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return scheme + address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if len(t.ACME.Hosts) > 0 {
			host = t.ACME.Hosts[0]
		}
	}
	return scheme + net.JoinHostPort(host, port)
}

// checkTLS finds settings that do not fit together.
func (c Config) checkTLS() error {
	if c.TLS.Enabled() && strings.HasPrefix(c.PublicURL, "http://") {
		return fmt.Errorf("public_url is %s, but tls is on: write it with https://", c.PublicURL)
	}
	return c.TLS.Check()
}

// names are the hosts and addresses that clients reach the instance by.
func (c Config) names() []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Hostname() != "" {
		names = append(names, strings.ToLower(u.Hostname()))
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			names = append(names, strings.ToLower(host))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// address is one of those that the instance listens on.
type address struct {
	net.Listener
	server *http.Server
}

// addresses are those taken so far.
type addresses struct {
	all []address
	err error
}

// listen takes hold of all addresses, or of none.
func (s *Server) listen() ([]address, error) {
	var inherited listen.Sockets
	a := addresses{}
	if s.c.Systemd {
		inherited, a.err = listen.Inherited()
	}
	if a.err == nil {
		s.certificates, a.err = s.c.TLS.Certificates(listen.Place{
			Dir: filepath.Join(s.c.Data, tlsDir), Names: s.c.names(), Log: s.log, Now: s.c.TestOnlyNow,
		})
	}
	public := http.Handler(facade{s, func(s *Server) http.Handler { return s.public }})
	if s.c.TLS.Enabled() && !s.c.TLS.NoHSTS && !s.c.TLS.SelfSigned {
		public = listen.StrictTransport(public)
	}
	encrypted := false
	for _, l := range a.take("listen", inherited.Main, s.c.Listen, s.c.SocketMode) {
		s.addr = cmp.Or(s.addr, addressOf(l))
		secure := s.certificates.Encrypt(l)
		encrypted = encrypted || secure != l
		a.serve(secure, s.httpServer(public))
	}
	if a.err == nil && s.certificates != nil && !encrypted {
		a.err = errors.New("tls is on, but only a Unix socket is listened on, which is not encrypted; keep one of them")
	}
	if a.err == nil {
		l, err := listenOperator(s.c.Data)
		if a.fail("listen for the operator", err); err == nil {
			a.serve(l, s.httpServer(facade{s, func(s *Server) http.Handler { return s.operator }}))
		}
	}
	for _, l := range a.take("listen for the metrics", inherited.Metrics, s.c.Metrics.Listen, s.c.SocketMode) {
		s.metricsAddr = cmp.Or(s.metricsAddr, addressOf(l))
		a.serve(l, s.httpServer(facade{s, func(s *Server) http.Handler { return s.scraped }}))
	}
	s.listenPlain(&a, inherited.Redirect)
	if a.err != nil {
		for _, open := range a.all {
			a.err = errors.Join(a.err, open.Close())
		}
		return nil, a.err
	}
	return a.all, nil
}

// listenPlain takes hold of the addresses without TLS that lead to those with it.
func (s *Server) listenPlain(a *addresses, inherited []net.Listener) {
	if s.certificates == nil {
		return
	}
	plain := s.certificates.Challenges(listen.Redirect(s.c.PublicURL))
	for _, l := range a.take("tls.redirect_listen", inherited, s.c.TLS.RedirectListen, s.c.SocketMode) {
		a.serve(l, s.httpServer(plain))
	}
	if at := s.c.TLS.ACME.HTTPListen; at != s.c.TLS.RedirectListen {
		for _, l := range a.take("tls.acme.http_listen", nil, at, s.c.SocketMode) {
			a.serve(l, s.httpServer(plain))
		}
	}
}

// take is the listeners that were inherited, else one for the address, if any.
func (a *addresses) take(what string, inherited []net.Listener, at string, mode os.FileMode) []net.Listener {
	if a.err != nil || len(inherited) > 0 {
		return inherited
	}
	if at == "" {
		return nil
	}
	l, err := listen.Open(at, mode)
	if err != nil {
		a.fail(what, err)
		return nil
	}
	return []net.Listener{l}
}

func (a *addresses) fail(what string, err error) {
	if err != nil {
		a.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (a *addresses) serve(l net.Listener, s *http.Server) { a.all = append(a.all, address{l, s}) }

// addressOf is where something listens, as it is written in the configuration.
func addressOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return l.Addr().String()
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// attend does what goes on beside serving, and returns what ends that.
func (s *Server) attend(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	if print := s.Fingerprint(); print != "" {
		s.log.Info("clients know this server by its key", "fingerprint", print, "login", "coffer login "+s.c.PublicURL+"#"+print)
	}
	if s.c.Systemd {
		s.service = &listen.Service{Log: s.log, State: s.stateInWords, Alive: s.alive}
	}
	done := make(chan struct{}, 2)
	go func() { s.certificates.Keep(ctx); done <- struct{}{} }()
	go func() { s.service.Watch(ctx); done <- struct{}{} }()
	s.service.Ready()
	return func() {
		s.service.Stopping()
		cancel()
		<-done
		<-done
	}
}

// stateInWords is how the instance fares, for a service manager to show.
func (s *Server) stateInWords() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch s.warden.State() {
	case api.StateOK:
		return "unsealed"
	case api.StateUninitialized:
		return "not set up yet"
	default:
		return "sealed; run: coffer unseal"
	}
}

// alive asks the instance whether it is well, as a client would. A sealed one is.
func (s *Server) alive(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://operator/health", nil)
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		res, err := s.Operator().RoundTrip(r)
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reload reads the certificate's files again, and has an authority asked again
// that gave none.
func (s *Server) Reload() {
	s.service.Reload(s.certificates.Reload)
	s.log.Info("reloaded")
}

// Fingerprint is what clients know a ready instance by that nobody vouches for,
// as it stands behind the # of its address; else "".
func (s *Server) Fingerprint() string { return s.certificates.Fingerprint() }

// LocalURL is how this machine reaches the instance, once it is ready.
func (s *Server) LocalURL() string { return localURL(s.c.TLS, s.addr) }

// MetricsAddr is where the metrics have a listener of their own, once the
// instance is ready.
func (s *Server) MetricsAddr() string { return s.metricsAddr }
