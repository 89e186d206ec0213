package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"coffer/server/servertest"
)

var shownSetup = regexp.MustCompile(`http\S+/setup#claim=\S+`)

// shell starts lines of a shell that finds the program as coffer, as somebody pastes
// them.
func (c *terminal) shell(lines string) *command {
	c.t.Helper()
	cmd := &command{Cmd: exec.Command("sh", "-ec", lines), t: c.t}
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.home, &cmd.out, &cmd.notice
	cmd.Env = append(environment(c.home), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test ended early
	return cmd
}

// drops drops a file with this text on the form for one, and waits for the page that
// comes.
func (b *browser) drops(name, text string) {
	b.t.Helper()
	b.comes(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const files = new DataTransfer();
		files.items.add(new File([%q], %q));
		document.querySelector("form[data-drop]").dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true, bubbles: true }));
	})()`, text, name)))
	b.clicks++
}

// What people take to point and click, and for a key, by the keystroke-level model of
// how people work with computers.
const (
	aClick = 1300 * time.Millisecond
	aKey   = 280 * time.Millisecond
)

// TestAWalkFromNothingToASecret goes the way of somebody with a .env file: from the
// start of a server on an empty directory to their program with a secret from it, by
// the lines that the pages show. It tells how long the machine took, and how much
// there is to click and to type besides.
func TestAWalkFromNothingToASecret(t *testing.T) {
	needBrowser(t)
	start := time.Now()
	desk := newTerminal(t)
	desk.file("your-program", "#!/bin/sh\nprintf %s \"$GREETING\"\n")
	if err := os.Chmod(filepath.Join(desk.home, "your-program"), 0o700); err != nil {
		t.Fatal(err)
	}
	address := servertest.FreeAddress()
	server := desk.start("serve", "--data", filepath.Join(desk.home, "data"), "--listen", address)
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		if code := server.exits(); code != 0 {
			t.Errorf("the server ended with %d, and said:\n%s", code, &server.notice)
		}
	})
	link := shownSetup.FindString(server.says("coffer init"))

	b := scripted(t, "http://"+address)
	b.open(link)
	b.press("Begin")
	b.press("Continue")
	key := b.saves()
	b.press("I have saved it")
	b.typesBack(key)
	b.fill("Username", "ann")
	b.fill("Password", password)
	b.fill("Once more", password)
	b.press("Finish")
	b.wants("A vault from your .env")
	b.drops(".env", "GREETING=\"hello there\"\nDATABASE_URL=postgres://app@db/app\n")
	b.wants("A vault from your .env", "2 secrets to store")
	b.fill("Repository", "ann/app")
	b.press("Store 2 secrets")
	b.wants("ann/app is ready")
	lines := get(b, chromedp.Evaluate[string](`document.querySelector("#cli").innerText`))

	paste := desk.shell(lines)
	text := paste.says("Approve only if")
	b.open(shownLink.FindString(text))
	b.approve(shownCode.FindStringSubmatch(text)[1])
	if got := paste.ends(0).out.String(); !strings.HasSuffix(got, "hello there") {
		t.Errorf("the program printed %q", got)
	}
	machine := time.Since(start)
	hands := time.Duration(b.clicks)*aClick + time.Duration(b.keys)*aKey
	t.Logf("From an empty directory to a program with its secret: %.1f s of the machine, and %d clicks and %d keys in the browser, about %.0f s. %.0f s together, and two lines to paste.",
		machine.Seconds(), b.clicks, b.keys, hands.Seconds(), (machine + hands).Seconds())
}
