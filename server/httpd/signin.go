package httpd

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	signInPath   = "/login"
	forgePath    = signInPath + "/forge"
	callbackPath = signInPath + "/callback" // registered at the code host
	besidePath   = "/signed-in"             // for a window that was opened to sign in beside another
)

// signInPage asks who somebody is.
func signInPage(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	back, err := x.askedBack()
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, x.signInForm(back))
}

// backTo is what the address says of where to go afterwards.
type backTo struct {
	Return string `query:"return"`
}

// Check finds nothing wrong: whatever is no page of ours leads home.
func (backTo) Check(*api.Fields) {}

// askedBack is the page of ours to go to afterwards. An address that names two is
// refused, so that nothing that looks at it first takes the other one.
func (x *exchange) askedBack() (string, error) {
	asks, err := asked[backTo](x)
	if err != nil {
		return "", err
	}
	return ownPage(asks.Return), nil
}

// signInForm is the page that leads back to another one of ours.
func (x *exchange) signInForm(back string) web.SignIn {
	p := web.SignIn{Forge: x.forgeName(), Return: ownPage(back)}
	if p.Return == "/" {
		p.Return = ""
	}
	return p
}

// signIn signs a user of the built-in code host in. The form is taken from our
// own page only: otherwise another site could sign its visitors in as somebody
// else, to see what they store there.
func signIn(x *exchange) error {
	if err := x.ours(); err != nil {
		return err
	}
	if err := x.limit(); err != nil {
		return err
	}
	form, err := x.form()
	if err != nil {
		return err
	}
	s, err := x.Warden.SignInWithPassword(x.ctx, x.credential(), form.Get("username"), api.NewSecret(form.Get("password")))
	switch code := api.CodeOf(err); {
	case err == nil:
		x.beginSession(s, form.Get("return"))
		return nil
	case code == api.Unauthorized, code == api.RateLimited:
		e := x.public(err)
		p := x.signInForm(form.Get("return"))
		p.Problem = e.Message
		if name := form.Get("username"); api.ValidOwner(name) {
			p.Username = name
		}
		x.advise(e)
		return x.show(kinds[code].status, p)
	}
	return err
}

// beginSession gives the browser its session and leads it to a page.
func (x *exchange) beginSession(s *warden.BrowserSession, page string) {
	x.setCookie(sessionCookie, x.sessionPath(), s.Token.Reveal(), s.Expires)
	x.leadTo(ownPage(page))
}

// form reads the fields of a form. Each may come once, and is a text like any of
// the API. Of a file it is the content.
func (x *exchange) form() (url.Values, error) {
	if err := x.readBody(); err != nil {
		return nil, err
	}
	var body []byte
	if x.body != nil {
		body = x.body.Bytes()
	}
	form, err := parseForm(x.r.Header.Get("Content-Type"), body)
	if err == nil {
		err = unpack(form)
	}
	if err != nil {
		return nil, api.Errorf(api.BadRequest, "The form cannot be read. Go back and send it again.")
	}
	for name, values := range form {
		if len(values) > 1 {
			return nil, api.Errorf(api.BadRequest, "The form has the field %q more than once. Go back and send it again.", name)
		}
		if !utf8.ValidString(name+values[0]) || strings.Contains(name+values[0], "\x00") {
			return nil, api.Errorf(api.BadRequest, "The form holds something that is no text in UTF-8, or U+0000. Go back, take it out and send it again.")
		}
	}
	return form, nil
}

const multipartForm = "multipart/form-data"

// parseForm reads a form in either of the ways in which browsers send them.
func parseForm(contentType string, body []byte) (url.Values, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != multipartForm {
		return url.ParseQuery(string(body))
	}
	form := make(url.Values)
	for r := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err == io.EOF { // a form that was cut short wraps it
			return form, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		form.Add(part.FormName(), string(text))
	}
}

// departForForge sends the browser to the code host to sign in. It is a link and
// no form, because Chromium lets no form lead to another server under our policy.
func departForForge(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	page, err := x.askedBack()
	if err != nil {
		return err
	}
	d, err := x.Warden.Depart(x.ctx, page, deviceOn(page))
	if err != nil {
		return err
	}
	x.setCookie(ticketCookie, x.pages.Path(signInPath), d.Ticket.Reveal(), d.Expires)
	x.w.Header().Set("Location", d.URL)
	x.write(http.StatusSeeOther, nil)
	return nil
}

// returnFromForge takes the browser back from the code host.
func returnFromForge(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	q := x.r.URL.Query()
	for name, values := range q {
		if len(values) > 1 {
			return api.Errorf(api.BadRequest, "The code host sent %q more than once. Sign in again.", name)
		}
	}
	x.dropCookie(ticketCookie, x.pages.Path(signInPath))
	s, page, err := x.Warden.Arrive(x.ctx, x.credential(), warden.Return{
		State: q.Get("state"), Code: api.NewSecret(q.Get("code")), Error: q.Get("error"), Ticket: api.NewSecret(x.cookie(ticketCookie)),
	})
	if err != nil {
		return x.notSignedIn(err, page)
	}
	x.refund() // people who are let in guess at nothing, however many sign in behind one address
	x.beginSession(s, page)
	return nil
}

// notSignedIn says why the code host's answer signed nobody in.
func (x *exchange) notSignedIn(err error, page string) error {
	e := x.public(err)
	if e.Code == api.Internal {
		return fmt.Errorf("sign in at the code host: %w", err)
	}
	again := signInPath
	if page = ownPage(page); page != "/" {
		again += "?return=" + url.QueryEscape(page)
	}
	x.advise(e)
	return x.show(kinds[e.Code].status, web.Message{
		Heading: "You are not signed in", Text: e.Message, Next: []web.Link{{Text: "Sign in again", Path: again}}, Trace: x.id,
	})
}
