package httpd

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	setupPath   = "/setup"
	restorePath = setupPath + "/restore"
	setupCookie = "coffer_setup" // the ticket of the browser that sets the server up

	localForge = "local" // the kind of the built-in code host
)

// setupPages are the first run: a form for each step, and one address that shows
// whichever is due.
func setupPages() []route {
	return append(firstVaultPages(), []route{
		{method: get, path: setupPath, bucket: inGeneral, run: always(setup)},
		{method: post, path: setupPath + "/claim", bucket: exempt, run: always(trying(claimSetup))},
		{method: post, path: restorePath, bucket: exempt, run: always(restoreSetup)},
		{method: post, path: setupPath + "/method", bucket: exempt, run: setupStep(chooseMethod)},
		{method: post, path: setupPath + "/another", bucket: exempt, run: setupStep(anotherKey)},
		{method: post, path: setupPath + "/check", bucket: exempt, run: setupStep(checkKey)},
		{method: post, path: setupPath + "/user", bucket: exempt, run: setupStep(finishSetup)},
		{method: post, path: setupPath + "/leave", bucket: exempt, run: setupStep(leaveSetup)},
		{method: post, path: setupPath + "/recovery-key", bucket: inGeneral, run: always(downloadKey)},
	}...)
}

// trying is the operation of a form that tries a key or makes one. It has the
// throttle of those.
func trying(do func(*exchange, url.Values) error) operation {
	return func(x *exchange) error {
		if err := x.ours(); err != nil {
			return err
		}
		form, err := x.form()
		if err != nil {
			return err
		}
		if err := x.enterThrottle(); err != nil {
			return err
		}
		defer x.unseals.leave()
		return do(x, form)
	}
}

// setupStep is the operation of a form of the browser that sets the server up.
// Another one learns where that begins.
func setupStep(do func(*exchange, api.Secret, url.Values) error) operation {
	return always(trying(func(x *exchange, form url.Values) error {
		err := do(x, x.ticket(), form)
		if api.CodeOf(err) == api.Unauthorized {
			return x.claimAgain(err)
		}
		return err
	}))
}

func (x *exchange) ticket() api.Secret { return api.NewSecret(x.cookie(setupCookie)) }

// claimAgain asks for the claim token, and says why that is necessary.
func (x *exchange) claimAgain(err error) error {
	x.dropCookie(setupCookie, x.pages.Path(setupPath))
	e := x.public(err)
	return x.show(kinds[api.Forbidden].status, web.Setup{Form: web.Form{Problem: e.Message}})
}

// setup shows the step that is due.
func setup(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	if x.gate.State() != api.StateUninitialized {
		return x.show(http.StatusOK, web.Message{Heading: "This server is set up already",
			Text: "Nobody can set it up a second time.", Next: []web.Link{{Text: "Home", Path: "/"}}})
	}
	if x.cookie(setupCookie) == "" {
		return x.show(http.StatusOK, web.Setup{})
	}
	s, err := x.Warden.Setting(x.ctx, x.ticket())
	if api.CodeOf(err) == api.Unauthorized {
		return x.claimAgain(err)
	}
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, x.dueStep(s, web.Form{}))
}

// dueStep is the page of the step that is due.
func (x *exchange) dueStep(s *warden.Setting, f web.Form) web.Page {
	switch {
	case s.Step == warden.StepRestore:
		return web.SetupRestore{Form: f, Until: s.Expires}
	case s.Step == warden.StepUser:
		st := x.Warden.Status(x.ctx)
		return web.SetupUser{Form: f, Forge: x.forgeName(), ForgeURL: st.Forge.URL, Until: s.Expires}
	case s.RecoveryKey != "":
		return web.SetupKey{Key: string(s.RecoveryKey), Groups: groupsOf(string(s.RecoveryKey)),
			Fingerprint: s.Fingerprint, KeyFile: s.KeyFile, Until: s.Expires}
	case s.Step == warden.StepRecovery:
		return web.SetupCheck{Form: f, Group: s.Group, From: (s.Group-1)*warden.RecoveryGroup + 1,
			To: s.Group * warden.RecoveryGroup, Until: s.Expires}
	default:
		return web.SetupMethod{Form: f, KeyFile: s.KeyFile, Until: s.Expires}
	}
}

// groupsOf cuts a recovery key for people to count.
func groupsOf(key string) []string {
	var all []string
	for ; len(key) > warden.RecoveryGroup; key = key[warden.RecoveryGroup:] {
		all = append(all, key[:warden.RecoveryGroup])
	}
	return append(all, key)
}

// ticketTime is how long a browser keeps its ticket. How long it is good for is
// the warden's business.
const ticketTime = 24 * time.Hour

