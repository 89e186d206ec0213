// Package browsertest walks through the pages in a real browser, against the
// program that people run: built once, serving data of its own on loopback. The
// command line takes part as a child process, the code host as a fake, or as a
// real Gitea when COFFER_TEST_GITEA names one.
//
// It knows nothing of the program's insides. What a page offers is found as
// assistive technology finds it, by role and name, and scripts are switched off
// in most stories, because no page may need one.
//
// They take minutes, so they run only with COFFER_TEST_BROWSER=1, and then want a
// browser: Chromium, or the one that COFFER_CHROMIUM names. With COFFER_SCREENSHOTS
// pictures of every page are kept in that directory. With COFFER_AXE, the folder of
// the npm package axe-core, every page is looked at by axe, too.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	_ "coffer/server/cli" // so that go test repeats these when the program changes
)

// Of the whole run: the program under test, and the one browser process that
// every story opens windows of, or why there is none.
var (
	program  string
	chromium context.Context
	missing  error
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
	if os.Getenv("COFFER_TEST_BROWSER") != "1" {
		missing = errors.New("COFFER_TEST_BROWSER is not 1")
		return m.Run(), nil
	}
	if err := readAxe(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "coffer-browser")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	end := startBrowser(filepath.Join(dir, "profile"))
	defer end()
	if missing != nil {
		return 1, fmt.Errorf("there is no browser to test with: %w", missing)
	}
	program = filepath.Join(dir, "coffer")
	if out, err := exec.Command("go", "build", "-o", program, "coffer").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	code := m.Run()
	if code != 0 {
		return code, nil
	}
	return code, everyPageSeen()
}

// startBrowser starts a browser that finds nothing but this machine.
func startBrowser(profile string) (end func()) {
	path, err := findBrowser()
	if err != nil {
		missing = err
		return func() {}
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it does not start as root otherwise
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		missing = fmt.Errorf("%s does not start: %w", path, err)
	}
	chromium = ctx
	return func() { leave(); stop() }
}

func findBrowser() (path string, err error) {
	if named := os.Getenv("COFFER_CHROMIUM"); named != "" {
		return exec.LookPath(named)
	}
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("none is called %s: install one, or name one with COFFER_CHROMIUM", strings.Join(names, ", "))
}

// needBrowser skips a test where there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if missing != nil {
		t.Skipf("there is no browser to test with: %v", missing)
	}
}
