//go:build unix

package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// BenchmarkPages opens a page again and again, as one browser that is signed in.
func BenchmarkPages(b *testing.B) {
	for _, page := range []struct {
		name, path string
		layout
	}{
		{"matrix500x4", "/vaults/" + repository(0), layout{Vaults: 1, Filled: 4, Secrets: 500}},
		{"vaults200", "/", layout{Vaults: 200, Filled: 3, Secrets: 10}},
		{"search200", "/?q=setting_0007", layout{Vaults: 200, Filled: 3, Secrets: 10}},
	} {
		b.Run(page.name+"/clients=1", func(b *testing.B) {
			d, err := makeData(context.Background(), b.TempDir(), page.layout)
			if err != nil {
				b.Fatal(err)
			}
			coffer := startSubject(b, d, "batched")
			scripts := []script{{pageRequest(page.path, signIn(b, coffer.addr))}}
			subject := newSide(b, coffer, scripts)
			answer := fetchAnswer(b, coffer.addr, scripts[0][0])
			under := newSide(b, startFloor(b, floor{Answer: answer}), scripts)
			takeTurns(b, under, subject, goal{})
			b.ReportMetric(float64(len(answer))/1e3, "kB")
		})
	}
}

// pageRequest asks for a page with the cookie of a session.
func pageRequest(path string, session *http.Cookie) request {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: coffer.example\r\nUser-Agent: coffer-bench/1\r\nAccept: text/html\r\nCookie: %s=%s\r\n\r\n",
		path, session.Name, session.Value)
}

// signIn begins a session of the owner.
func signIn(b *testing.B, addr string) *http.Cookie {
	b.Helper()
	form := url.Values{"username": {owner}, "password": {password}}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+addr+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		b.Fatalf("nobody is signed in: %s, cookies %v", res.Status, res.Cookies())
	}
	return res.Cookies()[0]
}
