package cli

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"coffer/crypto/cryptotest"
	"coffer/server/hosting/hostingtest"
	"coffer/server/servertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	cryptotest.CheapKDF()
	testscript.Main(m, map[string]func(){
		"coffer":                func() { os.Exit(Main()) },
		"age-plugin-coffertest": func() {}, // never called: a test binary of this name is the plugin
	})
}

func TestStories(t *testing.T) {
	vercel := hostingtest.NewVercel(t, time.Now)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COFFER_HOSTING_VERCEL_API_URL", vercel.URL)
			return setUpStory(e)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready":   waitUntilListening,
			"capture": captureOutput,
			"exits":   exitsWith,
			"lines":   linesToPaste,
			"mode":    hasMode,
			"plugin":  makePluginKey,
			"olddata": unpackOldData,
			"browser": playBrowser,
			"vercel":  playVercel(vercel),
		},
	})
}

// setUpStory gives each story a home, a data directory D and a free address.
func setUpStory(e *testscript.Env) error {
	addr := servertest.FreeAddress()
	// A story asks more in a second than a person in an hour.
	e.Setenv("COFFER_LIMITS_GENERAL", "off")
	e.Setenv("COFFER_LIMITS_BULK", "off")
	home := filepath.Join(e.WorkDir, "home")
	e.Setenv("HOME", home)
	e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(e.WorkDir))
	// The race detector lets each process wait a second before it ends.
	e.Setenv("GORACE", "atexit_sleep_ms=0")
	e.Setenv("COFFER_KEYRING", "off")
	e.Setenv("COFFER_URL", "http://"+addr)
	e.Setenv("COFFER_UNSEAL_WORK_FACTOR", "17")
	e.Setenv("COFFER_LOG_LEVEL", "warn")
	e.Setenv("ADDR", addr)
	e.Setenv("D", filepath.Join(e.WorkDir, "data"))
	return os.MkdirAll(home, 0o700)
}

// waitUntilListening waits for the server at ADDR.
func waitUntilListening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ready")
	}
	for range 600 {
		res, err := http.Get("http://" + ts.Getenv("ADDR") + "/health")
		if err == nil {
			res.Body.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no server came up")
}

// captureOutput puts what the last command printed into a variable.
func captureOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// exitsWith runs a command and wants an exit code.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	script := `"$@"; test $? = ` + args[0]
	if err := ts.Exec("sh", append([]string{"-c", script, "sh"}, args[1:]...)...); err != nil {
		ts.Fatalf("%s did not exit with %s", strings.Join(args[1:], " "), args[0])
	}
}

// linesToPaste writes the indented lines of a file to another one.
func linesToPaste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FROM TO")
	}
	script := "set -e\n"
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if strings.HasPrefix(line, "  ") {
			script += strings.TrimSpace(line) + "\n"
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(script), 0o600))
}

// makePluginKey writes the identity file of an age plugin that behaves as told.
func makePluginKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plugin BEHAVIOUR FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), cryptotest.PluginIdentity(args[0]), 0o600))
}

// hasMode wants a file to have a mode, in octal.
func hasMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode MODE FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm().String(); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