func claimSetup(x *exchange, form url.Values) error {
	ticket, err := x.Warden.ClaimSetup(x.ctx, api.NewSecret(form.Get("claim")))
	if err == nil && form.Get("kind") == "restore" {
		err = x.Warden.ChooseRestore(x.ctx, ticket)
	}
	if err != nil {
		return x.again(err, form, []string{"kind"}, func(f web.Form) (web.Page, error) { return web.Setup{Form: f}, nil })
	}
	x.setCookie(setupCookie, x.pages.Path(setupPath), ticket.Reveal(), x.Now().Add(ticketTime))
	x.leadTo(setupPath)
	return nil
}

// goOn leads to the step that is due now, or shows this one again.
func (x *exchange) goOn(failure error, ticket api.Secret, form url.Values, keep ...string) error {
	if failure == nil {
		x.leadTo(setupPath)
		return nil
	}
	return x.again(failure, form, keep, func(f web.Form) (web.Page, error) {
		s, err := x.Warden.Setting(x.ctx, ticket)
		if err != nil {
			return nil, err
		}
		return x.dueStep(s, f), nil
	})
}

// twice refuses what was to be typed twice and was not.
func twice(form url.Values, field string) error {
	if form.Get(field) != form.Get("again") {
		return api.InvalidField("again", api.NotAllowed, "They differ. Type both again.")
	}
	return nil
}

func chooseMethod(x *exchange, ticket api.Secret, form url.Values) error {
	req := api.Setup{KeyFile: form.Get("method") == api.MethodKeyFile}
	var err error
	if form.Get("method") == api.MethodPassphrase {
		passphrase := api.NewSecret(form.Get("passphrase"))
		req.Passphrase = &passphrase
		err = twice(form, "passphrase")
	}
	if err == nil {
		err = x.check(req)
	}
	if err == nil {
		err = x.Warden.ChooseMethod(x.ctx, ticket, req)
	}
	return x.goOn(err, ticket, form, "method")
}

func anotherKey(x *exchange, ticket api.Secret, form url.Values) error {
	return x.goOn(x.Warden.AnotherRecoveryKey(x.ctx, ticket), ticket, form)
}

func checkKey(x *exchange, ticket api.Secret, form url.Values) error {
	return x.goOn(x.Warden.CheckRecoveryKey(x.ctx, ticket, api.NewSecret(form.Get("characters"))), ticket, form)
}

func finishSetup(x *exchange, ticket api.Secret, form url.Values) error {
	var first *api.NewOperator
	if x.gate.ForgeKind() == localForge {
		first = &api.NewOperator{Username: form.Get("username"), Password: api.NewSecret(form.Get("password"))}
		if err := checkFirst(first, form); err != nil {
			return x.goOn(err, ticket, form, "username")
		}
	}
	s, err := x.Warden.FinishSetup(x.ctx, ticket, x.credential(), first)
	if err != nil {
		return x.goOn(err, ticket, form, "username")
	}
	x.dropCookie(setupCookie, x.pages.Path(setupPath))
	if s == nil {
		x.leadTo(signInPath + "?return=" + url.QueryEscape(firstVaultPath))
		return nil
	}
	x.beginSession(s, firstVaultPath)
	return nil
}

// checkFirst holds name and password against their rules.
func checkFirst(u *api.NewOperator, form url.Values) error {
	var wrong api.Fields
	api.CheckUsername(&wrong, "username", u.Username)
	api.CheckPassword(&wrong, "password", u.Password)
	if err := wrong.Err(); err != nil {
		return err
	}
	return twice(form, "password")
}

func leaveSetup(x *exchange, ticket api.Secret, _ url.Values) error {
	if err := x.Warden.LeaveSetup(x.ctx, ticket); err != nil {
		return err
	}
	x.dropCookie(setupCookie, x.pages.Path(setupPath))
	x.leadTo(setupPath)
	return nil
}

var recoveryForm = regexp.MustCompile(`^AGE-SECRET-KEY-PQ-1[0-9A-Z]{20,200}$`)

// downloadKey gives a recovery key back as a file. It comes from the page that
// shows it: the server has it no longer.
func downloadKey(x *exchange) error {
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
	key := form.Get("key")
	if !recoveryForm.MatchString(key) {
		return api.Errorf(api.BadRequest, "This is no recovery key. Go back and copy it from the page.")
	}
	h := x.w.Header()
	h["Content-Type"] = textType
	h.Set("Content-Disposition", `attachment; filename="coffer-recovery-key.txt"`)
	x.write(http.StatusOK, recoveryFile(x.PublicURL, key))
	return nil
}

// recoveryFile is the text of a file with a recovery key. It opens the vault as it
// is: lines that begin with # are comments.
func recoveryFile(server, key string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Recovery key of the coffer server at %s\n# Whoever has this file and the data can read all secrets.\n# In groups of %d:\n", server, warden.RecoveryGroup)
	for i, group := range groupsOf(key) {
		fmt.Fprintf(&b, "# %2d  %s\n", i+1, group)
	}
	fmt.Fprintln(&b, key)
	return b.Bytes()
}
