package browsertest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe is a program for pages that finds what keeps people from using them. It is
// "" where there is none.
var axe string

// readAxe reads it from where COFFER_AXE says.
func readAxe() error {
	dir := os.Getenv("COFFER_AXE")
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "axe.min.js"))
	if err != nil {
		return fmt.Errorf("COFFER_AXE names no axe-core: %w", err)
	}
	axe = string(text)
	return nil
}

// runAxe lists what axe finds on the page that is shown.
//
//go:embed axe.js
var runAxe string

var tellWithoutAxe sync.Once

// violations is what axe finds on the page that is shown.
func (b *browser) violations() []string {
	b.t.Helper()
	if axe == "" {
		tellWithoutAxe.Do(func() {
			b.t.Log("pages are looked at without axe: COFFER_AXE is not set to the folder node_modules/axe-core")
		})
		return nil
	}
	if !b.scripted {
		b.allowScripts(true) // it waits with timers. The page's own were left out when it was read
		defer b.allowScripts(false)
	}
	if there := get(b, chromedp.Evaluate[bool]("'axe' in window")); !there {
		do(b, chromedp.Evaluate[chromedp.Void](axe))
	}
	return evaluate[[]string](b, runAxe)
}

// TestViolationsAreSeen shows a page with some of what axe looks for.
func TestViolationsAreSeen(t *testing.T) {
	if axe == "" {
		needBrowser(t)
		t.Skip("COFFER_AXE is not set to the folder node_modules/axe-core")
	}
	b := openBrowser(t, "http://127.0.0.1")
	b.scripts(false)
	b.shows(`<!DOCTYPE html><html lang="en"><title>x</title><main><h1>One</h1><p style="color:#999;background:#fff">faint</p>
<input type="text"><details><summary>More</summary><img src="data:,"></details><div role="button" aria-pressed="perhaps" tabindex="0">x</div></main></html>`)
	seen := strings.Join(b.violations(), "\n")
	for _, want := range []string{"serious: color-contrast at p", "critical: label at input", "critical: image-alt at img", "critical: aria-valid-attr-value at div"} {
		if !strings.Contains(seen, want) {
			t.Errorf("nothing about %q in:\n%s", want, seen)
		}
	}
	b.shows(`<!DOCTYPE html><html lang="en"><title>x</title><main><h1>One</h1></main></html>`)
	if seen := b.violations(); len(seen) > 0 {
		t.Errorf("a page without a flaw has %q", seen)
	}
}
