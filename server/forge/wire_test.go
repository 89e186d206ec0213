package forge

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const wireToken = "token-that-nobody-may-see"

// wireTo is the layer for a host, impatient.
func wireTo(t *testing.T, c Config, host http.HandlerFunc) (*wire, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(host)
	t.Cleanup(srv.Close)
	c.Now = time.Now
	w, err := newWire(c, srv.URL+"/api")
	if err != nil {
		t.Fatal(err)
	}
	w.limit, w.pause = 200*time.Millisecond, time.Millisecond
	return w, srv
}

// thing is what the tests ask for.
type thing struct{ ID int64 }

func say(rw http.ResponseWriter, status int, kind, body string) {
	rw.Header().Set("Content-Type", kind)
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, body)
}

// noAnswer wants an *Unavailable that tells no secret.
func noAnswer(t *testing.T, what string, err error) {
	t.Helper()
	if _, ok := errors.AsType[*Unavailable](err); !ok || strings.Contains(err.Error(), wireToken) {
		t.Errorf("%s: %v, want that the host did not answer", what, err)
	}
}

func TestWireWaitsForAnAnswerOnlySoLong(t *testing.T) {
	for name, host := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"stops in the middle": func(rw http.ResponseWriter, r *http.Request) {
			say(rw, http.StatusOK, "application/json", `{"ID":`)
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		},
		"redirects for ever, slowly": func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(150 * time.Millisecond)
			http.Redirect(rw, r, r.URL.Path+"x", http.StatusFound)
		},
	} {
		w, _ := wireTo(t, Config{}, host)
		start := time.Now()
		_, err := w.get(context.Background(), wireToken, "/thing", nil, &thing{})
		noAnswer(t, name, err)
		if took := time.Since(start); took < w.limit/2 || took > 10*w.limit {
			t.Errorf("%s: it took %v, want %v", name, took, w.limit)
		}
	}
	if w, err := newWire(Config{}, "https://git.example"); err != nil || w.limit != 5*time.Second || w.pause != 100*time.Millisecond {
		t.Errorf("without a test the limit is %v and the pause %v (%v)", w.limit, w.pause, err)
	}
}

func TestWireWaitsForASlotOnlySoLong(t *testing.T) {
	w, _ := wireTo(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.limit = time.Minute
	hanging, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range maxParallel {
		wg.Go(func() { _, _ = w.get(hanging, wireToken, "/thing", nil, &thing{}) })
	}
	defer wg.Wait()
	defer end()
	for len(w.slots) < maxParallel {
		time.Sleep(time.Millisecond)
	}
	late := *w
	late.limit = 50 * time.Millisecond
	start := time.Now()
	for range 3 {
		_, err := late.get(context.Background(), wireToken, "/thing", nil, &thing{})
		noAnswer(t, "while all slots are taken", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v to see that all slots are taken", took)
	}
}

func TestWireAsksAgainOnlyWhatDoesNothing(t *testing.T) {
	for _, tt := range []struct {
		method, after string
		status, want  int
	}{
		{"", "", http.StatusBadGateway, 2},
		{"", "", http.StatusServiceUnavailable, 2},
		{"", "7", http.StatusServiceUnavailable, 1},
		{"", "", http.StatusInternalServerError, 1},
		{"", "", http.StatusTooManyRequests, 1},
		{http.MethodPost, "", http.StatusBadGateway, 1},
		{http.MethodDelete, "", http.StatusServiceUnavailable, 1},
		{http.MethodPost, "", http.StatusPermanentRedirect, 1},
	} {
		var asked atomic.Int64
		w, _ := wireTo(t, Config{}, func(rw http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			rw.Header().Set("Location", "/api/elsewhere")
			if tt.after != "" {
				rw.Header().Set("Retry-After", tt.after)
			}
			rw.WriteHeader(tt.status)
		})
		_, err := w.ask(t.Context(), question{method: tt.method, path: "/thing", token: wireToken, form: url.Values{"a": {"b"}}}, nil)
		noAnswer(t, fmt.Sprint(tt), err)
		if int(asked.Load()) != tt.want {
			t.Errorf("%v: asked %d times, want %d", tt, asked.Load(), tt.want)
		}
	}
}

func TestWireKeepsToItsHost(t *testing.T) {
	var strayed atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		strayed.Add(1)
		say(rw, http.StatusOK, "application/json", `{"ID":666}`)
	}))
	t.Cleanup(other.Close)
	there := strings.TrimPrefix(other.URL, "http://")
	location := ""
	w, srv := wireTo(t, Config{}, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/thing" {
			http.Redirect(rw, r, location, http.StatusFound)
			return
		}
		if _, _, basic := r.BasicAuth(); basic || r.Header.Get("Authorization") != "Bearer "+wireToken {
			t.Errorf("after a redirect the credential is %q", r.Header.Get("Authorization"))
		}
		say(rw, http.StatusOK, "application/json", `{"ID":7}`)
	})
	here := w.base.Host
	for text, follows := range map[string]bool{
		"/api/other": true, "other": true, srv.URL + "/x": true, "//" + here + "/x": true, "HTTP://" + here + "/x": true,
		other.URL + "/x": false, "//" + there + "/x": false, "https://" + here + "/x": false, `\\` + there + "/x": false,
		"http://" + here + "@" + there + "/x": false, "http://user:secret@" + here + "/x": false, "//" + here + "." + there + "/x": false,
		"http://" + w.base.Hostname() + "/x": false, "http:/x": false, "ftp://" + here + "/x": false, "javascript:alert(1)": false,
	} {
		location = text
		var got thing
		if _, err := w.get(t.Context(), wireToken, "/thing", nil, &got); follows && (err != nil || got.ID != 7) {
			t.Errorf("redirected to %q: %v, %v, want that it is followed", text, got, err)
		} else if !follows {
			noAnswer(t, "redirected to "+text, err)
		}
		if !strings.Contains(text, "://") {
			continue
		}
		if _, err := w.get(t.Context(), wireToken, text, nil, &got); follows != (err == nil) {
			t.Errorf("the next page at %q: %v", text, err)
		}
	}
	if strayed.Load() > 0 {
		t.Errorf("another host was asked %d times", strayed.Load())
	}
}

