package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// The files of a self-signed certificate. The key is what clients know the server
// by, so it is made once and stays; the certificate is renewed around it when
// names are missing or its end is near.
const (
	certName = "self-signed.crt"
	keyName  = "self-signed.key"
)

// A certificate that is handed to clients as a file should outlive them.
const (
	validFor = 10 * 365 * 24 * time.Hour
	tooNear  = 60 * 24 * time.Hour
)

type selfSigned struct {
	dir         string
	names       []string
	log         *slog.Logger
	now         func() time.Time
	key         *ecdsa.PrivateKey
	fingerprint string
	current     atomic.Pointer[tls.Certificate]
}

func openSelfSigned(p Place) (*selfSigned, error) {
	s := &selfSigned{dir: p.Dir, log: p.Log, now: p.Now, names: p.Names}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if err := s.loadKey(); err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(s.key.Public())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public)
	s.fingerprint = "sha256=" + hex.EncodeToString(sum[:])
	if old, err := os.ReadFile(s.path(certName)); err == nil && s.serves(old) {
		return s, nil
	}
	return s, s.renew()
}

func (s *selfSigned) path(name string) string { return filepath.Join(s.dir, name) }

func (s *selfSigned) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.current.Load(), nil
}

func (s *selfSigned) begin(context.Context) {}

func (s *selfSigned) look(bool) {
	if s.good(s.current.Load().Leaf) {
		return
	}
	if err := s.renew(); err != nil {
		s.log.Warn("the self-signed certificate cannot be renewed", "error", err)
	}
}

// loadKey reads the key, or makes it. A damaged one is not replaced: everybody
// who knows the server by it would have to learn a new one.
func (s *selfSigned) loadKey() error {
	text, err := os.ReadFile(s.path(keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return s.makeKey()
	}
	if err != nil {
		return err
	}
	if block, _ := pem.Decode(text); block != nil {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if k, ok := key.(*ecdsa.PrivateKey); ok && err == nil {
			s.key = k
			return nil
		}
	}
	return fmt.Errorf("%s is damaged; put it back from a copy, or remove it to have a new one made: everybody must then sign in again with the new fingerprint", s.path(keyName))
}

func (s *selfSigned) makeKey() (err error) {
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return err
	}
	return s.write(keyName, "PRIVATE KEY", der)
}

// write writes a file whole or not at all, for nobody else to read.
func (s *selfSigned) write(name, kind string, der []byte) error {
	f, err := os.CreateTemp(s.dir, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path(name))
}

// serves takes a certificate into use, if it is of our key and good.
func (s *selfSigned) serves(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !s.key.PublicKey.Equal(leaf.PublicKey) || !s.good(leaf) {
		return false
	}
	s.use(leaf)
	return true
}

func (s *selfSigned) use(leaf *x509.Certificate) {
	s.current.Store(&tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: s.key, Leaf: leaf})
}

// good reports whether a certificate has every name, and its end is far.
func (s *selfSigned) good(leaf *x509.Certificate) bool {
	for _, name := range s.names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	now := s.now()
	return now.After(leaf.NotBefore) && now.Add(tooNear).Before(leaf.NotAfter)
}

func (s *selfSigned) renew() error {
	now := s.now()
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "coffer, self-signed"},
		NotBefore:   now.Add(-24 * time.Hour), // for clients whose clock is behind
		NotAfter:    now.Add(validFor),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// It vouches for itself and for nobody else, wherever it is trusted.
		BasicConstraintsValid: true, IsCA: false,
	}
	for _, name := range s.names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, s.key.Public(), s.key)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	if err := s.write(certName, "CERTIFICATE", der); err != nil {
		return err
	}
	s.use(leaf)
	s.log.Info("made a self-signed certificate", "file", s.path(certName), "names", s.names, "expires", leaf.NotAfter)
	return nil
}
