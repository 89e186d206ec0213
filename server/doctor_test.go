package server_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// finding is what an examination says of an area that contains a text, or fails.
func finding(t *testing.T, r *api.Report, level, area, text string) {
	t.Helper()
	for _, d := range r.Findings {
		if d.Level == level && d.Area == area && strings.Contains(d.Text, text) {
			if (d.Next == "") != (level == api.DiagnosisOK) {
				t.Errorf("what to do next: %+v", d)
			}
			return
		}
	}
	t.Errorf("no %s of %s with %q in %+v", level, area, text, r.Findings)
}

func examined(t *testing.T, in *servertest.Instance) *api.Report {
	t.Helper()
	r, err := in.Operator.Examine(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnExaminationSeesWhoMayReadTheFiles(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	write := func(mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(token, []byte("t0ken"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(token, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(0o600)
	data := filepath.Join(t.TempDir(), "data")
	in := servertest.New(t, func(c *server.Config) { c.Metrics.TokenFile, c.Data = token, data })
	finding(t, examined(t, in), "ok", "files", "Only the server's own user")
	write(0o640)
	chmod := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(filepath.Join(data, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod("", 0o755)
	chmod(server.DataFile, 0o644)
	chmod("coffer.sock", 0o666)
	r := examined(t, in)
	finding(t, r, "problem", "files", "The data directory "+data+" is open to everybody on this machine (mode 755)")
	finding(t, r, "problem", "files", "The data file")
	finding(t, r, "problem", "files", "The operator's socket")
	finding(t, r, "problem", "files", "The file of metrics.token_file, "+token+" is open to its group (mode 640)")
	if r.Problems != 4 {
		t.Errorf("%d problems in %+v", r.Problems, r.Findings)
	}
}

func TestAnExaminationSeesTheClock(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option)
	in.User("ann")
	finding(t, examined(t, in), "ok", "server", "runs since")
	c.turn(-365 * 24 * time.Hour)
	r := examined(t, in)
	finding(t, r, "problem", "clock", "365 days before the newest record")
	finding(t, r, "warning", "clock", "The clock was set by 365 days")
	c.turn(2 * 365 * 24 * time.Hour)
	finding(t, examined(t, in), "warning", "clock", "The clock was set by 365 days")
}

func TestAnExaminationSeesTheNetwork(t *testing.T) {
	for _, tt := range []struct {
		public, proxies, level, text string
	}{
		{"https://vault.example", "", "warning", "trusted_proxies names none"},
		{"https://vault.example", "127.0.0.1/32", "ok", "a trusted proxy on this machine"},
		{"http://vault.example", "", "problem", "without TLS"},
		{"http://localhost:2633", "", "ok", "this machine only"},
	} {
		in := servertest.New(t, func(c *server.Config) {
			c.PublicURL = tt.public
			c.TrustedProxies = prefixes(t, tt.proxies)
		})
		finding(t, examined(t, in), tt.level, "network", tt.text)
	}
}

func TestAnExaminationKnowsItsOwnTLS(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) {
		c.PublicURL = "https://192.0.2.7:2633"
		c.TLS.SelfSigned = true
	})
	r := examined(t, in)
	finding(t, r, "ok", "network", "the server itself encrypts")
	if _, err := client.ParsePin(r.Facts.Fingerprint); err != nil {
		t.Errorf("the fingerprint is %q: %v", r.Facts.Fingerprint, err)
	}
}

func TestOnlyTheOperatorExamines(t *testing.T) {
	in := servertest.New(t)
	if _, err := in.User("ann").Examine(t.Context(), false); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user: %v", err)
	}
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	finding(t, examined(t, in), "problem", "server", "is sealed")
	if _, err := in.Client("").Examine(t.Context(), false); api.CodeOf(err) != api.Sealed {
		t.Errorf("a stranger, while it is sealed: %v", err)
	}
	fresh, _ := servertest.Fresh(t)
	finding(t, examined(t, fresh), "warning", "server", "not set up yet")
}

func TestAQuickExaminationAsksNobody(t *testing.T) {
	in := servertest.New(t)
	quick, err := in.Operator.Examine(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range quick.Findings {
		if d.Area == "code host" {
			t.Errorf("%+v", d)
		}
	}
	finding(t, examined(t, in), "ok", "code host", "built-in")
	if f := quick.Facts; f == nil || f.StartedAt == nil || f.DataBytes == 0 || f.FreeBytes == nil {
		t.Errorf("%+v", f)
	}
}

func TestAnExaminationSeesAStreamThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stream")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	in := servertest.New(t, func(c *server.Config) { c.Audit.Stream = "syslog:unix://" + filepath.Join(dir, "none") })
	for i := range 100 {
		in.User(fmt.Sprint("ann-", i)) // which is recorded
		if r := examined(t, in); slices.ContainsFunc(r.Findings, func(d api.Diagnosis) bool { return d.Area == "audit" && d.Level == "problem" }) {
			finding(t, r, "problem", "audit", "records wait for")
			_, page := scrape(t, "http://operator", "", in.Operator.Transport)
			if !strings.Contains(page, "coffer_audit_stream_failing 1\n") || strings.Contains(page, "coffer_audit_stream_behind_records 0\n") {
				t.Error(page)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("it is not seen")
}

func prefixes(t *testing.T, text string) []netip.Prefix {
	t.Helper()
	if text == "" {
		return nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		t.Fatal(err)
	}
	return []netip.Prefix{p}
}
