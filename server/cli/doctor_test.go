package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
)

// shortLived is a certificate for 127.0.0.1 that ends soon.
func shortLived(t *testing.T, left time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTheCertificateIsTriedAsClientsDo(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":{"initialized":true,"sealed":false,"version":"1","methods":[],"forge":{"kind":"local"}},"meta":{"requestId":"x"}}`))
	})
	good := httptest.NewTLSServer(answer)
	defer good.Close()
	ending := httptest.NewUnstartedServer(answer)
	ending.TLS = &tls.Config{Certificates: []tls.Certificate{shortLived(t, 3*24*time.Hour)}}
	ending.StartTLS()
	defer ending.Close()
	over := httptest.NewUnstartedServer(answer)
	over.Config.ErrorLog = nil
	over.TLS = &tls.Config{Certificates: []tls.Certificate{shortLived(t, -time.Minute)}}
	over.StartTLS()
	defer over.Close()
	gone := httptest.NewTLSServer(answer)
	gone.Close()
	trusting := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, tt := range []struct {
		name, url   string
		through     http.RoundTripper
		level, text string
	}{
		{"trusted", good.URL, good.Client().Transport, api.DiagnosisOK, "good until"},
		{"of nobody we know", good.URL, http.DefaultTransport, api.DiagnosisProblem, "cannot be reached as clients do"},
		{"about to end", ending.URL, trusting, api.DiagnosisWarning, "in 3 days"},
		{"over", over.URL, http.DefaultTransport, api.DiagnosisProblem, "certificate"},
		{"nobody there", gone.URL, http.DefaultTransport, api.DiagnosisProblem, "cannot be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := (&app{}).certificate(t.Context(), tt.url, tt.through)
			if got.Level != tt.level || !strings.Contains(got.Text, tt.text) || (got.Next == "") != (tt.level == api.DiagnosisOK) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTextIsWrappedBesideItsLabel(t *testing.T) {
	var out strings.Builder
	writeWrapped(&out, 6, "  ok", strings.Repeat("word ", 20)+"\x1b[31m"+strings.Repeat("x", 90))
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if i == 0 && !strings.HasPrefix(line, "  ok  word") || i > 0 && !strings.HasPrefix(line, "      word") || strings.Contains(line, "\x1b") {
			t.Errorf("line %d: %q", i, line)
		}
		if len(line) > reportWidth && !strings.Contains(line, "xxx") {
			t.Errorf("line %d has %d characters", i, len(line))
		}
	}
}
