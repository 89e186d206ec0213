package forgetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"time"

	"coffer/server/forge"
)

// Hook is a webhook's delivery as the host would send it. Sending one twice is a
// duplicate; sending it later is a replay.
type Hook struct {
	Name   string // for tests: "repository renamed"
	Header http.Header
	Body   []byte

	Signature string      // name of the header which proves where it comes from
	Needs     []string    // names of all headers without which it is none
	Want      forge.Event // what an adapter makes of it; its ID and Name may be empty here
}

// HMAC is hex HMAC-SHA256 of a body, which most hosts sign with.
func HMAC(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Delivery is the hook as the adapter sees it.
func (h Hook) Delivery(at time.Time) forge.Delivery {
	return forge.Delivery{Header: h.Header.Get, Body: h.Body, At: at}
}

// Without is the hook without a header.
func (h Hook) Without(header string) Hook {
	h.Header = maps.Clone(h.Header)
	h.Header.Del(header)
	return h
}

// Signed is the hook with another signature.
func (h Hook) Signed(signature string) Hook {
	h.Header = maps.Clone(h.Header)
	h.Header.Set(h.Signature, signature)
	return h
}

// Forged is the hook with a wrong signature of the same length.
func (h Hook) Forged() Hook {
	s := []byte(h.Header.Get(h.Signature))
	middle := len(s) / 2 // neither in a prefix nor in the padding of base64
	if s[middle] == '0' {
		s[middle] = '1'
	} else {
		s[middle] = '0'
	}
	return h.Signed(string(s))
}

// Post delivers the hook to an address, and returns the status of the answer.
func (h Hook) Post(ctx context.Context, client *http.Client, to string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(h.Body))
	if err != nil {
		return 0, fmt.Errorf("deliver a hook: %w", err)
	}
	req.Header = h.Header.Clone()
	res, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("deliver a hook: %w", err)
	}
	return res.StatusCode, res.Body.Close()
}
