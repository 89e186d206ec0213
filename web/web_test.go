package web

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"
)

var someDay = time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)

// installPage is at the code host: the one address that is not ours.
const installPage = "https://github.example/apps/coffer/installations/new"

// samples are one page of each kind, and of each shape it can take.
var samples = map[string]Page{
	"password": SignIn{Return: "/device?user_code=A", Username: "ann", Problem: "No."},
	"forge":    SignIn{Forge: "GitHub", Return: "/device?user_code=A&b=c"},
	"empty":    SignIn{},
	"home": Home{Frame: Frame{User: "ann"}, Server: "https://vault.example", Sessions: []Session{
		{ID: "1", Where: "203.0.113.7", With: "Mozilla/5.0", Created: someDay, Used: someDay, End: someDay, Current: true},
		{ID: "2", Created: someDay, End: someDay},
		{ID: "3", With: "Mozilla/5.0", Created: someDay, End: someDay},
		{ID: "4", With: "coffer/1.0", Created: someDay, End: someDay},
	}},
	"device":    Device{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Problem: "No."},
	"no device": Device{Frame: Frame{User: "ann"}},
	"confirm": Confirm{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Repository: "acme/api", Where: "203.0.113.7", With: "tool/1",
		Requested: someDay, Expires: someDay, Now: someDay, Confirm: "token", Install: installPage},
	"confirm little": Confirm{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Requested: someDay, Expires: someDay, Confirm: "token"},
	"message":        Message{Heading: "Gone", Text: "It is gone.", Next: []Link{{"Home", "/"}}, Trace: "t"},
	"explanation":    Explanation{Heading: "Sealed", Slug: "sealed", Status: 503, Means: "Locked.", Do: []string{"Wait.", "Ask."}},
}

func rendered(t *testing.T, base string, page Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := New(base).Render(&out, page); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryPageStandsOnItsOwn(t *testing.T) {
	seen := make(map[string]bool)
	for name, page := range samples {
		text := rendered(t, "", page)
		seen[page.file()] = true
		for _, part := range []string{"<!DOCTYPE html>\n<html lang=\"en\">", "<title>" + page.Title() + " · coffer</title>", `<main id="main">`, "</html>\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s: %s", name, part, text)
			}
		}
		for _, part := range []string{"<script", "<style", "style=", " on", "ZgotmplZ", "//cdn"} {
			if part == " on" {
				if m := regexp.MustCompile(`<[^>]* on[a-z]+=`).FindString(text); m != "" {
					t.Errorf("%s has a handler: %s", name, m)
				}
				continue
			}
			if strings.Contains(text, part) {
				t.Errorf("%s has %s: %s", name, part, text)
			}
		}
		if n := strings.Count(text, "<h1>"); n != 1 {
			t.Errorf("%s has %d main headings", name, n)
		}
	}
	all, _ := fs.Glob(files, "templates/*.html")
	if len(seen)+1 != len(all) {
		t.Errorf("%d templates beside the layout, samples of %d", len(all)-1, len(seen))
	}
}

// TestEveryFieldHasItsLabel: an input that only its place explains is nothing to
// somebody who does not see the place.
func TestEveryFieldHasItsLabel(t *testing.T) {
	for name, page := range samples {
		text := rendered(t, "", page)
		for _, input := range regexp.MustCompile(`<input [^>]*>`).FindAllString(text, -1) {
			if strings.Contains(input, `type="hidden"`) {
				continue
			}
			id := regexp.MustCompile(` ?id="([a-z]+)"`).FindStringSubmatch(input)
			if id == nil || !strings.Contains(text, `<label for="`+id[1]+`">`) {
				t.Errorf("%s: no label for %s", name, input)
			}
		}
	}
}

func TestWhatPagesShowIsEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script><a href='javascript:x'>`
	for name, page := range map[string]Page{
		"name typed in":   SignIn{Username: evil, Problem: evil, Return: evil},
		"way back":        SignIn{Forge: evil, Return: `/x" onclick="y`},
		"name":            Home{Frame: Frame{User: evil}, Forge: evil, Server: evil},
		"session":         Home{Sessions: []Session{{ID: evil, Where: evil, With: evil}}},
		"current session": Home{Sessions: []Session{{ID: evil, Where: evil, With: evil, Current: true}}},
		"code":            Device{Code: evil, Problem: evil},
		"program":         Confirm{Code: evil, Repository: evil, Where: evil, With: evil, Confirm: evil, Install: evil},
		"message":         Message{Heading: evil, Text: evil, Next: []Link{{evil, evil}}, Trace: evil},
		"explanation":     Explanation{Heading: evil, Slug: evil, Means: evil, Do: []string{evil}},
	} {
		text := rendered(t, "", page)
		for _, part := range []string{"<script", `onclick="`, "<a href='"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s gets through: %s", name, part, text)
			}
		}
	}
}

