package httpd

import (
	"context"
	"net/http"
	"net/url"
	"regexp"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// Fields of the device login's forms.
const (
	userCodeField = "user_code" // also in the address that a program shows
	confirmField  = "confirm_token"
)

// devicePages are where people sign programs in. Only forms of ours do anything:
// to open a link, whoever made it, changes nothing.
func devicePages() []route {
	return []route{
		{method: get, path: devicePath, bucket: inGeneral, run: screen(askForCode)},
		{method: post, path: devicePath, bucket: inVerify, run: filledIn(showProgram)},
		{method: post, path: devicePath + "/approve", bucket: inGeneral, run: filledIn(decideOn((*door).ApproveDevice))},
		{method: post, path: devicePath + "/deny", bucket: inGeneral, run: filledIn(decideOn((*door).DenyDevice))},
	}
}

// askForCode asks for a code. One in the address is only filled in: who made the
// link may have made the code as well.
func askForCode(x *exchange) error {
	if err := x.identify(); err != nil {
		return err
	}
	if err := x.limit(); err != nil {
		return err
	}
	return x.show(http.StatusOK, web.Device{Frame: x.frame(), Code: shownCode(x.r.URL.Query().Get(userCodeField))})
}

var codeForm = regexp.MustCompile(`^ *[A-Za-z0-9]{5}-?[A-Za-z0-9]{5} *$`)

// shownCode is what a page repeats of a code: nothing of what can be none, since
// an address can hold any message to whoever opens it.
func shownCode(text string) string {
	if !codeForm.MatchString(text) {
		return ""
	}
	return text
}

// deviceOn is the code that a page of ours is about, or "".
func deviceOn(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Path != devicePath {
		return ""
	}
	return shownCode(u.Query().Get(userCodeField))
}

// showProgram shows what a code would sign in, and asks.
func showProgram(x *exchange, form url.Values) error {
	code := form.Get(userCodeField)
	v, err := x.Warden.VerifyDevice(x.ctx, x.who, api.VerifyDevice{UserCode: code})
	if e := x.missing(err); e != nil {
		return x.show(kinds[e.Code].status, web.Device{Frame: x.frame(), Code: shownCode(code), Problem: e.Message})
	}
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, x.confirmation(v))
}

func (x *exchange) confirmation(v *api.VerifiedDevice) web.Confirm {
	p := web.Confirm{
		Frame: x.frame(), Code: v.UserCode, Confirm: string(v.ConfirmToken),
		Requested: v.RequestedAt.Time, Expires: v.ExpiresAt.Time, Now: x.Now(),
	}
	for to, from := range map[*string]*string{&p.Repository: v.Repository, &p.Where: v.RequestIP, &p.With: v.UserAgent} {
		if from != nil {
			*to = *from
		}
	}
	p.Install = x.Warden.InstallOffer(x.ctx, x.who, p.Repository)
	return p
}

// decided is what people read after their decision.
var decided = map[string]web.Message{
	api.DeviceApproved: {Heading: "The program is signed in",
		Text: "Go back to it, it goes on by itself. Its session is listed with your account, where you can end it at any time."},
	api.DeviceDenied: {Heading: "The program was refused",
		Text: "It was not signed in, and never will be with this code. If you have not started it, you did the right thing."},
}

// decideOn carries out what somebody decided.
func decideOn(decide func(*door, context.Context, warden.Caller, api.DecideDevice) (*api.DecidedDevice, error)) func(*exchange, url.Values) error {
	return func(x *exchange, form url.Values) error {
		done, err := decide(x.Warden, x.ctx, x.who, api.DecideDevice{ConfirmToken: api.NewSecret(form.Get(confirmField))})
		if e := x.missing(err); e != nil {
			return x.show(kinds[e.Code].status, web.Message{Frame: x.frame(), Heading: "Nothing was decided", Text: e.Message,
				Next: []web.Link{{Text: "Enter a code", Path: devicePath}, {Text: "Home", Path: "/"}}})
		}
		if err != nil {
			return err
		}
		m := decided[done.Status]
		m.Frame, m.Next = x.frame(), []web.Link{{Text: "Home", Path: "/"}}
		return x.show(http.StatusOK, m)
	}
}

// filledIn is the operation of a form that somebody sends who is signed in.
func filledIn(run func(*exchange, url.Values) error) operation {
	return screen(func(x *exchange) error {
		err := x.identify()
		if api.CodeOf(err) == api.Unauthorized {
			return x.signInForCode()
		}
		if err != nil {
			return err
		}
		if err := x.limit(); err != nil {
			return err
		}
		form, err := x.form()
		if err != nil {
			return err
		}
		return run(x, form)
	})
}

// signInForCode leads whoever is signed in no more to do so, and back to the code.
func (x *exchange) signInForCode() error {
	page := devicePath
	if form, err := x.form(); err == nil && shownCode(form.Get(userCodeField)) != "" {
		page += "?" + url.Values{userCodeField: {form.Get(userCodeField)}}.Encode()
	}
	x.dropSession()
	x.leadTo(signInPath + "?return=" + url.QueryEscape(page))
	return nil
}

// missing is an error that something is not there, or nil for any other.
func (x *exchange) missing(err error) *api.Error {
	if api.CodeOf(err) != api.NotFound {
		return nil
	}
	return x.public(err)
}
