package httpd

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/web"
)

// How a page is made. Its route stands in a table of its noun that pages joins, and
// its place in the navigation in the tables of places.go, where a page appears as
// soon as its route exists. Its run is one of these (forms.go):
//
//	signedIn(func(x *exchange) (web.Page, error)) operation                    // GET, signed in
//	inVault(func(x *exchange, v *api.Vault) (web.Page, error)) operation       // GET below vaultPath
//	act(func(x *exchange, form url.Values) error) operation                    // POST, from our own pages
//	actInVault(func(x *exchange, v *api.Vault, form url.Values) error) operation
//
// and it has these to help:
//
//	x.frame() web.Frame                        // embed it in the page; knows place, vault and notice
//	asked[Req](x) (*Req, error)                // the request of the API that path and query make
//	x.check(req) error                         // its rules, once a form filled the rest
//	x.again(err, form, keep, page) error       // the page of the form again, with what was wrong
//	x.done(page, notice)                       // 303 to a page that says what was done, once
//	x.done(page, secretTrashed, ids...)        // 303 to a page of the vault that can undo it, too
//	x.leadTo(page)                             // 303
//	x.pager(limit, offset, shown, total)       // links through a list, by ?offset=
//	pathOf(owner, repo) string                 // of a vault's first page
//
// Errors are returned as they are: screen makes pages of them, and leads who is not
// signed in any more to the sign-in and back; what act was sent is kept meanwhile
// (unsent.go). Rights are never decided here.

// pages are the routes that people see in a browser. They are no part of the
// API: whatever happens, they answer with a page.
func pages() []route {
	return slices.Concat(
		signInPages(), setupPages(), unsealPages(), devicePages(), operatorPages(), unsealMethodPages(), rotationPages(), backupPages(), storagePages(),
		vaultPages(), secretPages(), editPages(), importPages(), rawPages(), comparePages(), historyPages(),
		environmentPages(), accessPages(), trashPages(), settingsPages(),
		syncPages(), connectionPages(),
		activityPages(), keyPages(), orgPages(), planPages(), accountPages(),
	)
}

func signInPages() []route {
	return []route{
		{method: get, path: web.StaticPath + ":name", bucket: exempt, run: asset},
		{method: get, path: signInPath, bucket: inGeneral, run: screen(signInPage)},
		{method: post, path: signInPath, bucket: inLogin, run: screen(signIn)},
		{method: get, path: forgePath, bucket: inGeneral, run: screen(departForForge)},
		{method: get, path: callbackPath, bucket: inLogin, run: screen(returnFromForge)},
		{method: get, path: besidePath, bucket: inGeneral, run: signedIn(signedInBeside)},
		{method: post, path: "/logout", bucket: inGeneral, run: screen(signOut)},
	}
}

// pagePolicy lets a page have our own stylesheet, icon, modules and forms, and
// nothing else; modules ask our own API only. A form whose answer leads to another
// server is none of ours: Chromium holds form-action against redirects, too.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'"

var sameOrigin = []string{"same-origin"}

// screen is the operation of a page. What goes wrong becomes a page as well; who
// has to sign in first is led there, and back afterwards.
//
// Pages tell their own origin where a request came from, unlike the API, which
// tells nobody: with no-referrer, browsers send a form without its origin, and
// over plain HTTP the origin is all that tells our forms from others'.
func screen(run operation) operation {
	return always(func(x *exchange) error {
		if page := x.shut(); page != "" {
			x.leadTo(page)
			return nil
		}
		return run(x)
	})
}

// shut is the page that comes before all others while there is no open vault, or
// "".
func (x *exchange) shut() string {
	switch x.gate.State() {
	case api.StateUninitialized:
		return setupPath
	case api.StateSealed:
		if back := x.here(); back != "/" {
			return unsealPath + "?return=" + url.QueryEscape(back)
		}
		return unsealPath
	default:
		return ""
	}
}

// always is screen for pages that are there without an open vault, too.
func always(run operation) operation {
	return func(x *exchange) error {
		x.w.Header()["Referrer-Policy"] = sameOrigin
		if err := run(x); err != nil {
			x.failPage(err)
		}
		return nil
	}
}

// show answers with a page.
func (x *exchange) show(status int, p web.Page) error {
	buf := takeBuffer()
	defer releaseBuffer(buf)
	if err := x.pages.Render(buf, p); err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h["Content-Type"] = htmlType
	x.write(status, buf.Bytes())
	return nil
}