func TestWireKnowsItsHostByOtherSpellings(t *testing.T) {
	for base, same := range map[string]map[string]bool{
		"https://Git.Example/sub": {"https://git.example/x": true, "https://git.example:443/x": true, "http://git.example:443/x": false, "https://git.example:80/x": false},
		"http://git.example:80":   {"http://GIT.EXAMPLE/x": true, "http://git.example:8080/x": false, "https://git.example/x": false, "http://git.example./x": false},
		"https://git.example":     {"https://g\u0131t.example/x": false, "https://git.example\u3002evil.example/x": false, "https://xn--git.example/x": false, "https://git.example%00.evil.example/x": false},
	} {
		w, err := newWire(Config{}, base)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range same {
			at, err := w.redirect(w.base, text)
			if got := err == nil; got != want || got && at.Host != w.base.Host {
				t.Errorf("from %s to %s: %v, %v", base, text, at, err)
			}
		}
	}
}

func TestWireTakesNoPathForAName(t *testing.T) {
	w, _ := wireTo(t, Config{}, func(rw http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL.EscapedPath())
		say(rw, http.StatusOK, "application/json", `{"ID":7}`)
	})
	for _, name := range []string{".", "..", "../user"} {
		if _, err := w.get(t.Context(), wireToken, "/repos/"+segment(name)+"/user", nil, &thing{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want not found", name, err)
		}
	}
}

func TestWireTakesOnlySoMuch(t *testing.T) {
	for name, host := range map[string]http.HandlerFunc{
		"a bomb": func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("no compression is asked for")
			}
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			blanks := make([]byte, 1<<20)
			for i := range blanks {
				blanks[i] = ' '
			}
			for range 8 {
				_, _ = z.Write(blanks)
			}
			_, _ = io.WriteString(z, `{"ID":7}`)
			_ = z.Close()
		},
		"headers": func(rw http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				rw.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<10))
			}
			say(rw, http.StatusOK, "application/json", `{"ID":7}`)
		},
	} {
		w, _ := wireTo(t, Config{}, host)
		w.limit = askTime
		_, err := w.get(t.Context(), wireToken, "/thing", nil, &thing{})
		noAnswer(t, name, err)
	}
}

// TestWireBelievesOnlyTheHost has answers that a host gives, and such as a proxy
// gives in its place while it is away.
func TestWireBelievesOnlyTheHost(t *testing.T) {
	const js, page = "application/json; charset=utf-8", "text/html"
	for _, tt := range []struct {
		status     int
		kind, body string
		want       error // nil: the host did not answer
	}{
		{http.StatusNotFound, js, `{"message":"not found"}`, ErrNotFound},
		{http.StatusGone, js, `{}`, ErrNotFound},
		{http.StatusUnauthorized, js, `{}`, ErrToken},
		{http.StatusForbidden, "application/problem+json", `{}`, ErrRefused},
		{http.StatusNotFound, "text/plain", "404 page not found", nil},
		{http.StatusGone, page, "<h1>Gone</h1>", nil},
		{http.StatusUnauthorized, page, "<h1>Who are you?</h1>", nil},
		{http.StatusForbidden, page, "<h1>Blocked</h1>", nil},
		{http.StatusNotFound, "", "", nil},
		{http.StatusOK, page, `{"ID":7}`, nil},
		{http.StatusOK, js, "", nil},
		{http.StatusNoContent, "", "", nil},
		{http.StatusOK, js, "null", nil},
		{http.StatusOK, js, `{"ID":"7"}`, nil},
		{http.StatusOK, js, `{"ID":9223372036854775808}`, nil},
		{http.StatusOK, js, `{"ID":7.5}`, nil},
		{http.StatusOK, js, `{"ID":7}{"ID":8}`, nil},
		{http.StatusOK, js, strings.Repeat("[", 20_000), nil},
		{http.StatusNotModified, js, "", nil},
		{http.StatusTeapot, js, `{}`, nil},
	} {
		w, _ := wireTo(t, Config{}, func(rw http.ResponseWriter, _ *http.Request) { say(rw, tt.status, tt.kind, tt.body) })
		_, err := w.get(t.Context(), wireToken, "/thing", nil, &thing{})
		what := fmt.Sprintf("%d %q %.20s", tt.status, tt.kind, tt.body)
		if tt.want == nil {
			noAnswer(t, what, err)
		} else if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", what, err, tt.want)
		}
	}
	w, _ := wireTo(t, Config{}, func(rw http.ResponseWriter, _ *http.Request) { say(rw, 200, js, `{"ID":9007199254740993}`) })
	var got thing
	if _, err := w.get(t.Context(), wireToken, "/thing", nil, &got); err != nil || got.ID != 1<<53+1 {
		t.Errorf("an id of many digits is %d (%v)", got.ID, err)
	}
}

