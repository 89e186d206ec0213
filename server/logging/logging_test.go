package logging

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// credentials are made up. Each holds c4n4ry, which no line may.
var credentials = []string{
	"coffer_live_c4n4ry0123456789012345678901234567890123",
	"coffer_test_c4n4ry",
	"AGE-SECRET-KEY-PQ-1C4N4RYQQQQ",
	"age-secret-key-1c4n4ry",
	"AGE-PLUGIN-YUBIKEY-1C4N4RY",
	"COFFER-SHARE-1-C4N4RY-C4N4RY",
	"Authorization: Basic YzRuNHJ5OmM0bjRyeQ== c4n4ry",
	"Authorization: c4n4ry",
	"Cookie: coffer_session=c4n4ry; other=c4n4ry",
	`"Set-Cookie":"c4n4ry"`,
	"it answered to bearer c4n4ry-c4n4ry with 401",
	"eyJhbGciOiJIUzI1NiJ9.eyJjNG40cnkiOiJjNG40cnkifQ.c4n4ry",
	"ghp_c4n4ry0123456789", "github_pat_c4n4ry0123456789", "glpat-c4n4ry0123456789", "sk_live_c4n4ry0123", "whsec_c4n4ry0123",
	"dial http://ann:c4n4ry@proxy.example:3128: refused",
	"dial http://ann:c4n4ry@c4n4ry@proxy.example:3128: refused",
	"fetch https://c4n4ry0123456789@host.example/x: refused",
	`{"password":"c4n4ry"}`,
	`map[client_secret:c4n4ry user:ann]`,
	"GET /login/callback?code=c4n4ry&state=c4n4ry failed",
	"https://vault.example/setup#claim=c4n4ry",
	"POST /oauth?client_id=1&client_secret=c4n4ry",
	"-----BEGIN RSA PRIVATE KEY-----\nc4n4ry\nc4n4ry\n-----END RSA PRIVATE KEY-----",
	"-----BEGIN PRIVATE KEY-----\nc4n4ry cut off",
}

func TestNothingWithTheShapeOfACredentialIsWritten(t *testing.T) {
	for _, c := range credentials {
		for format, say := range map[string]func(*slog.Logger){
			"message": func(l *slog.Logger) { l.Info(c) },
			"text":    func(l *slog.Logger) { l.Info("x", "error", c) },
			"error":   func(l *slog.Logger) { l.Info("x", "error", errors.Join(errors.New("first"), errors.New(c))) },
			"group":   func(l *slog.Logger) { l.Info("x", slog.Group("g", "h", c)) },
			"bytes":   func(l *slog.Logger) { l.Info("x", "body", []byte(c)) },
			"struct":  func(l *slog.Logger) { l.Info("x", "it", struct{ Text string }{c}) },
			"with":    func(l *slog.Logger) { l.With("a", c).WithGroup("b").Info("x", "c", c) },
			"name":    func(l *slog.Logger) { l.Info("x", "apiToken", "c4n4ry", "password", errors.New("c4n4ry")) },
			"level":   func(l *slog.Logger) { slog.NewLogLogger(l.Handler(), slog.LevelWarn).Print(c) },
		} {
			for _, kind := range []string{"text", "json"} {
				var out bytes.Buffer
				l, err := New("", kind, &out)
				if err != nil {
					t.Fatal(err)
				}
				say(l)
				if got := out.String(); strings.Contains(strings.ToLower(got), "c4n4ry") || !strings.Contains(got, hidden) {
					t.Errorf("%s as %s of %q: %s", c, format, kind, got)
				}
			}
		}
	}
}

func TestOtherTextStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"listening", "127.0.0.1:2633", "https://vault.example/operator", "the service credential lacks a permission; coffer forge check says more",
		"x2c4-aaaa-bbbb-cccc-dddd", "0195f2c4-7a1e-7b3c-8d2e-1f2a3b4c5d6e", "open /var/lib/coffer/coffer.key: permission denied",
		"acme/coffer_live_site", "the token of the metrics is missing", "read the token: open /run/token: no such file", strings.Repeat("ab", 32),
	} {
		if got := Redact(text); got != text && text != "acme/coffer_live_site" {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestLinesOfARequestHaveItsID(t *testing.T) {
	var out bytes.Buffer
	l, err := New("debug", "text", &out)
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithRequest(t.Context(), "r1")
	l.DebugContext(ctx, "one")
	l.WarnContext(ctx, "two", "request", "r2")
	l.InfoContext(context.WithoutCancel(ctx), "three")
	l.Info("four")
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"request=r1", "request=r2", "request=r1", ""} {
		if strings.Count(lines[i], "request=") != min(len(want), 1) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}

func TestWhatTheLogMayBeTold(t *testing.T) {
	for _, tt := range [][2]string{{"loud", ""}, {"", "xml"}} {
		if _, err := New(tt[0], tt[1], nil); err == nil {
			t.Errorf("%v is taken", tt)
		}
	}
}