// failPage answers with a page that says what went wrong and what to do.
func (x *exchange) failPage(err error) {
	e := x.public(err)
	k := kinds[e.Code]
	if e.Code == api.Unauthorized {
		x.dropSession()
		x.leadTo(signInPath + "?return=" + url.QueryEscape(x.here()))
		return
	}
	x.advise(e)
	m := web.Message{Frame: x.frame(), Heading: explanations[e.Code].Head, Text: e.Message, Next: x.wayOn(e.Code), Trace: x.id}
	if e.Code == api.Internal || m.Text == "" {
		m.Text = explanations[e.Code].Means
	}
	if e.UpgradeURL == x.PublicURL+upgradePath {
		m.Next = append(m.Next, web.Link{Text: "See the plans", Path: upgradePath})
	}
	if err := x.show(k.status, m); err != nil {
		x.fail(err)
	}
}

// wayOn is where to go from a page that says what went wrong: to the page of the
// form that was sent, or once more to the page that was asked for too often.
func (x *exchange) wayOn(code api.Code) []web.Link {
	back, home := web.Link{Text: "Back to the page", Path: ownPage(x.here())}, web.Link{Text: "Home", Path: "/"}
	switch read := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead; {
	case read && code == api.RateLimited:
		back.Text = "Try again"
	case read:
		return []web.Link{home}
	case back.Path == "/" && x.there[x.route.path]:
		back.Path = ownPage(x.r.URL.EscapedPath())
	}
	if back.Path == "/" {
		return []web.Link{home}
	}
	return []web.Link{back, home}
}

// leadTo sends the browser to another of our pages. It asks for that with GET,
// whatever method led here.
func (x *exchange) leadTo(page string) {
	x.w.Header().Set("Location", x.pages.Path(page))
	x.write(http.StatusSeeOther, nil)
}

// here is the page that was asked for, to come back to; a form's answer cannot
// be asked for again, so there it is the page that the form is on.
func (x *exchange) here() string {
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		return x.r.URL.RequestURI()
	}
	page, ours := strings.CutPrefix(x.r.Header.Get("Referer"), x.PublicURL)
	if !ours {
		return "/"
	}
	return ownPage(page)
}

// maxReturn keeps a ticket with a way back in it small enough for a cookie.
const maxReturn = 1024

// ownPage is the page of ours that text names, and "/" for everything that
// could lead elsewhere: browsers take backslashes for slashes, leave out tabs
// and line breaks, and understand //host as another server.
func ownPage(text string) string {
	const home = "/"
	if len(text) > maxReturn || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return home
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c == '\\' || c >= 0x7f {
			return home
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || path.Clean(u.Path) != u.Path || strings.ContainsAny(u.Path, "\\") {
		return home
	}
	if u.Path == signInPath || strings.HasPrefix(u.Path, signInPath+"/") {
		return home
	}
	u.Fragment, u.RawFragment = "", ""
	return u.RequestURI()
}

// asset is a file that pages refer to, by a name that changes with its content.
func asset(x *exchange) error {
	a, ok := x.pages.Asset(x.c.Param("name"))
	if !ok {
		return errNoSuchAddress
	}
	h := x.w.Header()
	h["Cache-Control"] = keptForEver
	h.Set("Content-Type", a.Type)
	x.write(http.StatusOK, a.Content)
	return nil
}

var keptForEver = []string{"public, max-age=31536000, immutable"}

// wantsPage reports whether a browser asks, which shows pages, rather than a
// program, which reads.
func (x *exchange) wantsPage() bool {
	return !x.operator && strings.Contains(strings.Join(x.r.Header["Accept"], ","), "text/html")
}

// root says what answers here: to a browser with its home page.
func root(x *exchange) error {
	if x.wantsPage() {
		return signedIn(vaults)(x)
	}
	if err := x.limit(); err != nil {
		return err
	}
	text := fmt.Sprintf(`coffer %[1]s: a self-hosted vault for the secrets of your repositories.

State     %[2]s
API       %[3]s/v1 (Authorization: Bearer <token>)
Health    %[3]s/health

On the command line, inside a checkout:

  export COFFER_URL=%[3]s COFFER_TOKEN=<token>
  coffer pull            write the secrets of an environment to a .env file
  coffer push            store the secrets of a .env file
  coffer run -- COMMAND  run a command with the secrets in its environment
  coffer --help          everything else
`, x.Version, x.gate.State(), x.PublicURL)
	x.w.Header()["Content-Type"] = textType
	x.write(http.StatusOK, []byte(text))
	return nil
}