func TestWireTrustsWhomTheOperatorTrusts(t *testing.T) {
	var asked atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.ProtoMajor != 2 {
			t.Errorf("asked by %s", r.Proto)
		}
		say(rw, http.StatusBadRequest, "application/json", `{"error":"invalid_grant"}`)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	for _, kind := range []string{KindGitHub, KindGitea, KindGitLab} {
		for trusted, pool := range map[int64]*x509.CertPool{1: roots, 0: nil} {
			f, err := New(Config{Kind: kind, URL: srv.URL, ClientID: "coffer", ClientSecret: wireToken, Roots: pool})
			if err != nil {
				t.Fatal(err)
			}
			for name, question := range map[string]func() error{
				"who am I": func() error { _, err := f.(SignIn).Self(t.Context(), wireToken); return err },
				"sign in":  func() error { _, _, err := f.(SignIn).Exchange(t.Context(), "code", "verifier"); return err },
			} {
				before := asked.Load()
				if err := question(); err == nil || strings.Contains(err.Error(), wireToken) || asked.Load()-before != trusted {
					t.Errorf("%s, %s: %d requests arrived, want %d (%v)", kind, name, asked.Load()-before, trusted, err)
				}
			}
		}
	}
}

func TestWireGoesThroughTheProxy(t *testing.T) {
	w, _ := wireTo(t, Config{}, func(rw http.ResponseWriter, r *http.Request) {
		if _, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); password != wireToken {
			rw.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		say(rw, http.StatusOK, "application/json", fmt.Sprintf(`{"ID":%d}`, len(r.URL.Host)))
	})
	for user, want := range map[string]int64{"me:" + wireToken: 11, "me:wrong": 0} {
		through, err := newWire(Config{Proxy: "http://" + user + "@" + w.base.Host}, "http://git.example")
		if err != nil {
			t.Fatal(err)
		}
		var got thing
		if _, err = through.get(t.Context(), "", "/thing", nil, &got); got.ID != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", user, got, err)
		}
	}
	for _, proxy := range []string{"http://127.0.0.1:1", "https://" + w.base.Host} {
		through, err := newWire(Config{Proxy: strings.Replace(proxy, "//", "//me:"+wireToken+"@", 1)}, "https://git.example")
		if err != nil {
			t.Fatal(err)
		}
		_, err = through.get(t.Context(), wireToken, "/thing", nil, &thing{})
		noAnswer(t, proxy, err)
	}
	if _, err := newWire(Config{Proxy: "me:" + wireToken + "@proxy"}, "https://git.example"); err == nil || strings.Contains(err.Error(), wireToken) {
		t.Errorf("no address of a proxy: %v", err)
	}
}

// TestCheckSaysThatTheAddressIsWrong has the pages that operators meet when they
// wrote another address than their code host's.
func TestCheckSaysThatTheAddressIsWrong(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusOK} {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { say(rw, status, "text/html", "<h1>Hello</h1>") }))
		t.Cleanup(srv.Close)
		for _, kind := range []string{KindGitHub, KindGitea, KindGitLab} {
			f, err := New(Config{Kind: kind, URL: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			first := f.(Checker).Check(t.Context())[0]
			if first.What != "address" || first.Level != FindingFailed || !strings.Contains(first.Detail, srv.URL) {
				t.Errorf("%s, status %d: %+v", kind, status, first)
			}
		}
	}
}

func TestWireWaitsAsItIsTold(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w := &wire{now: func() time.Time { return now }}
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "86400": time.Hour, "9223372036854775807": time.Hour, "99999999999999999999": 0,
		"Fri, 20 Nov 2026 12:00:42 GMT": 42 * time.Second, "Fri, 20 Nov 2026 11:00:00 GMT": 0, "Fri, 20 Nov 9999 11:00:00 GMT": time.Hour,
	} {
		if got := w.wait(http.Header{"Retry-After": {text}}); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", text, got, want)
		}
	}
}
