// Package browsertest walks through the pages in a real browser, against the
// program that people run: built once, serving data of its own on loopback. The
// command line takes part as a child process, the code host as a fake, or as a
// real Gitea when COFFER_TEST_GITEA names one.
//
// It knows nothing of the program's insides. What a page offers is found as
// assistive technology finds it, by role and name, and scripts are switched off
// in most stories, because no page may need one.
//
// Without a browser the stories are skipped; COFFER_TEST_BROWSER=1 makes that an
// error. COFFER_CHROMIUM names a browser that is not found by itself.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Of the whole run: the program under test, and the one browser process that
// every story opens windows of.
var (
	program  string
	chromium context.Context // nil without a browser
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	path, err := findBrowser()
	if err != nil {
		return 1, err
	}
	if path == "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "coffer-browser")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "coffer")
	build := exec.Command("go", "build", "-o", program, "coffer")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	ctx, end := startBrowser(path, dir)
	defer end()
	chromium = ctx
	if err := chromedp.Do(ctx); err != nil {
		return 1, fmt.Errorf("start %s: %w", path, err)
	}
	return m.Run(), nil
}

// findBrowser is the browser to test with, or "" where there is none and none is
// asked for.
func findBrowser() (string, error) {
	if named := os.Getenv("COFFER_CHROMIUM"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("COFFER_CHROMIUM: %w", err)
		}
		return path, nil
	}
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if os.Getenv("COFFER_TEST_BROWSER") == "1" {
		return "", fmt.Errorf("COFFER_TEST_BROWSER=1, but there is no %s: install one, or name it with COFFER_CHROMIUM", strings.Join(names, ", "))
	}
	return "", nil
}

// startBrowser prepares a browser that finds nothing but this machine.
func startBrowser(path, dir string) (context.Context, context.CancelFunc) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it does not start as root otherwise
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(ctx)
	return ctx, func() { leave(); stop() }
}

// needBrowser skips a test where there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if chromium == nil {
		t.Skip("there is no browser to test with: install chromium, or name one with COFFER_CHROMIUM")
	}
}
