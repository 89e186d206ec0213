package web

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var someDay = time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)

// installPage is at the code host. It and payPage are the addresses that are not ours.
const installPage = "https://github.example/apps/coffer/installations/new"

// samples are one page of each kind, and of each shape it can take.
var samples = joined(entrySamples, setupSamples, operatorSamples, unsealMethodSamples, backupSamples,
	vaultsSamples, matrixSamples, secretSamples, editSamples, importSamples, rawSamples, compareSamples, historySamples,
	environmentsSamples, accessSamples, trashSamples,
	syncsSamples, connectionsSamples,
	activitySamples, keysSamples, orgsSamples, plansSamples, accountSamples)

// evils are pages with markup in whatever somebody else can name.
var evils = joined(entryEvils, setupEvils, operatorEvils, unsealMethodEvils, backupEvils,
	vaultsEvils, matrixEvils, secretEvils, editEvils, importEvils, rawEvils, compareEvils, historyEvils,
	environmentsEvils, accessEvils, trashEvils,
	syncsEvils, connectionsEvils,
	activityEvils, keysEvils, orgsEvils, plansEvils, accountEvils)

const evil = `"><script>alert(1)</script><a href='javascript:x'>`

// joined puts the pages of each noun together.
func joined(all ...map[string]Page) map[string]Page {
	pages := make(map[string]Page)
	for _, some := range all {
		maps.Copy(pages, some)
	}
	return pages
}

var entrySamples = map[string]Page{
	"password":  SignIn{Return: "/device?user_code=A", Username: "ann", Problem: "No."},
	"forge":     SignIn{Forge: "GitHub", Return: "/device?user_code=A&b=c"},
	"empty":     SignIn{},
	"device":    Device{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Problem: "No."},
	"no device": Device{Frame: Frame{User: "ann"}},
	"confirm": Confirm{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Repository: "acme/api", Where: "203.0.113.7", With: "tool/1",
		Requested: someDay, Expires: someDay, Now: someDay, Confirm: "token", Install: installPage},
	"confirm little": Confirm{Frame: Frame{User: "ann"}, Code: "BCDFG-HJK23", Requested: someDay, Expires: someDay, Confirm: "token"},
	"message":        Message{Heading: "Gone", Text: "It is gone.", Next: []Link{{"Home", "/"}}, Trace: "t"},
	"unsent":         Unsent{At: "/keys", Return: "/signed-in", Fields: []Kept{{"name", "ci"}}},
	"unsent file":    Unsent{At: "/vaults/acme/api/import", Return: "/signed-in", Multipart: true, Fields: []Kept{{"text", "A=1"}}},
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
		if found := ownScript.FindAllString(text, -1); len(found) != 1 {
			t.Errorf("%s has the modules %q, and should have %q", name, found, page.Script())
		}
		text = ownScript.ReplaceAllString(text, "")
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
	if len(seen)+len(around) != len(all) {
		t.Errorf("%d templates of pages, samples of %d", len(all)-len(around), len(seen))
	}
}

// TestEveryFieldHasItsLabel: an input that only its place explains is nothing to
// somebody who does not see the place.
func TestEveryFieldHasItsLabel(t *testing.T) {
	for name, page := range samples {
		text := rendered(t, "", page)
		for _, input := range regexp.MustCompile(`<(?:input|select|textarea) [^>]*>`).FindAllString(text, -1) {
			if strings.Contains(input, `type="hidden"`) || strings.HasSuffix(input, " hidden>") {
				continue
			}
			id := regexp.MustCompile(` id="([^"]+)"`).FindStringSubmatch(input)
			if id == nil || !strings.Contains(text, `<label for="`+id[1]+`"`) {
				t.Errorf("%s: no label for %s", name, input)
			}
		}
	}
}

// TestEveryIDIsThereOnce: a label or heading that is named by it would be the wrong
// one's.
func TestEveryIDIsThereOnce(t *testing.T) {
	for name, page := range samples {
		seen := make(map[string]bool)
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(rendered(t, "", page), -1) {
			if seen[id[1]] {
				t.Errorf("%s has the id %s twice", name, id[1])
			}
			seen[id[1]] = true
		}
	}
}

