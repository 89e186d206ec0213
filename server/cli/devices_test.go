package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server/client"
)

// deviceServer answers the start of a device login, and polls one after the other
// with what is said; the last answer is repeated.
type deviceServer struct {
	*httptest.Server
	asked []string // bodies
	polls []string
}

func newDeviceServer(t *testing.T, polls ...string) *deviceServer {
	d := &deviceServer{polls: polls}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.asked = append(d.asked, string(body))
		if r.Header.Get("Authorization") != "" {
			t.Error("a credential is sent along")
		}
		if r.URL.Path == "/v1/auth/device/start" {
			fmt.Fprintf(w, `{"data":{"deviceCode":"c0de","userCode":"BCDFG-HJK23","verificationUriComplete":"%s/device?user_code=BCDFG-HJK23","expiresIn":900,"interval":1}}`, d.URL)
			return
		}
		answer := d.polls[0]
		if len(d.polls) > 1 {
			d.polls = d.polls[1:]
		}
		status, text, _ := strings.Cut(answer, " ")
		if status != "200" {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		var code int
		fmt.Sscan(status, &code)
		w.WriteHeader(code)
		io.WriteString(w, text)
	}))
	t.Cleanup(d.Close)
	return d
}

const (
	pending  = `200 {"data":{"status":"pending"}}`
	approved = `200 {"data":{"status":"approved","keywayToken":"eyJ.c4n4ry.x","githubLogin":"ann","expiresAt":"2031-02-03T04:05:06.000Z"}}`
	denied   = `200 {"data":{"status":"denied","message":"This login was refused in the browser."}}`
	expired  = `200 {"data":{"status":"expired","message":"This login is over."}}`
	away     = `503 {"type":"https://x/errors/service-unavailable","title":"t","detail":"Later."}`
	limited  = `429 {"type":"https://x/errors/rate-limited","title":"t","detail":"Slower."}`
	unknown  = `404 {"type":"https://x/errors/not-found","title":"t","detail":"This device code is not known."}`
	proxy    = `502 <html>bad gateway`
)

func (d *deviceServer) poll(left time.Duration) devicePoll {
	return devicePoll{&client.Client{URL: d.URL}, "c0de", time.Millisecond, time.Now().Add(left)}
}

func TestADeviceLoginWaitsForTheApproval(t *testing.T) {
	d := newDeviceServer(t, pending, away, limited, proxy, pending, approved)
	l, err := d.poll(time.Minute).wait(t.Context())
	if err != nil || l.Token != "eyJ.c4n4ry.x" || l.Username != "ann" || l.ExpiresAt == nil || l.ExpiresAt.Year() != 2031 {
		t.Errorf("got %+v, %v", l, err)
	}
	if len(d.asked) != 6 || d.asked[0] != `{"deviceCode":"c0de"}` {
		t.Errorf("asked %q", d.asked)
	}
}

func TestADeviceLoginEnds(t *testing.T) {
	for name, c := range map[string]struct {
		polls []string
		left  time.Duration
		exit  int
		want  string
	}{
		"denied":           {[]string{pending, denied}, time.Minute, exitAuth, "refused in the browser"},
		"expired":          {[]string{pending, expired}, time.Minute, exitAuth, "is over"},
		"unknown":          {[]string{unknown}, time.Minute, exitNotFound, "not known"},
		"nobody came":      {[]string{pending}, 0, exitAuth, "Nobody approved the login in time"},
		"server went away": {[]string{pending, away}, 5 * time.Millisecond, exitNetwork, "Later."},
		"no token":         {[]string{`200 {"data":{"status":"approved"}}`}, time.Minute, exitError, "without a usable token"},
	} {
		_, err := newDeviceServer(t, c.polls...).poll(c.left).wait(t.Context())
		if name == "server went away" && errors.Is(err, errNotApproved) {
			continue // the first poll was slow
		}
		if err == nil || exitCode(err) != c.exit || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d, %v", name, exitCode(err), err)
		}
	}
}

func TestAnInterruptedDeviceLoginSaysNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newDeviceServer(t, pending).poll(time.Minute)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := p.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLoginShowsLinkAndCodeAndKeepsTheToken(t *testing.T) {
	d := newDeviceServer(t, approved)
	var stdout, stderr bytes.Buffer
	out := &console{in: strings.NewReader(""), out: &stdout, err: &stderr}
	store := &credentials{dir: filepath.Join(t.TempDir(), "coffer")}
	var opened string
	o := loginOptions{address: d.URL, repository: "ann/app", browser: func(page string) bool { opened = page; return true }}
	connect := func(address, token string) *client.Client { return &client.Client{URL: address, Token: token} }
	if err := runLogin(t.Context(), o, connect, store, out); err != nil {
		t.Fatal(err)
	}
	page := d.URL + "/device?user_code=BCDFG-HJK23"
	if opened != page || d.asked[0] != `{"repository":"ann/app","ownerId":null,"repoId":null}` {
		t.Errorf("opened %q, asked %q", opened, d.asked)
	}
	text := stderr.String()
	for _, want := range []string{page, "It must show this code: BCDFG-HJK23", "as ann, until 2031-02-0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if l, err := store.login(d.URL); err != nil || l.Token != "eyJ.c4n4ry.x" || l.ExpiresAt == nil {
		t.Errorf("kept %+v, %v", l, err)
	}
	if strings.Contains(text+stdout.String(), "c4n4ry") || strings.Contains(text, "c0de") {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

func TestABrowserIsOpenedWhereThereIsOne(t *testing.T) {
	const page = "https://vault.example/device?user_code=BCDFG-HJK23"
	for _, c := range []struct {
		system string
		env    environ
		page   string
		want   string
	}{
		{"linux", environ{"DISPLAY=:0"}, page, "xdg-open " + page},
		{"linux", environ{"WAYLAND_DISPLAY=wayland-0"}, page, "xdg-open " + page},
		{"linux", nil, page, ""},
		{"linux", environ{"DISPLAY=:0", "SSH_CONNECTION=1 2 3 4"}, page, ""},
		{"freebsd", environ{"DISPLAY=:0"}, page, "xdg-open " + page},
		{"darwin", nil, page, "open " + page},
		{"darwin", environ{"SSH_TTY=/dev/pts/0"}, page, ""},
		{"windows", nil, page, "rundll32 url.dll,FileProtocolHandler " + page},
		{"darwin", nil, "file:///etc/passwd", ""},
		{"darwin", nil, "-a Calculator", ""},
		{"windows", nil, "javascript:alert(1)", ""},
		{"linux", environ{"DISPLAY=:0"}, "https://", ""},
	} {
		if got := strings.Join(browserCommand(c.system, c.env, c.page), " "); got != c.want {
			t.Errorf("%s %v %s: got %q, want %q", c.system, c.env, c.page, got, c.want)
		}
	}
}

func TestCredentialsAreToldApart(t *testing.T) {
	for token, want := range map[string]string{
		"coffer_live_0000": kindAPIKey,
		"eyJhbGciOiJIUzI1NiIsImtpZCI6ImNvZmZlci0xIn0.e30.x": kindLogin,
		"eyJhbGciOiJSUzI1NiIsImtpZCI6ImF1dGgifQ.e30.x":      kindAccess, // a code host's
		"ghp_0000": kindAccess,
		"":         kindAccess,
	} {
		if got := credentialKind(token); got != want {
			t.Errorf("%s: got %s, want %s", token, got, want)
		}
	}
}
