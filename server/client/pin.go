package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"coffer/server/api"
)

// Pin is the SHA-256 of the public key of a server's certificate. A server that
// nobody vouches for is known by it: whoever has another key is another server,
// whatever their certificate says. The certificate itself may be renewed.
type Pin [sha256.Size]byte

// pinMark is what stands before a pin behind the # of an address.
const pinMark = "sha256="

// String is the pin as it stands behind the # of an address.
func (p Pin) String() string { return pinMark + hex.EncodeToString(p[:]) }

// SplitPin takes the pin off an address, like https://vault.example#sha256=….
// An address without one is returned as it is, with nil.
func SplitPin(address string) (string, *Pin, error) {
	address, text, found := strings.Cut(address, "#")
	if !found {
		return address, nil, nil
	}
	p, err := ParsePin(text)
	return address, p, err
}

// ParsePin reads what String wrote. Colons between the bytes are left out.
func ParsePin(text string) (*Pin, error) {
	digits, found := strings.CutPrefix(text, pinMark)
	raw, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if !found || err != nil || len(raw) != sha256.Size {
		return nil, api.InvalidField("url", api.InvalidFormat, "Behind the # stands the fingerprint of the server's key: sha256= and 64 digits from 0 to f.")
	}
	p := Pin(raw)
	return &p, nil
}

// PinError says that a server has another key than the pinned one. Nothing was
// sent to it.
type PinError struct{ Want, Got Pin }

// Error names both keys.
func (e *PinError) Error() string {
	return fmt.Sprintf("this is another server than the one that you know, or it has a new key, so nothing was sent to it.\n  expected  %s\n  found     %s", e.Want, e.Got)
}

// Transport is a transport to the server with that key, and to no other. The
// handshake proves that the server has it, so neither names nor the time in its
// certificate matter, and nobody has to vouch for it.
func (p Pin) Transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ForceAttemptHTTP2 = true
	t.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // in favour of what VerifyConnection does, also for resumed sessions
		VerifyConnection:   p.verify,
	}
	return onlyTLS{t}
}

func (p Pin) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return &PinError{Want: p}
	}
	if got := PinOf(state.PeerCertificates[0]); got != p {
		return &PinError{Want: p, Got: got}
	}
	return nil
}

// PinOf is the pin of a certificate.
func PinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// onlyTLS refuses what no key could be asked for.
type onlyTLS struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t onlyTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the server is known by its key, which %s does not show; use https", r.URL.Scheme)
	}
	return t.Transport.RoundTrip(r)
}
