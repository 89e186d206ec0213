package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"coffer/server/servertest"
)

// get asks for a page, by a connection of its own, and is the serial number of
// the certificate that was shown.
func get(c *http.Client, url string) (*big.Int, error) {
	res, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return nil, err
	}
	if res.StatusCode >= 500 && res.StatusCode != http.StatusServiceUnavailable {
		return nil, errors.New(res.Status)
	}
	return res.TLS.PeerCertificates[0].SerialNumber, nil
}

// TestCertificatesAreReadAgain changes the files under load: nobody fails, a
// broken pair changes nothing and is logged, a good one is used within seconds.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	later := time.Now().Add(time.Hour)
	put := func(number int64, until time.Time) []byte {
		cert, key := a.issue(number, until)
		write(t, dir, map[string][]byte{"tls.crt": cert, "tls.key": key})
		return cert
	}
	put(1, later)
	p := serving(t, nil, "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key"))
	c := a.client()
	c.Transport.(*http.Transport).DisableKeepAlives = true
	shows := func(number int64) func() bool {
		return func() bool {
			got, err := get(c, p.URL+"/health")
			return err == nil && got.Cmp(big.NewInt(number)) == 0
		}
	}
	if !shows(1)() {
		t.Fatalf("the first certificate is not shown:\n%s", p.log)
	}
	stopLoad := keepAsking(t, c, p.URL+"/health")

	put(2, later)
	eventually(t, shows(2), "the second certificate is not used:\n%s", p.log)

	// A key that belongs to another certificate.
	_, key := a.issue(3, later)
	write(t, dir, map[string][]byte{"tls.key": key})
	p.logs("the new certificate is of no use; the old one stays")
	p.logs("private key does not match public key")
	put(4, time.Now().Add(-time.Minute))
	p.hangUp()
	p.logs("has expired on")
	if err := os.Remove(filepath.Join(dir, "tls.crt")); err != nil {
		t.Fatal(err)
	}
	p.hangUp()
	p.logs("no such file")
	if !shows(2)() {
		t.Error("a broken pair took the place of a good one")
	}

	// On SIGHUP there is no waiting.
	put(5, later)
	p.hangUp()
	p.logs("new certificate\" names=[localhost] expires=" + later.UTC().Format("2006"))
	eventually(t, shows(5), "SIGHUP did not bring the new certificate")
	stopLoad()
}

// keepAsking asks all the time until its end, and wants every answer.
func keepAsking(t *testing.T, c *http.Client, url string) (stop func()) {
	var asked atomic.Int64
	var all sync.WaitGroup
	end := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, err := get(c, url); err != nil {
					t.Errorf("under load: %v", err)
					return
				}
				asked.Add(1)
			}
		})
	}
	return func() {
		close(end)
		all.Wait()
		if asked.Load() < 20 {
			t.Errorf("only %d requests were made", asked.Load())
		}
	}
}

func TestCertificatesThatCannotServe(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.issue(1, time.Now().Add(time.Hour))
	_, other := a.issue(2, time.Now().Add(time.Hour))
	for name, files := range map[string]map[string][]byte{
		"private key does not match": {"tls.crt": cert, "tls.key": other},
		"failed to find any PEM":     {"tls.crt": []byte("x"), "tls.key": key},
		"no such file":               {"tls.crt": cert},
	} {
		dir := t.TempDir()
		write(t, dir, files)
		p := startProgram(t, nil, "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key"))
		p.ready()
		p.ends(10 * time.Second)
		if !strings.Contains(p.log.String(), name) || p.cmd.ProcessState.ExitCode() != exitError {
			t.Errorf("%s: %v\n%s", name, p.err, p.log)
		}
	}
}

// TestAnExpiredCertificateKeepsNobodyLockedOut starts with one, and takes a good
// one when it comes.
func TestAnExpiredCertificateKeepsNobodyLockedOut(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	cert, key := a.issue(1, time.Now().Add(-time.Minute))
	write(t, dir, map[string][]byte{"tls.crt": cert, "tls.key": key})
	p := serving(t, nil, "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key"))
	p.logs("the certificate has expired")
	if _, err := get(a.client(), p.URL+"/health"); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a client took it: %v", err)
	}
	cert, key = a.issue(2, time.Now().Add(time.Hour))
	write(t, dir, map[string][]byte{"tls.crt": cert, "tls.key": key})
	eventually(t, func() bool { _, err := get(a.client(), p.URL+"/health"); return err == nil }, "the good one is not taken:\n%s", p.log)
}

