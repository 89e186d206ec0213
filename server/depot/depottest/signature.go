package depottest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// badSignature holds a request against signature version 4, and is the code of what
// is wrong with it, or "".
func badSignature(r *http.Request, now time.Time) string {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme != "AWS4-HMAC-SHA256" {
		return "AccessDenied"
	}
	said := make(map[string]string)
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		said[name] = value
	}
	scope := strings.Split(said["Credential"], "/")
	if len(scope) != 5 || scope[0] != AccessKey {
		return "InvalidAccessKeyId"
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || at.Sub(now).Abs() > 15*time.Minute {
		return "RequestTimeTooSkewed"
	}
	key := []byte("AWS4" + SecretKey)
	for _, step := range scope[1:] {
		key = mac(key, step)
	}
	sum := sha256.Sum256([]byte(canonical(r, said["SignedHeaders"])))
	text := strings.Join([]string{scheme, r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hex.EncodeToString(sum[:])}, "\n")
	if hex.EncodeToString(mac(key, text)) != said["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func canonical(r *http.Request, signed string) string {
	lines := []string{r.Method, r.URL.EscapedPath(), strings.ReplaceAll(query(r.URL), "+", "%20")}
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
		}
		lines = append(lines, name+":"+strings.TrimSpace(value))
	}
	return strings.Join(append(lines, "", signed, r.Header.Get("X-Amz-Content-Sha256")), "\n")
}

func query(u *url.URL) string { return u.Query().Encode() }
