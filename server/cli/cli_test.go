package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

func runCLI(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Run(t.Context(), Process{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// commands walks the tree of commands, without the one that cobra makes.
func commands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "completion" && sub.Name() != "help" {
			commands(sub, visit)
		}
	}
}

func TestHelpIsGolden(t *testing.T) {
	commands(newRoot(&app{out: &console{}}), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())
		t.Run(strings.Join(words, "_"), func(t *testing.T) {
			code, got, stderr := runCLI(t, append(words[1:], "--help")...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, stderr %q", code, stderr)
			}
			golden(t, filepath.Join("testdata", "help", strings.Join(words, "_")+".txt"), got)
		})
	})
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run go test -update ./server/cli):\n%s", file, diff)
	}
}

func TestEveryCodeHasItsExitCode(t *testing.T) {
	for err, want := range map[error]int{
		api.Errorf(api.Unauthorized, "x"):          2,
		api.Errorf(api.NotFound, "x"):              3,
		api.Errorf(api.Forbidden, "x"):             4,
		api.Errorf(api.PlanLimit, "x"):             4,
		&client.NetworkError{Err: errors.New("x")}: 5,
		server.ErrNotRunning:                       5,
		api.Errorf(api.Conflict, "x"):              6,
		api.Errorf(api.Sealed, "x"):                7,
		api.Errorf(api.RateLimited, "x"):           8,
		api.Errorf(api.Invalid, "x"):               9,
		usagef("x"):                                64,
		api.Errorf(api.Internal, "x"):              1,
		api.Errorf("made-up-later", "x"):           1,
		errors.New("x"):                            1,
		childExit(42):                              42,
		errors.Join(errors.New("close"), api.Errorf(api.Conflict, "inner")): 6,
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: got %d, want %d", err, got, want)
		}
	}
}

func TestErrorsNameTheNextStep(t *testing.T) {
	for err, want := range map[error]string{
		api.Errorf(api.Unauthorized, "No."):                                    "coffer login URL",
		&api.Error{Code: api.RateLimited, RetryAfter: 40 * time.Second}:        "Try again in 40s.",
		&api.Error{Code: api.PlanLimit, UpgradeURL: "https://vault.example/u"}: "https://vault.example/u",
		&api.Error{Code: api.Internal, RequestID: "0193"}:                      "request 0193",
		&client.NetworkError{Err: errors.New("x")}:                             "coffer status",
		fmt.Errorf("open x: %w", server.ErrLocked):                             "Another coffer works on this data",
	} {
		var stderr bytes.Buffer
		out := &console{err: &stderr}
		out.fail(err)
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("got %q, want %q in it", stderr.String(), want)
		}
	}
}

func TestNothingFromElsewhereDrivesTheTerminal(t *testing.T) {
	var stdout, stderr bytes.Buffer
	out := &console{out: &stdout, err: &stderr}
	out.note("%s", "a\x1b[2Jb\rc")
	if err := out.table(nil, [][]string{{"a\x1b]0;x\x07b", "c\nd\te"}}); err != nil {
		t.Fatal(err)
	}
	if got := stderr.String() + stdout.String(); got != "a[2Jbc\na ]0;x b  c d e\n" {
		t.Errorf("got %q", got)
	}
}

func TestCanceledRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := Run(ctx, Process{
		Args: []string{"whoami"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Env: []string{"COFFER_URL=http://127.0.0.1:1", "COFFER_TOKEN=x", "COFFER_KEYRING=off"},
	})
	if code != exitInterrupted {
		t.Errorf("got %d: %s", code, out.String())
	}
}

func TestAddressesAreCompleted(t *testing.T) {
	for in, want := range map[string]string{
		"vault.example":              "https://vault.example",
		"vault.example:8443/":        "https://vault.example:8443",
		"localhost:2633":             "http://localhost:2633",
		"127.0.0.1":                  "http://127.0.0.1",
		"[::1]:2633":                 "http://[::1]:2633",
		"HTTPS://Vault.Example/base": "https://vault.example/base",
	} {
		if got, err := parseAddress(in); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"ftp://x", "https://", "https://u:canary@x", "https://x/?a=b", "a b"} {
		if got, err := parseAddress(in); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
}

func TestSizesAndDurations(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "5": 5, "7B": 7, "2KiB": 2048, "3 MiB": 3 << 20, "1GB": 1e9, "1TiB": 1 << 40} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%s: got %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1.5GiB", "9999999999TiB", "1 parsec"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("%s: got %d", in, got)
		}
	}
	for in, want := range map[string]time.Duration{"30d": 720 * time.Hour, "720h": 720 * time.Hour, "90m": 90 * time.Minute} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%s: got %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0", "0d", "-1d", "-1h", "5", "9999999999999d"} {
		if got, err := parseDuration(in); err == nil {
			t.Errorf("%s: got %v", in, got)
		}
	}
}

func TestInstants(t *testing.T) {
	zone := time.FixedZone("here", 3600)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, zone)
	day := func(d, h, m, s int) time.Time { return time.Date(2026, 11, d, h, m, s, 0, zone) }
	for in, want := range map[string]time.Time{
		"2026-11-20T09:15:00+01:00": day(20, 9, 15, 0),
		"2026-11-20T08:15:00.5Z":    day(20, 9, 15, 0).Add(500 * time.Millisecond),
		"2026-11-20 09:15":          day(20, 9, 15, 0),
		"2026-11-20T09:15:07":       day(20, 9, 15, 7),
		"2026-11-20":                day(20, 0, 0, 0),
		"90m":                       day(20, 10, 30, 0),
		"2d":                        day(18, 12, 0, 0),
		"12h ago":                   day(20, 0, 0, 0),
	} {
		if got, err := (moment{at: in}).instant(now); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"noon", "20.11.2026", "2026-11-31", "-2d", "2026-11-20 12:01", "5"} {
		if got, err := (moment{at: in}).instant(now); exitCode(err) != exitUsage {
			t.Errorf("%s: got %v, %v", in, got, err)
		}
	}
}

func TestShellQuoteMakesOneWord(t *testing.T) {
	if got := shellQuote(`it's "$x"`); got != `'it'\''s "$x"'` {
		t.Errorf("got %s", got)
	}
}

func TestWritePrivateKeepsASymbolicLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, ".env")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o644), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	data, err := os.ReadFile(target)
	if err != nil || string(data) != "new" {
		t.Errorf("got %q, %v", data, err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}
