package server_test

import (
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/servertest"
)

// TestPagesSayWhatTheServerIsKnownBy has somebody copy from the pages what signs
// them in at a server that nobody vouches for.
func TestPagesSayWhatTheServerIsKnownBy(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) { c.TLS.SelfSigned = true })
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
	if got := in.Pull(ann, repo, "production"); got["A"] != "1" {
		t.Errorf("got %v", got)
	}
	b := in.Browser()
	b.SignIn("ann")
	page := b.Open("/account").Text
	_, line, _ := strings.Cut(page, "coffer login "+b.Public+"#sha256=")
	if print, _, _ := strings.Cut(line, "\n"); len(print) != 64 || !strings.Contains(in.Log.String(), "coffer login "+b.Public+"#sha256="+print) {
		t.Errorf("the page says %q, the log:\n%s", print, in.Log)
	}
}

// TestPlainHTTPIsTheDefault keeps what was there before TLS was.
func TestPlainHTTPIsTheDefault(t *testing.T) {
	in := servertest.New(t)
	b := in.Browser()
	if s := b.Open("/login"); !strings.HasPrefix(in.URL, "http://127.0.0.1:") || s.Status != 200 || s.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("%s answered %d with %v", in.URL, s.Status, s.Header)
	}
}
