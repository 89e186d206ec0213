package client_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"coffer/server/client"
)

// TestAPinnedServerIsKnownByItsKey asks a server that nobody vouches for: with its
// pin it answers, with another nothing reaches it, also not on a second try.
func TestAPinnedServerIsKnownByItsKey(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"data":{"username":"ann"},"meta":{"requestId":"r"}}`))
	}))
	t.Cleanup(s.Close)
	c := &client.Client{URL: s.URL, Token: token}
	if _, err := c.Me(t.Context()); asError[x509.UnknownAuthorityError](err) == nil {
		t.Errorf("without a pin: %v", err)
	}
	pin := client.PinOf(s.Certificate())
	c.Transport = pin.Transport()
	if me, err := c.Me(t.Context()); err != nil || me.Username != "ann" {
		t.Errorf("got %+v, %v", me, err)
	}
	if asked.Load() != 1 {
		t.Fatalf("it was asked %d times", asked.Load())
	}
	other := pin
	other[0] ^= 1
	c.Transport = other.Transport()
	for range 2 {
		_, err := c.Me(t.Context())
		e := asError[*client.PinError](err)
		if e == nil || (*e).Want != other || (*e).Got != pin || !strings.Contains(err.Error(), pin.String()) || strings.Contains(err.Error(), token) {
			t.Errorf("got %v", err)
		}
		if asError[*client.NetworkError](err) == nil {
			t.Errorf("%v is no network error", err)
		}
	}
	plain := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	plain.Transport = pin.Transport()
	if _, err := plain.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "use https") {
		t.Errorf("without TLS: %v", err)
	}
	if asked.Load() != 1 {
		t.Errorf("something was sent to a server with another key")
	}
}

func asError[E error](err error) *E {
	if e, ok := errors.AsType[E](err); ok {
		return &e
	}
	return nil
}

func TestPinsOfAddresses(t *testing.T) {
	digits := strings.Repeat("0f", 32)
	for text, want := range map[string]string{
		"https://vault.example#sha256=" + digits:                               "https://vault.example",
		"https://vault.example:1/p#sha256=" + strings.ToUpper(digits):          "https://vault.example:1/p",
		"vault.example#sha256=0f:" + strings.Repeat("0f:", 30) + "0f":          "vault.example",
		"https://vault.example":                                                "https://vault.example",
		"https://vault.example#":                                               "error",
		"https://vault.example#sha256=" + digits[1:]:                           "error",
		"https://vault.example#sha256=" + digits + "0f":                        "error",
		"https://vault.example#md5=" + digits:                                  "error",
		"https://vault.example#" + digits:                                      "error",
		"https://vault.example#sha256=" + strings.ReplaceAll(digits, "f", "g"): "error",
	} {
		got, pin, err := client.SplitPin(text)
		switch {
		case want == "error":
			if err == nil {
				t.Errorf("%s is taken", text)
			}
		case err != nil || got != want || (pin != nil) != strings.Contains(text, "#"):
			t.Errorf("%s: got %s, %v, %v", text, got, pin, err)
		case pin != nil && pin.String() != "sha256="+digits:
			t.Errorf("%s: the pin is %s", text, pin)
		}
	}
}