func TestTLSIsModern(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	cert, key := a.issue(1, time.Now().Add(time.Hour))
	write(t, dir, map[string][]byte{"tls.crt": cert, "tls.key": key})
	p := serving(t, nil, "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key"), "--tls-redirect-listen", "127.0.0.1:0")
	c := a.client()
	res, err := c.Get(p.URL + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Proto != "HTTP/2.0" || res.TLS.Version != tls.VersionTLS13 || res.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("got %s, TLS %x, %v", res.Proto, res.TLS.Version, res.Header)
	}
	old := a.client()
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if _, err := get(old, p.URL+"/health"); err == nil {
		t.Error("TLS 1.1 is spoken")
	}

	// Many who do not finish their handshake are in nobody's way.
	address := strings.TrimPrefix(p.URL, "https://")
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte{22, 3, 1})
	}
	fresh := a.client()
	fresh.Timeout = 5 * time.Second
	if _, err := get(fresh, p.URL+"/health"); err != nil {
		t.Error(err)
	}
}

// TestASelfSignedCertificateServesOtherClients has clients of others trust the
// certificate's file, as docs/operations.md says.
func TestASelfSignedCertificateServesOtherClients(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := serving(t, nil, "--data", data, "--tls-self-signed")
	file := filepath.Join(data, "tls", "self-signed.crt")
	url := strings.Replace(p.URL, "127.0.0.1", "localhost", 1) + "/health"
	for name, cmd := range map[string]*exec.Cmd{
		"curl": exec.Command("curl", "-sS", "--cacert", file, url),
		"node": exec.Command("node", "-e", `fetch(process.argv[1]).then(r => console.log(r.status), e => {console.error(e); process.exit(1)})`, url),
	} {
		if cmd.Err != nil {
			t.Logf("%s is not installed", name)
			continue
		}
		cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Header.Get("Strict-Transport-Security") != "" {
		t.Error("browsers are told never to take an exception for this host")
	}
}

// TestAUnixSocketServes listens on one, beside what a killed server left there.
func TestAUnixSocketServes(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "coffer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	p := serving(t, nil, "--listen", "unix:"+path, "--socket-mode", "0600", "--public-url", "https://vault.example")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || p.URL != "https://vault.example" {
		t.Errorf("got %v, %v, %s", info.Mode(), err, p.URL)
	}
	if got := overSocket(t, path); got != http.StatusOK && got != http.StatusServiceUnavailable {
		t.Errorf("status %d", got)
	}

	// Nobody takes it away from a server that runs, or from a file.
	q := startProgram(t, nil, "--listen", "unix:"+path)
	q.ready()
	q.ends(10 * time.Second)
	if !strings.Contains(q.log.String(), "Another program listens there") {
		t.Errorf("got %s", q.log)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.ends(10 * time.Second)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	write(t, dir, map[string][]byte{"file": nil})
	q = startProgram(t, nil, "--listen", "unix:"+filepath.Join(dir, "file"))
	q.ready()
	q.ends(10 * time.Second)
	if !strings.Contains(q.log.String(), "is no socket") {
		t.Errorf("got %s", q.log)
	}
}

func overSocket(t *testing.T, path string) int {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	res, err := c.Get("http://localhost/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestStoppingIsGraceful stops the server while a request is under way: it is
// answered, new ones are refused, and a second signal waits for nobody.
func TestStoppingIsGraceful(t *testing.T) {
	t.Parallel()
	p := serving(t, nil)
	address := strings.TrimPrefix(p.URL, "http://")
	begun := beginRequest(t, address)
	term := func() {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	term()
	eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, "new connections are accepted after the signal")
	begun.finish(t)
	p.ends(10 * time.Second)
	if p.err != nil {
		t.Errorf("it ended with %v", p.err)
	}

	p = serving(t, nil)
	beginRequest(t, strings.TrimPrefix(p.URL, "http://"))
	term()
	p.logs("stopping")
	select {
	case <-p.done:
		t.Fatal("it did not wait for the request")
	case <-time.After(300 * time.Millisecond):
	}
	term()
	p.ends(10 * time.Second)
	if p.err == nil {
		t.Error("the second signal did not end it")
	}
}

// halfSent is a request whose end is not sent yet.
type halfSent struct{ net.Conn }

func beginRequest(t *testing.T, address string) halfSent {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "POST /v1/sys/unseal HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	// The server asks for the rest when its handler reads.
	line := make([]byte, 12)
	if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 100" {
		t.Fatalf("got %q, %v", line, err)
	}
	return halfSent{conn}
}

func (c halfSent) finish(t *testing.T) {
	t.Helper()
	fmt.Fprint(c, "{}")
	rest, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(rest), "HTTP/1.1 4") && !strings.Contains(string(rest), "HTTP/1.1 5") {
		t.Errorf("the request under way was not answered: %q, %v", rest, err)
	}
}

// TestTheServiceManagerIsTold plays systemd: it passes sockets, and listens.
func TestTheServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	manager := listenAsManager(t)
	main, metrics := passed(t), passed(t)
	data := filepath.Join(t.TempDir(), "data")
	p := serving(t, func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{main.file, metrics.file}
		// Only a shell knows the number of the process before it is the program.
		cmd.Args = append([]string{"sh", "-c", `export LISTEN_PID=$$; shift 0; exec -a coffer "$0" "$@"`, os.Args[0]}, cmd.Args[1:]...)
		cmd.Path = "/bin/bash"
		cmd.Env = append(cmd.Env, "LISTEN_FDS=2", "LISTEN_FDNAMES=coffer.socket:metrics",
			"NOTIFY_SOCKET="+manager.path, "WATCHDOG_USEC=600000")
	}, "--data", data)
	if p.URL != "http://"+main.address {
		t.Errorf("it listens on %s, not on %s", p.URL, main.address)
	}
	manager.hears("READY=1\nSTATUS=not set up yet")
	manager.hears("WATCHDOG=1")
	for url, want := range map[string]int{"http://" + main.address + "/setup": 200, "http://" + metrics.address + "/metrics": 200} {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s", url, res.Status)
		}
	}
	if code, _, stderr := runCLI(t, "init", "--data", data); code != exitOK {
		t.Fatal(stderr)
	}
	manager.hears("STATUS=unsealed")
	if code, _, stderr := runCLI(t, "seal", "--yes", "--data", data); code != exitOK {
		t.Fatal(stderr)
	}
	manager.hears("STATUS=sealed; run: coffer unseal")
	p.hangUp()
	manager.hears("RELOADING=1\nMONOTONIC_USEC=")
	manager.hears("READY=1\nSTATUS=sealed")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	manager.hears("STOPPING=1")
	p.ends(10 * time.Second)
}