var entryEvils = map[string]Page{
	"name typed in": SignIn{Username: evil, Problem: evil, Return: evil},
	"way back":      SignIn{Forge: evil, Return: `/x" onclick="y`},
	"code":          Device{Code: evil, Problem: evil},
	"program":       Confirm{Code: evil, Repository: evil, Where: evil, With: evil, Confirm: evil, Install: evil},
	"unsent":        Unsent{At: "/" + evil, Return: evil, Fields: []Kept{{evil, evil}, {"text", "</form></textarea><!--" + evil}}},
	"explanation":   Explanation{Heading: evil, Slug: evil, Means: evil, Do: []string{evil}},
	"message": Message{Heading: evil, Text: evil, Next: []Link{{evil, evil}}, Trace: evil, Frame: Frame{
		User: evil, Notice: evil, Places: []Place{{evil, evil, evil}}, Inside: &Inside{Name: evil, At: evil, Places: []Place{{evil, evil, evil}}},
	}},
}

// TestEveryTemplateIsShown by a sample, since a template is read only when a page
// needs it, and a mistake in it comes to light no sooner.
func TestEveryTemplateIsShown(t *testing.T) {
	shown := make(map[string]bool)
	for _, page := range samples {
		shown[page.file()] = true
	}
	for name := range New("").templates {
		if !shown[name] {
			t.Errorf("no sample shows %s", name)
		}
	}
}

// TestTemplatesAreReadAtOnce by requests that are the first ones for their pages.
func TestTemplatesAreReadAtOnce(t *testing.T) {
	want := make(map[string]string)
	for name, page := range samples {
		want[name] = rendered(t, "", page)
	}
	pages := New("")
	var asking sync.WaitGroup
	for name, page := range samples {
		asking.Go(func() {
			var out bytes.Buffer
			if err := pages.Render(&out, page); err != nil || out.String() != want[name] {
				t.Errorf("%s is another page: %v", name, err)
			}
		})
	}
	asking.Wait()
}

func TestWhatPagesShowIsEscaped(t *testing.T) {
	for name, page := range evils {
		text := ownScript.ReplaceAllString(rendered(t, "", page), "")
		for _, part := range []string{"<script", `onclick="`, "<a href='"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s gets through: %s", name, part, text)
			}
		}
	}
}

// ownScript is how a page names its module: the one way in which anything of it
// may run.
var ownScript = regexp.MustCompile(`<script type="module" src="(?:/base)?/static/[a-z]+\.[0-9a-f]{16}\.js"></script>`)

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
				if m[1] == installPage || m[1] == payPage {
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
		if !ok || !found || !bytes.Equal(hashedImport.ReplaceAll(a.Content, []byte(`$1 "./$2.js"`)), want) || a.Type == "" || !regexp.MustCompile(`\.[0-9a-f]{16}\.`).MatchString(hashed) {
			t.Errorf("%s is at %s: %v", name, address, found)
		}
		if _, found := p.Asset(name); found {
			t.Errorf("%s is there under its own name, which would be kept for ever", name)
		}
	}
	if all, _ := fs.Glob(files, "static/*"); len(p.addresses) != len(all) {
		t.Errorf("assets %v of %q", p.addresses, all)
	}
}

// TestAssetsAreSmall: all that pages load comes to less than one picture would.
func TestAssetsAreSmall(t *testing.T) {
	total := 0
	for _, a := range New("").assets {
		total += len(a.Content)
	}
	if total == 0 || total > 150_000 {
		t.Errorf("the assets have %d bytes, want no more than 150000", total)
	}
	t.Logf("%d bytes", total)
}

var hashedImport = regexp.MustCompile(`(from|import) "\./([a-z]+)\.[0-9a-f]{16}\.js"`)

// TestModulesFindEachOther: what one imports is where the server has it.
func TestModulesFindEachOther(t *testing.T) {
	p := New("")
	imports := regexp.MustCompile(`(?m)^(?:import|export) .*"([^"]*)";`)
	for name := range p.addresses {
		for _, m := range imports.FindAllSubmatch(p.assets[path.Base(p.addresses[name])].Content, -1) {
			if _, found := p.Asset(strings.TrimPrefix(string(m[1]), "./")); !found {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

// TestModulesAskNobodyElse: nothing of them leaves this server or makes markup of
// a text.
func TestModulesAskNobodyElse(t *testing.T) {
	all, _ := fs.Glob(files, "static/*.js")
	for _, name := range all {
		text, _ := fs.ReadFile(files, name)
		for _, part := range []string{"http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage", "sessionStorage", "indexedDB"} {
			if bytes.Contains(text, []byte(part)) {
				t.Errorf("%s has %s", name, part)
			}
		}
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
