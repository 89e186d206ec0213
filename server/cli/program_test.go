package cli

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the real program, serving.
type program struct {
	served
	t    *testing.T
	cmd  *exec.Cmd
	log  *lines
	done chan struct{}
	err  error // once done
}

// lines gathers what a program writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// serving starts the program on fresh data, or on that of the directory that the
// flags name, and waits until it says where it listens. Change may alter how it
// is started.
func serving(t *testing.T, change func(*exec.Cmd), flags ...string) *program {
	t.Helper()
	p := startProgram(t, change, flags...)
	select {
	case <-p.done:
		t.Fatalf("the server ended: %v\n%s", p.err, p.log)
	case <-time.After(time.Minute):
		t.Fatalf("the server does not start:\n%s", p.log)
	case <-p.ready():
	}
	return p
}

func startProgram(t *testing.T, change func(*exec.Cmd), flags ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Args = append([]string{"coffer", "serve", "--json", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data")}, flags...)
	cmd.Env = append(os.Environ(), "COFFER_LIMITS_GENERAL=off", "COFFER_LIMITS_BULK=off")
	p := &program{t: t, cmd: cmd, log: new(lines), done: make(chan struct{})}
	cmd.Stderr = p.log
	if change != nil {
		change(cmd)
	}
	return p
}

// ready starts the program, and is closed when it says where it listens.
func (p *program) ready() <-chan struct{} {
	p.t.Helper()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	ready := make(chan struct{})
	go func() {
		if json.NewDecoder(bufio.NewReader(out)).Decode(&p.served) == nil {
			close(ready)
		}
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return ready
}

// ends waits for the program to end by itself.
func (p *program) ends(within time.Duration) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("the server does not end:\n%s", p.log)
	}
}

// hangUp has the program read its files again.
func (p *program) hangUp() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		p.t.Fatal(err)
	}
}

// logs waits until the program logged something.
func (p *program) logs(what string) {
	p.t.Helper()
	eventually(p.t, func() bool { return strings.Contains(p.log.String(), what) }, "%q is not logged:\n%s", what, p.log)
}

// eventually waits for something, long enough for a busy machine.
func eventually(t *testing.T, is func() bool, text string, args ...any) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf(text, args...)
}

// authority signs certificates of tests.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

func (a *authority) sign(c *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// issue is a certificate for localhost and a key in PEM; its number tells it from others.
func (a *authority) issue(number int64, until time.Time) (cert, key []byte) {
	a.t.Helper()
	k, c := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(number), DNSNames: []string{"localhost"},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// client trusts the authority.
func (a *authority) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"},
	}}
}

// write writes files of one directory.
func write(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