type socket struct {
	file    *os.File
	address string
}

func passed(t *testing.T) socket {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return socket{f, l.Addr().String()}
}

type serviceManager struct {
	t    *testing.T
	said chan string
	path string
}

func listenAsManager(t *testing.T) serviceManager {
	t.Helper()
	dir, err := os.MkdirTemp("", "coffer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := serviceManager{t, make(chan string, 1000), path}
	go m.listen(conn)
	return m
}

// listen takes every message at once, as service managers do: the system keeps only
// some, and then whoever speaks has to wait.
func (m serviceManager) listen(conn *net.UnixConn) {
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		m.said <- string(buf[:n])
	}
}

// hears waits for a message that begins so, past others.
func (m serviceManager) hears(want string) {
	m.t.Helper()
	for end := time.After(20 * time.Second); ; {
		select {
		case got := <-m.said:
			if strings.HasPrefix(got, want) {
				return
			}
		case <-end:
			m.t.Fatalf("it never says %q", want)
		}
	}
}

// TestRedirectsLeadToTLS asks the address that has none.
func TestRedirectsLeadToTLS(t *testing.T) {
	t.Parallel()
	plain := servertest.FreeAddress()
	p := serving(t, nil, "--tls-self-signed", "--tls-redirect-listen", plain, "--public-url", "https://vault.example:8443")
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, token string) *http.Response {
		r := httptest.NewRequest(method, "http://"+plain+path, nil)
		r.RequestURI = ""
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	if res := ask("GET", "/vaults/a/b?x=1", ""); res.StatusCode != 307 || res.Header.Get("Location") != "https://vault.example:8443/vaults/a/b?x=1" {
		t.Errorf("got %s, %v\n%s", res.Status, res.Header, p.log)
	}
	if res := ask("GET", "//evil.example/", ""); !strings.HasPrefix(res.Header.Get("Location"), "https://vault.example:8443/") {
		t.Errorf("got %v", res.Header)
	}
	for _, res := range []*http.Response{ask("POST", "/login", ""), ask("GET", "/v1/users/me", "coffer_live_x")} {
		if res.StatusCode != http.StatusForbidden || res.Header.Get("Location") != "" {
			t.Errorf("got %s, %v", res.Status, res.Header)
		}
	}
}
