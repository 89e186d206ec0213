package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"coffer/server/api"
	"coffer/web"
)

// signedIn is the operation of a page for people who are signed in.
func signedIn(page func(*exchange) (web.Page, error)) operation {
	return screen(func(x *exchange) error {
		if err := x.known(); err != nil {
			return err
		}
		return x.showPage(page(x))
	})
}

func (x *exchange) showPage(p web.Page, err error) error {
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, p)
}

// inVault is signedIn for a page inside a vault.
func inVault(page func(*exchange, *api.Vault) (web.Page, error)) operation {
	return signedIn(func(x *exchange) (web.Page, error) {
		if err := x.enterVault(); err != nil {
			return nil, err
		}
		return page(x, x.vault)
	})
}

// enterVault looks up the vault that the path names.
func (x *exchange) enterVault() error {
	ref, err := asked[api.Ref](x)
	if err != nil {
		return err
	}
	x.vault, err = x.Warden.Vault(x.ctx, x.who, *ref)
	if err != nil {
		x.vault = nil
	}
	return err
}

// act is the operation of a form. It is taken from our own pages only.
func act(do func(*exchange, url.Values) error) operation {
	return screen(func(x *exchange) error {
		if err := x.ours(); err != nil {
			return err
		}
		if err := x.known(); err != nil {
			return err
		}
		form, err := x.form()
		if err != nil {
			return err
		}
		return do(x, form)
	})
}

// actInVault is act for a form of a page inside a vault.
func actInVault(do func(*exchange, *api.Vault, url.Values) error) operation {
	return act(func(x *exchange, form url.Values) error {
		if err := x.enterVault(); err != nil {
			return err
		}
		return do(x, x.vault, form)
	})
}

// asked makes a request of what the path and the query say. For a page, that is all
// of it, and held against its rules; what a form says is for its handler to put in,
// and then to [exchange.check].
func asked[Req request](x *exchange) (*Req, error) {
	in := x.input()
	in.hasBody = false
	req := new(Req)
	wrong := api.Fields{Subgroups: x.Subgroups}
	if err := newBinder(reflect.TypeFor[Req]()).fill(reflect.ValueOf(req).Elem(), in, &wrong); err != nil {
		return nil, err
	}
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		(*req).Check(&wrong)
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return req, nil
}

// check holds a request against the rules for its fields.
func (x *exchange) check(req request) error {
	wrong := api.Fields{Subgroups: x.Subgroups}
	req.Check(&wrong)
	if err := wrong.Err(); err != nil {
		return err
	}
	return nil
}

// notOnAPage are the errors that a form cannot be shown again with.
var notOnAPage = map[api.Code]bool{api.Unauthorized: true, api.Internal: true, api.Sealed: true, api.Timeout: true}

// again shows the page of a form once more, saying why it was not done. The fields
// to keep are shown with what was typed into them; a field that may hold a secret
// value belongs there only if it is the one that is being edited. Fields of forms
// are named as in the API, so that a complaint finds its field.
func (x *exchange) again(failure error, form url.Values, keep []string, page func(web.Form) (web.Page, error)) error {
	e, ok := errors.AsType[*api.Error](failure)
	if !ok || notOnAPage[e.Code] {
		return failure
	}
	f := web.Form{Values: make(map[string]string), Problems: make(map[string]string), Problem: e.Message}
	for _, name := range keep {
		f.Values[name] = form.Get(name)
	}
	if len(e.Fields) > 0 {
		f.Problem = "Nothing was changed. Look at what is marked, and send it again."
	}
	for _, wrong := range e.Fields {
		if _, shown := form[wrong.Field]; shown {
			f.Problems[wrong.Field] = wrong.Message
		} else {
			f.Problem = e.Message
		}
	}
	x.advise(e)
	p, err := page(f)
	if err != nil {
		return err
	}
	return x.show(kinds[e.Code].status, p)
}

// done leads to a page that says what was done.
func (x *exchange) done(page string, n notice) {
	if notices[n] == "" {
		panic(fmt.Sprintf("httpd: internal error: no text for the notice %q", n))
	}
	x.setCookie(noticeCookie, "/", string(n), x.Now().Add(time.Minute))
	x.leadTo(page)
}

// notice names a text that is shown once, on the page after a form. A cookie takes
// it there: the browser learns nothing but which of our own texts it is.
type notice string

const noticeCookie = "coffer_notice"

// Notices, with their texts below.
const (
	sessionEnded notice = "session-ended"
	vaultCreated notice = "vault-created"
	rolledBack   notice = "rolled-back"
)

var notices = map[notice]string{
	sessionEnded: "The session has ended.",
	vaultCreated: "The vault is there, with three environments to begin with.",
	rolledBack:   "The environment holds again what it held then. What is newer is in the trash, and old values are versions.",
}

// notice is what was just done, to be shown now and never again.
func (x *exchange) notice() string {
	n := x.cookie(noticeCookie)
	if n != "" {
		x.dropCookie(noticeCookie, "/")
	}
	return notices[notice(n)]
}

// pager leads through a list, by links to the page that is asked for with another
// offset. It is empty where everything is shown.
func (x *exchange) pager(limit, offset, shown, total int) web.Pager {
	p := web.Pager{From: offset + 1, To: offset + shown, Total: total}
	if offset > 0 {
		p.Previous = x.withOffset(max(0, min(offset, total)-limit))
	}
	if p.To < total && shown > 0 {
		p.Next = x.withOffset(offset + limit)
	}
	return p
}

// withOffset is the address that is asked for, with another offset.
func (x *exchange) withOffset(n int) string {
	q := x.r.URL.Query()
	q.Del("offset")
	if n > 0 {
		q.Set("offset", fmt.Sprint(n))
	}
	return withQuery(x.r.URL.EscapedPath(), q)
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
