package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var shownCode = regexp.MustCompile(`It must show this code: (\S+)`)

// playBrowser is ann at a browser: she signs in with her password, reads the code
// that a terminal shows in a file, and approves or denies it; or she ends all that
// was ever signed in.
func playBrowser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || args[0] != "signout" && len(args) != 2 {
		ts.Fatalf("usage: browser approve|deny FILE, or browser signout")
	}
	b := &browser{ts: ts, base: "http://" + ts.Getenv("ADDR")}
	b.signIn("ann", strings.TrimSpace(ts.ReadFile("pw")))
	if args[0] == "signout" {
		b.endOthers()
		return
	}
	var asked struct{ ConfirmToken, Repository string }
	b.send("POST", "/v1/auth/device/verify", map[string]string{"userCode": b.code(ts.MkAbs(args[1]))}, &asked)
	b.send("POST", "/v1/auth/device/"+args[0], map[string]string{"confirmToken": asked.ConfirmToken}, nil)
}

type browser struct {
	ts     *testscript.TestScript
	base   string
	client http.Client
}

func (b *browser) signIn(user, password string) {
	jar, err := cookiejar.New(nil)
	b.ts.Check(err)
	b.client = http.Client{Jar: jar, Timeout: 10 * time.Second}
	form := url.Values{"username": {user}, "password": {password}}.Encode()
	req, err := http.NewRequest("POST", b.base+"/login", strings.NewReader(form))
	b.ts.Check(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	res, err := b.client.Do(req)
	b.ts.Check(err)
	res.Body.Close()
	if at, _ := url.Parse(b.base); len(jar.Cookies(at)) == 0 {
		b.ts.Fatalf("nobody is signed in: %s", res.Status)
	}
}

// code waits until a terminal shows a code.
func (b *browser) code(file string) string {
	for range 1200 {
		text, _ := os.ReadFile(file)
		if m := shownCode.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		time.Sleep(25 * time.Millisecond)
	}
	b.ts.Fatalf("no code is shown")
	return ""
}

func (b *browser) send(method, path string, body, out any) {
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		b.ts.Check(err)
	}
	req, err := http.NewRequest(method, b.base+path, bytes.NewReader(text))
	b.ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", b.base)
	res, err := b.client.Do(req)
	b.ts.Check(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	b.ts.Check(err)
	if res.StatusCode/100 != 2 {
		b.ts.Fatalf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	if out != nil {
		b.ts.Check(json.Unmarshal(answer, &struct{ Data any }{out}))
	}
}

// endOthers ends every login but the browser's own.
func (b *browser) endOthers() {
	var all struct {
		Sessions []struct {
			ID      string
			Current bool
		}
	}
	b.send("GET", "/v1/auth/sessions", nil, &all)
	for _, s := range all.Sessions {
		if !s.Current {
			b.send("DELETE", "/v1/auth/sessions/"+s.ID, nil, nil)
		}
	}
}
