package cli

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"coffer/server/servertest"
)

// acmeServer is Pebble, a real ACME server for tests, on loopback. It is none of
// ours: COFFER_PEBBLE names the program, or the PATH has it.
type acmeServer struct {
	directory string
	caFile    string         // vouches for the directory
	roots     *x509.CertPool // vouch for what it issues
}

// pebble starts one that asks for proof at these ports of every host. Without the
// program the test is skipped.
func pebble(t *testing.T, httpPort, tlsPort string) acmeServer {
	t.Helper()
	path := os.Getenv("COFFER_PEBBLE")
	if path == "" {
		found, err := exec.LookPath("pebble")
		if err != nil {
			t.Skip("pebble is not in the PATH, and COFFER_PEBBLE does not name it; go install github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1")
		}
		path = found
	}
	dir, a := t.TempDir(), newAuthority(t)
	cert, key := a.issue(1, time.Now().Add(time.Hour))
	at, management := servertest.FreeAddress(), servertest.FreeAddress()
	config := fmt.Sprintf(`{"pebble": {"listenAddress": %q, "managementListenAddress": %q, "certificate": %q, "privateKey": %q,
		"httpPort": %s, "tlsPort": %s, "keyAlgorithm": "ecdsa"}}`,
		at, management, filepath.Join(dir, "crt"), filepath.Join(dir, "key"), httpPort, tlsPort)
	write(t, dir, map[string][]byte{
		"crt": cert, "key": key, "config": []byte(config),
		"ca": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}),
	})
	cmd := exec.Command(path, "-config", filepath.Join(dir, "config"), "-dnsserver", everythingIsHere(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	said := new(lines)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("pebble said:\n%s", said)
		}
	})
	_, port, _ := net.SplitHostPort(at)
	_, managementPort, _ := net.SplitHostPort(management)
	server := acmeServer{"https://localhost:" + port + "/dir", filepath.Join(dir, "ca"), x509.NewCertPool()}
	var root []byte
	eventually(t, func() bool {
		res, err := a.client().Get("https://localhost:" + managementPort + "/roots/0")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		root, err = io.ReadAll(res.Body)
		return err == nil
	}, "pebble does not start: %s", said)
	if !server.roots.AppendCertsFromPEM(root) {
		t.Fatalf("pebble has no root: %s", root)
	}
	return server
}

// everythingIsHere is a name server for which every name is this machine. Pebble
// asks it by TCP, one question for each connection.
func everythingIsHere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var size [2]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(conn, question); err != nil {
					return
				}
				answer := here(question)
				_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			}()
		}
	}()
	return l.Addr().String()
}

func here(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	answer, _ := m.Pack()
	return answer
}

// TestAnAuthorityVouchesForTheServer gets a certificate from a real ACME server,
// once by each kind of proof, and needs no other after a restart.
func TestAnAuthorityVouchesForTheServer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"TLS-ALPN", "HTTP"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			secure, plain := servertest.FreeAddress(), servertest.FreeAddress()
			_, tlsPort, _ := net.SplitHostPort(secure)
			_, httpPort, _ := net.SplitHostPort(plain)
			flags := []string{"--listen", secure, "--tls-acme-email", "ann@vault.example", "--tls-acme-hosts", "vault.example"}
			if kind == "HTTP" {
				flags, tlsPort = append(flags, "--tls-acme-http-listen", plain), "9" // nothing is there
			} else {
				httpPort = "9"
			}
			acme := pebble(t, httpPort, tlsPort)
			data := filepath.Join(t.TempDir(), "data")
			flags = append(flags, "--data", data, "--tls-acme-directory", acme.directory, "--tls-acme-ca-file", acme.caFile)
			p := serving(t, nil, flags...)
			p.logs("an authority vouches for this server")
			first := vouched(t, acme, secure)

			// Keys are for nobody else to read.
			kept, err := filepath.Glob(filepath.Join(data, "tls", "acme", "*"))
			if err != nil || len(kept) < 2 {
				t.Fatalf("kept are %v, %v", kept, err)
			}
			for _, name := range kept {
				if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			if kind == "HTTP" {
				res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get("http://" + plain + "/keys")
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if to := res.Header.Get("Location"); !strings.HasPrefix(to, "https://127.0.0.1:") || !strings.HasSuffix(to, "/keys") {
					t.Errorf("led to %q", to)
				}
			}
			_ = p.cmd.Process.Kill()
			<-p.done
			serving(t, nil, flags...)
			if again := vouched(t, acme, secure); first.SerialNumber.Cmp(again.SerialNumber) != 0 {
				t.Error("it asked for another certificate after a restart")
			}
		})
	}
}

// vouched is the certificate that the authority's root vouches for.
func vouched(t *testing.T, acme acmeServer, at string) *x509.Certificate {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", at, &tls.Config{RootCAs: acme.roots, ServerName: "vault.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// TestAnAuthorityThatRefuses has proof fail: the server stays up and says so, asks
// no second time for each visitor, and shows itself for no other name.
func TestAnAuthorityThatRefuses(t *testing.T) {
	t.Parallel()
	secure := servertest.FreeAddress()
	acme := pebble(t, "9", "9")
	data := filepath.Join(t.TempDir(), "data")
	p := serving(t, nil, "--listen", secure, "--data", data, "--tls-acme-hosts", "vault.example",
		"--tls-acme-directory", acme.directory, "--tls-acme-ca-file", acme.caFile)
	p.logs("the authority gives no certificate")
	for _, name := range []string{"vault.example", "other.example"} {
		for range 5 {
			if conn, err := tls.Dial("tcp", secure, &tls.Config{RootCAs: acme.roots, ServerName: name}); err == nil {
				_ = conn.Close()
				t.Errorf("a handshake for %s worked", name)
			}
		}
	}
	if n := strings.Count(p.log.String(), "the authority gives no certificate"); n != 1 {
		t.Errorf("it was asked %d times:\n%s", n, p.log)
	}
	code, out, _ := runCLI(t, "status", "--data", data, "--json")
	var st statusReport
	if err := json.Unmarshal([]byte(out), &st); err != nil || !st.Running || code != exitSealed {
		t.Errorf("the operator is told %d %s", code, out)
	}
}
