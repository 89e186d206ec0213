package servertest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// Browser is one person's browser: it keeps cookies by the rules of browsers, for
// the public URL of the instance, and shows redirects instead of following them.
// Nobody is signed in with it at first.
type Browser struct {
	*http.Client
	Public string // the instance's public URL, where it goes

	t testing.TB
}

// Browser opens a browser.
func (in *Instance) Browser() *Browser {
	in.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		in.t.Fatal(err)
	}
	public := strings.TrimRight(in.config.PublicURL, "/")
	return &Browser{t: in.t, Public: public, Client: &http.Client{
		Jar: jar, Transport: proxied{in},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// proxied stands between browsers and the instance, like the proxy that has the
// public URL. The instance may restart meanwhile.
type proxied struct{ in *Instance }

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(p.in.URL)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return p.in.way().RoundTrip(r)
}

// Seen is what a browser got.
type Seen struct {
	Status int
	Header http.Header
	Text   string
}

// Location is where a redirect leads to, or "".
func (s *Seen) Location() string { return s.Header.Get("Location") }

// Send sends a request, with the headers that browsers send along. More headers
// are pairs.
func (b *Browser) Send(method, path, body string, headers ...string) *Seen {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.Public+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)")
	if method != http.MethodGet && method != http.MethodHead {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.Public)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &Seen{res.StatusCode, res.Header, string(text)}
}

// Open asks for a page.
func (b *Browser) Open(path string) *Seen {
	b.t.Helper()
	return b.Send(http.MethodGet, path, "")
}

// Submit sends a form whose fields are pairs.
func (b *Browser) Submit(path string, fields ...string) *Seen {
	b.t.Helper()
	return b.Send(http.MethodPost, path, Form(fields...))
}

// Form writes a form whose fields are pairs.
func Form(fields ...string) string {
	form := make(url.Values)
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return form.Encode()
}

// Cookie is the value of a cookie that the browser has for a path, or "".
func (b *Browser) Cookie(name, path string) string {
	b.t.Helper()
	at, err := url.Parse(b.Public + path)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// Password is that of every user that the instance made with User.
const Password = "a password"

// SignIn signs a user of the instance in with the password.
func (b *Browser) SignIn(user string) {
	b.t.Helper()
	if s := b.Submit("/login", "username", user, "password", Password); s.Status != http.StatusSeeOther {
		b.t.Fatalf("%s cannot sign in: %d %s", user, s.Status, s.Text)
	}
}
