package forgetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"coffer/server/forge"
)

// Hook is a webhook's delivery as the host would send it. Sending one twice is a
// duplicate; sending it later is a replay.
type Hook struct {
	Name   string      // for tests: "repository renamed"
	Header http.Header // but for the signature
	Body   []byte
	Want   forge.Event // what an adapter makes of it; ID and Name may be left out

	Signature string                                     // name of the header that proves where it comes from
	Sign      func(secret string, h Hook) (value string) // value of that header
	Needs     []string                                   // names of all headers without which it is none
	Loose     bool                                       // the signature does not cover the body
	Dated     bool                                       // the signature covers the time, and is refused after five minutes
}

// Signed is the hook, signed with a secret, which may be "".
func (h Hook) Signed(secret string) Hook { return h.With(h.Signature, h.Sign(secret, h)) }

// With is the hook with a header set.
func (h Hook) With(header, value string) Hook {
	h.Header = h.Header.Clone()
	h.Header.Set(header, value)
	return h
}

// Without is the hook without a header.
func (h Hook) Without(header string) Hook {
	h.Header = h.Header.Clone()
	h.Header.Del(header)
	return h
}

// Forged is the signed hook with a wrong signature of the same length.
func (h Hook) Forged() Hook {
	s := []byte(h.Header.Get(h.Signature))
	middle := len(s) / 2 // neither in a prefix nor in the padding of base64
	if s[middle] == '0' {
		s[middle] = '1'
	} else {
		s[middle] = '0'
	}
	return h.With(h.Signature, string(s))
}

// Delivery is the hook as the adapter sees it.
func (h Hook) Delivery(at time.Time) forge.Delivery {
	return forge.Delivery{Header: h.Header.Get, Body: h.Body, At: at}
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

// HMAC is hex HMAC-SHA256 of a body, which most hosts sign with.
func HMAC(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