func TestTheWayBackStaysOneParameter(t *testing.T) {
	text := rendered(t, "/base", samples["forge"])
	if want := `href="/base/login/forge?return=%2fdevice%3fuser_code%3dA%26b%3dc"`; !strings.Contains(text, want) {
		t.Errorf("no %s in %s", want, text)
	}
}

func TestAddressesBeginWithTheBase(t *testing.T) {
	for _, base := range []string{"", "/base", "/base/"} {
		for name, page := range samples {
			text := rendered(t, base, page)
			for _, m := range regexp.MustCompile(`(?:href|action)="([^"#][^"]*)"`).FindAllStringSubmatch(text, -1) {
				if m[1] == installPage {
					continue
				}
				if !strings.HasPrefix(m[1], strings.TrimRight(base, "/")+"/") || strings.Contains(m[1], "//") {
					t.Errorf("%s at %q leads to %s", name, base, m[1])
				}
			}
		}
	}
}

func TestAssetsAreNamedByTheirContent(t *testing.T) {
	p := New("/base")
	for name, address := range p.addresses {
		hashed, ok := strings.CutPrefix(address, "/base/static/")
		a, found := p.Asset(hashed)
		want, _ := fs.ReadFile(files, "static/"+name)
		if !ok || !found || !bytes.Equal(a.Content, want) || a.Type == "" || !regexp.MustCompile(`\.[0-9a-f]{16}\.`).MatchString(hashed) {
			t.Errorf("%s is at %s: %v", name, address, found)
		}
		if _, found := p.Asset(name); found {
			t.Errorf("%s is there under its own name, which would be kept for ever", name)
		}
	}
	if len(p.addresses) < 2 {
		t.Errorf("assets %v", p.addresses)
	}
}

// TestTheStylesheetStandsAlone: the policy of pages lets nothing else in.
func TestTheStylesheetStandsAlone(t *testing.T) {
	css, err := fs.ReadFile(files, "static/coffer.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"@import", "url(", "http:", "https:", "!important", "outline: none", "outline: 0"} {
		if bytes.Contains(css, []byte(part)) {
			t.Errorf("it has %s", part)
		}
	}
	for _, part := range []string{":focus-visible", "prefers-color-scheme: dark", "forced-colors", "prefers-reduced-motion"} {
		if !bytes.Contains(css, []byte(part)) {
			t.Errorf("it lacks %s", part)
		}
	}
}

func TestPeopleReadHowLongAgoItWas(t *testing.T) {
	for since, want := range map[time.Duration]string{
		-time.Minute: "less than a minute ago", 59 * time.Second: "less than a minute ago", time.Minute: "a minute ago",
		2*time.Minute - 1: "a minute ago", 14*time.Minute + 59*time.Second: "14 minutes ago",
	} {
		if got := ago(someDay.Add(since), someDay); got != want {
			t.Errorf("%s: %s", since, got)
		}
	}
}

func TestSessionsHaveShortNames(t *testing.T) {
	for with, want := range map[string]string{"": "Another program", "Mozilla/5.0 (X11; Linux x86_64)": "Another browser", "coffer/1.0": "coffer/1.0"} {
		if got := (Session{With: with}).Name(); got != want {
			t.Errorf("%q is called %q, want %q", with, got, want)
		}
	}
	if got := (Session{With: "Mozilla/5.0", Current: true}).Name(); got != "This browser" {
		t.Errorf("the current one is called %q", got)
	}
	text := rendered(t, "", Home{Sessions: []Session{{With: "Mozilla/5.0 (X11)"}, {With: "coffer/1.0"}}})
	if strings.Count(text, "<dt>Program</dt>") != 1 || !strings.Contains(text, "Mozilla/5.0 (X11)") {
		t.Errorf("which program a browser is, and nothing twice: %s", text)
	}
}
