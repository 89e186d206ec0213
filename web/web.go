// Package web holds the pages that people see in a browser: templates, one
// stylesheet, and a struct for each page that says what it shows.
//
// It knows no HTTP, no rules and nothing of ours; httpd fills the structs and
// sends what comes out. Its one invariant: whatever a struct holds is escaped
// for the place where it lands, because nothing here is ever marked as safe.
//
// Pages need nothing from elsewhere and work without scripts. To add one:
//
//   - a struct that embeds [Frame] and has a Title, beside others of its noun;
//     its method file names the template;
//   - templates/NOUN.html, which defines "main". It stands inside layout.html and
//     can use what parts.html defines: "wrong", "invalid", "time", "pager",
//     "search", "types", "where" and "confirm". Functions: asset, path (every
//     address of ours), day, date, moment, ago, since, iso, count, confirm,
//     confirmOf, matrixRows, steps;
//   - a sample in the tests, which look at every page there is.
//
// A page that a script makes more comfortable has a method Script that names a
// module in static/. Modules import each other as "./name.js"; the addresses are
// put in when they are read. coffer.js holds what they share.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed templates/*.html static/*
var files embed.FS

// StaticPath is where assets are, below the base.
const StaticPath = "/static/"

// Page is what one page shows.
type Page interface {
	file() string // of its template
	Title() string
	Script() string // module that makes the page more comfortable
}

// SignIn asks who somebody is.
type SignIn struct {
	Frame
	Forge    string // name of the code host to sign in with; "" asks for a password
	Return   string // where to go afterwards, or ""
	Username string // what was typed in before
	Problem  string // why it did not work, or ""
}

// Device asks for the code that a program shows.
type Device struct {
	Frame
	Code    string // filled in already, or ""
	Problem string // what was wrong with the code before, or ""
}

// Confirm shows what the code of a program would sign in, and asks whether it
// shall.
type Confirm struct {
	Frame
	Code               string
	Repository         string // what the program says it is for, or ""
	Where, With        string // address, and what the program calls itself; "" when not known
	Requested, Expires time.Time
	Now                time.Time
	Confirm            string // token to decide with
	Install            string // where the code host's application is installed, if that may be needed, or ""
}

// Message says something, most often what went wrong, and what to do next.
type Message struct {
	Frame
	Heading string
	Text    string
	Next    []Link
	Trace   string // the request's id, for whoever is asked for help; or ""
}

// Link leads to another page of ours.
type Link struct{ Text, Path string }

// Explanation is the page of one kind of error.
type Explanation struct {
	Frame
	Heading string
	Slug    string
	Name    string // the title on the wire
	Status  int
	Means   string
	Do      []string
}

func (SignIn) file() string      { return "signin.html" }
func (Device) file() string      { return "device.html" }
func (Confirm) file() string     { return "confirm.html" }
func (Message) file() string     { return "message.html" }
func (Explanation) file() string { return "errors.html" }

// Title is the page's title.
func (SignIn) Title() string { return "Sign in" }

// Title is the page's title.
func (Device) Title() string { return "Sign a program in" }

// Title is the page's title.
func (Confirm) Title() string { return "Is this you?" }

// Title is the page's title.
func (m Message) Title() string { return m.Heading }

// Title is the page's title.
func (e Explanation) Title() string { return e.Heading }

// Asset is a file that pages refer to. Its address changes when it does, so it
// may be kept for ever.
type Asset struct {
	Type    string // of the content, as HTTP names it
	Content []byte
}

// Pages renders pages whose links begin with a base path.
type Pages struct {
	base      string
	templates map[string]func() *template.Template
	assets    map[string]Asset  // by the last part of their address
	addresses map[string]string // of assets, by their own name
}

// New reads all assets. Templates are read when a page first needs them, because
// reading all of them is much of the time that the program takes to start. A mistake
// in one is a panic: they are built in, so nobody but us could mend it.
func New(base string) *Pages {
	p := &Pages{
		base: strings.TrimRight(base, "/"), templates: make(map[string]func() *template.Template),
		assets: make(map[string]Asset), addresses: make(map[string]string),
	}
	p.readAssets()
	layout := template.Must(template.New("layout.html").
		Funcs(template.FuncMap{"asset": p.address, "path": p.Path, "day": day, "date": date, "moment": moment, "ago": ago, "since": since, "iso": iso, "count": count, "bytes": bytesText,
			"confirm": confirmation, "confirmOf": confirmationOf, "matrixRows": p.matrixRows, "steps": stepsOf}).
		Option("missingkey=error").
		ParseFS(files, around...))
	all, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic("web: internal error: " + err.Error())
	}
	for _, name := range all {
		if !slices.Contains(around, name) {
			p.templates[path.Base(name)] = sync.OnceValue(func() *template.Template {
				return template.Must(template.Must(layout.Clone()).ParseFS(files, name))
			})
		}
	}
	return p
}

// around are the templates that stand around every page's own.
var around = []string{"templates/layout.html", "templates/parts.html", "templates/rotations.html"}

// types are the content types of assets.
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func (p *Pages) readAssets() {
	all, err := fs.ReadDir(files, "static")
	if err != nil {
		panic("web: internal error: " + err.Error())
	}
	for _, f := range all {
		p.readAsset(f.Name())
	}
}

// importing is how a module names another one.
var importing = regexp.MustCompile(`(from|import) "\./([a-z]+\.js)"`)

// readAsset reads an asset, after those that it imports, and returns the last part
// of its address. That comes from the content, so modules cannot import in a
// circle.
func (p *Pages) readAsset(name string) string {
	if at, known := p.addresses[name]; known {
		if at == "" {
			panic("web: internal error: static/" + name + " imports itself")
		}
		return path.Base(at)
	}
	p.addresses[name] = ""
	content, err := fs.ReadFile(files, "static/"+name)
	ext := path.Ext(name)
	if err != nil || types[ext] == "" {
		panic(fmt.Sprintf("web: internal error: static/%s: no type for %q, or %v", name, ext, err))
	}
	if ext == ".js" {
		content = importing.ReplaceAllFunc(content, func(found []byte) []byte {
			m := importing.FindSubmatch(found)
			return fmt.Appendf(nil, `%s "./%s"`, m[1], p.readAsset(string(m[2])))
		})
	}
	sum := sha256.Sum256(content)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext
	p.assets[hashed] = Asset{types[ext], content}
	p.addresses[name] = p.Path(StaticPath + hashed)
	return hashed
}

// Path is the path of a page as a browser has to ask for it.
func (p *Pages) Path(page string) string { return p.base + page }

// address is where a browser finds an asset.
func (p *Pages) address(name string) (string, error) {
	at, ok := p.addresses[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return at, nil
}

// Asset is the asset with this hashed name.
func (p *Pages) Asset(hashed string) (Asset, bool) {
	a, ok := p.assets[hashed]
	return a, ok
}

// Render writes a page. What it wrote before an error is of no use, so to should
// be a buffer.
func (p *Pages) Render(to io.Writer, page Page) error {
	if err := p.templates[page.file()]().Execute(to, page); err != nil {
		return fmt.Errorf("render %s: %w", page.file(), err)
	}
	return nil
}
