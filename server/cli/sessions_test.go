package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// person is somebody at a terminal of their own, who is signed in to an instance.
type person struct {
	in             *servertest.Instance
	store          *credentials
	stdout, stderr bytes.Buffer
	out            *console
}

// signedIn is ann, with a login and not with a key.
func signedIn(t *testing.T, in *servertest.Instance) *person {
	t.Helper()
	s, err := in.Operator.SignIn(t.Context(), api.SignIn{Username: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{in: in, store: &credentials{dir: filepath.Join(t.TempDir(), "coffer")}}
	p.out = &console{in: strings.NewReader(""), out: &p.stdout, err: &p.stderr}
	if _, err := p.store.remember(in.URL, login{Username: "ann", Token: string(s.Token), ExpiresAt: &s.ExpiresAt}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *person) login(t *testing.T) login {
	t.Helper()
	l, err := p.store.login(p.in.URL)
	if err != nil || l.Token == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	return l
}

func dialed(address, token string) *client.Client { return &client.Client{URL: address, Token: token} }

func TestWhoamiNamesTheLoginAndItsEnd(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p := signedIn(t, in)
	p.out.json = true
	l := p.login(t)
	if err := runWhoami(t.Context(), l, dialed(in.URL, l.Token), p.out); err != nil {
		t.Fatal(err)
	}
	var got identity
	if err := json.Unmarshal(p.stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Username != "ann" || got.URL != in.URL || got.ForgeType != "local" || got.Plan != "team" || got.Credential != kindLogin ||
		got.ExpiresAt == nil || !got.ExpiresAt.Equal(l.ExpiresAt.Time) {
		t.Errorf("got %+v", got)
	}
}

func TestLogoutEndsTheLoginAtTheServer(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p, other := signedIn(t, in), signedIn(t, in)
	token := p.login(t).Token
	if err := runLogout(t.Context(), in.URL, dialed, p.store, &copies{}, p.out); err != nil {
		t.Fatal(err)
	}
	if _, err := dialed(in.URL, token).ValidateToken(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("the token lives on: %v", err)
	}
	if l, err := p.store.login(in.URL); err != nil || l.Token != "" {
		t.Errorf("kept %+v, %v", l, err)
	}
	if _, err := dialed(in.URL, other.login(t).Token).ValidateToken(t.Context()); err != nil {
		t.Errorf("a login elsewhere ended too: %v", err)
	}
	if text := p.stderr.String(); !strings.HasPrefix(text, "Signed out of ") || strings.Contains(text, token) {
		t.Errorf("said %q", text)
	}
}

func TestLogoutForgetsWhatTheServerDoesNotEnd(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p := signedIn(t, in)
	l := p.login(t)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>")
	}))
	defer away.Close()
	if _, err := p.store.remember(away.URL, l); err != nil {
		t.Fatal(err)
	}
	if err := runLogout(t.Context(), away.URL, dialed, p.store, &copies{}, p.out); err != nil {
		t.Fatal(err)
	}
	if kept, err := p.store.login(away.URL); err != nil || kept.Token != "" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if text := p.stderr.String(); !strings.Contains(text, "the server did not end it") || !strings.Contains(text, "until "+when(*l.ExpiresAt)) {
		t.Errorf("said %q", text)
	}
}

func TestLoginsElsewhereAreListedAndEnded(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p, other := signedIn(t, in), signedIn(t, in)
	c := dialed(in.URL, p.login(t).Token)
	p.out.json = true
	if err := runSessionsLs(t.Context(), c, p.out); err != nil {
		t.Fatal(err)
	}
	var all []api.Session
	if err := json.Unmarshal(p.stdout.Bytes(), &all); err != nil || len(all) != 2 {
		t.Fatalf("%v: %s", err, p.stdout.String())
	}
	for _, s := range all {
		if s.Current {
			continue
		}
		if err := runSessionsEnd(t.Context(), s.ID, c, p.out); err != nil {
			t.Error(err)
		}
		if err := runSessionsEnd(t.Context(), s.ID, c, p.out); api.CodeOf(err) != api.NotFound {
			t.Errorf("it ends twice: %v", err)
		}
	}
	if _, err := dialed(in.URL, other.login(t).Token).ValidateToken(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("the other login lives on: %v", err)
	}
	if _, err := c.ValidateToken(t.Context()); err != nil {
		t.Errorf("this login ended: %v", err)
	}
}

func TestARefusedLoginSaysHowToSignInAgain(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p := signedIn(t, in)
	if err := dialed(in.URL, p.login(t).Token).Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	code := Run(t.Context(), Process{
		Args: []string{"whoami"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
		Env: []string{"COFFER_URL=" + in.URL, "COFFER_KEYRING=off", "XDG_CONFIG_HOME=" + filepath.Dir(p.store.dir)},
	})
	if code != exitAuth || !strings.Contains(stderr.String(), "Run: coffer login "+in.URL) {
		t.Errorf("%d: %s", code, stderr.String())
	}
}
