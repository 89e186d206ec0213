package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// TLS says where certificates come from: one of files, ACME and a self-signed one.
// With none of them connections are not encrypted.
type TLS struct {
	CertFile, KeyFile string // in PEM; read again when they change
	ACME              ACME
	SelfSigned        bool   // made in the data directory, known by its key
	RedirectListen    string // HOST:PORT without TLS that leads to the address with it
	NoHSTS            bool   // browsers are not told to come by HTTPS only
}

// Enabled reports whether connections are encrypted.
func (t TLS) Enabled() bool {
	return t.CertFile != "" || t.KeyFile != "" || t.SelfSigned || t.ACME.enabled()
}

// Check finds what does not fit together.
func (t TLS) Check() error {
	ways := 0
	for _, on := range []bool{t.CertFile != "" || t.KeyFile != "", t.SelfSigned, t.ACME.enabled()} {
		if on {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("tls.cert_file, tls.acme and tls.self_signed each bring a certificate; keep one of them")
	case (t.CertFile == "") != (t.KeyFile == ""):
		return errors.New("tls.cert_file and tls.key_file belong together; set both")
	case ways == 0 && t.RedirectListen != "":
		return errors.New("tls.redirect_listen leads to an address with TLS, and there is none; set tls.cert_file, tls.acme or tls.self_signed")
	}
	return t.ACME.check()
}

// Place is what of the server certificates are made from.
type Place struct {
	Dir   string   // where they are kept, made when needed
	Names []string // host names and addresses that clients use
	Log   *slog.Logger
	Now   func() time.Time
}

// source is one way to a certificate.
type source interface {
	get(*tls.ClientHelloInfo) (*tls.Certificate, error)
	look(asked bool)           // for something newer; asked: somebody wants it now
	begin(ctx context.Context) // with what takes time, once the server listens
}

// Certificates are what handshakes are answered with.
type Certificates struct {
	source
	config *tls.Config
}

// Certificates makes ready what t asks for. It is nil where nothing is encrypted.
func (t TLS) Certificates(p Place) (*Certificates, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	c := &Certificates{config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}}
	var err error
	switch {
	case t.CertFile != "":
		c.source, err = openFiles(t.CertFile, t.KeyFile, p)
	case t.SelfSigned:
		c.source, err = openSelfSigned(p)
	case t.ACME.enabled():
		c.source, err = t.ACME.open(p)
		c.config.NextProtos = append(c.config.NextProtos, alpnProto)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	c.config.GetCertificate = c.get
	return c, nil
}

// Encrypt puts TLS on a listener. Who comes by a Unix socket is on this machine,
// so that stays as it is; so does everything without certificates.
func (c *Certificates) Encrypt(l net.Listener) net.Listener {
	if c == nil || l.Addr().Network() == "unix" {
		return l
	}
	return tls.NewListener(l, c.config)
}

// lookEvery is how often files are looked at. One that changed is read again when
// it stayed the same for one turn, since it is written beside another one.
const lookEvery = 2 * time.Second

// Keep keeps the certificates new until ctx ends.
func (c *Certificates) Keep(ctx context.Context) {
	if c == nil {
		return
	}
	c.begin(ctx)
	turn := time.NewTicker(lookEvery)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
			c.look(false)
		}
	}
}

// Reload looks for newer certificates at once.
func (c *Certificates) Reload() {
	if c != nil {
		c.look(true)
	}
}

// Fingerprint is what clients know the server by, as it stands behind the # of
// its address, where nobody vouches for it; else "".
func (c *Certificates) Fingerprint() string {
	if c == nil {
		return ""
	}
	if s, ok := c.source.(*selfSigned); ok {
		return s.fingerprint
	}
	return ""
}
