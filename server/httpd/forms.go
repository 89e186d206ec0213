package httpd

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
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
	if err == nil && x.vault.IsReadOnly {
		x.plan, err = x.Warden.VaultPlan(x.ctx, x.who, *ref)
	}
	if err != nil {
		x.vault = nil
	}
	return err
}

// act is the operation of a form. It is taken from our own pages only. Whoever is
// signed in no more gets it back, to send it again.
func act(do func(*exchange, url.Values) error) operation {
	return screen(func(x *exchange) error {
		if err := x.ours(); err != nil {
			return err
		}
		if err := x.known(); err != nil {
			return x.keep(err)
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
	if e.UpgradeURL == x.PublicURL+upgradePath {
		f.Plans = upgradePath
	}
	for _, wrong := range e.Fields {
		if name, message := complaint(wrong, form); form.Has(name) {
			f.Problems[name] = cmp.Or(f.Problems[name], message)
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

// againUnlessRefused is again for a page whose forms are for those who may use
// them: to anybody else they are not shown.
func (x *exchange) againUnlessRefused(failure error, form url.Values, keep []string, page func(web.Form) (web.Page, error)) error {
	if api.CodeOf(failure) == api.Forbidden {
		return failure
	}
	return x.again(failure, form, keep, page)
}

// complaint says which field of a form something is wrong with. What a list of the
// API holds is in one field of a form.
func complaint(wrong api.FieldError, form url.Values) (name, message string) {
	list, place, inList := strings.Cut(wrong.Field, ".")
	n, err := strconv.Atoi(place)
	if !inList || err != nil || form.Has(wrong.Field) {
		return wrong.Field, wrong.Message
	}
	return list, fmt.Sprintf("Number %d in the list: %s", n+1, wrong.Message)
}

// errNoDeed means that a form asks for something that its page does not have.
var errNoDeed = api.Errorf(api.BadRequest, "The form asks for nothing that this page can do. Go back, load the page again and send it once more.")

// confirmed wants the text to be typed that stands for what will be gone for good.
func confirmed(form url.Values, text string) error {
	if strings.TrimSpace(form.Get("confirm")) == text {
		return nil
	}
	form.Set("confirm", form.Get("confirm")) // so that the complaint finds its field
	return api.InvalidField("confirm", api.UnknownValue, "Type exactly %s. Nothing was deleted.", text)
}

// done leads to a page that says what was done. With what it was done to, that page
// can offer to undo it.
func (x *exchange) done(page string, n notice, to ...string) {
	if notices[n] == "" {
		panic(fmt.Sprintf("httpd: internal error: no text for the notice %q", n))
	}
	if len(to) > maxUndo {
		to = nil
	}
	x.setCookie(noticeCookie, "/", strings.Join(append([]string{string(n)}, to...), "."), x.Now().Add(time.Minute))
	x.leadTo(page)
}

// notice names a text that is shown once, on the page after a form. A cookie takes
// it there: the browser learns nothing but which of our own texts it is, and the ids
// of the secrets that it is about where that can be undone.
type notice string

const noticeCookie = "coffer_notice"

// maxUndo is of how many secrets the ids fit into a cookie.
const maxUndo = 64

// Notices, with their texts below.
const (
	sessionEnded notice = "session-ended"
	vaultCreated notice = "vault-created"
	jobRun       notice = "job-run"
	backupRun    notice = "backup-run"
	drillRun     notice = "drill-run"
	userAdded    notice = "user-added"

	dataCompacted  notice = "data-compacted"
	dataCompacting notice = "data-compacting"
	vaultErased    notice = "vault-erased"
	vaultErasing   notice = "vault-erasing"

	userDisabled notice = "user-disabled"
	passwordSet  notice = "password-set"
	userEnabled  notice = "user-enabled"
	orgAdded     notice = "org-added"
	repoAdded    notice = "repo-added"
	roleSet      notice = "role-set"
	keyRevoked   notice = "key-revoked"

	environmentCreated notice = "environment-created"
	environmentRenamed notice = "environment-renamed"
	environmentRetyped notice = "environment-retyped"
	environmentDeleted notice = "environment-deleted"
	environmentMoved   notice = "environment-moved"

	overrideCreated notice = "override-created"
	overrideChanged notice = "override-changed"
	overrideRemoved notice = "override-removed"
	overridesReset  notice = "overrides-reset"

	secretRestored  notice = "secret-restored"
	secretDestroyed notice = "secret-destroyed"
	trashEmptied    notice = "trash-emptied"
	vaultDeleted    notice = "vault-deleted"

	orgRenamed     notice = "org-renamed"
	orgDefaultsSet notice = "org-defaults-set"
	rosterRead     notice = "roster-read"

	versionRestored notice = "version-restored"
	valueSet        notice = "value-set"
	secretRenamed   notice = "secret-renamed"
	secretTrashed   notice = "secret-trashed" // can be undone
	secretBack      notice = "secret-back"
	fileImported    notice = "file-imported"
	rolledBack      notice = "rolled-back"

	connectionMade    notice = "connection-made"
	connectionRemoved notice = "connection-removed"
	linkSaved         notice = "link-saved"
	linkAuto          notice = "link-auto"
	linkForgotten     notice = "link-forgotten"
	syncStopped       notice = "sync-stopped"

	trialStarted notice = "trial-started"

	unsealMethodAdded   notice = "unseal-method-added"
	unsealMethodRemoved notice = "unseal-method-removed"
	lastRecoveryRemoved notice = "last-recovery-removed"
	masterKeyReplaced   notice = "master-key-replaced"
	rotationBegun       notice = "rotation-begun"
)

var notices = map[notice]string{
	sessionEnded: "The session has ended.",
	fileImported: "What you chose is stored.",
	vaultCreated: "The vault is there, with three environments to begin with.",
	jobRun:       "The job was done, or is being done.",
	backupRun:    "The backup was made, or is being made.",
	drillRun:     "The newest backup is tried. How that goes is said here.",
	userAdded:    "The user can sign in now.",
	passwordSet:  "The new password is good from now on. The user is signed out everywhere.",

	dataCompacted:  "The data file was written anew.",
	dataCompacting: "The data file is being written anew.",
	vaultErased:    "The vault is erased: nothing of it is left in the data file.",
	vaultErasing:   "The vault is deleted and its keys are destroyed. What is left of it in the data file goes when the data are compacted.",

	userDisabled: "The user is signed out everywhere, and is let in no more.",
	userEnabled:  "The user can sign in again.",
	orgAdded:     "The organization is there. It has no members yet.",
	repoAdded:    "The repository is there.",
	roleSet:      "The role is set.",
	keyRevoked:   "The key is revoked.",

	environmentCreated: "The environment is there.",
	environmentRenamed: "The environment has its new name.",
	environmentRetyped: "The environment has its new type.",
	environmentDeleted: "The environment is gone, with everything in it.",
	environmentMoved:   "The environment has its new place.",

	overrideCreated: "The override holds from now on.",
	overrideChanged: "The override is changed.",
	overrideRemoved: "The override is removed.",
	overridesReset:  "All overrides are removed.",

	secretRestored:  "The secret is back in its environment.",
	secretDestroyed: "The secret is gone for good.",
	trashEmptied:    "The trash is empty, but for what you may not change.",
	vaultDeleted:    "The vault is gone, with everything in it.",

	orgRenamed:     "The name is saved.",
	orgDefaultsSet: "The permissions hold from now on.",
	rosterRead:     "The roster was read just now.",

	versionRestored: "The old value is the current one again, as a new version.",
	valueSet:        "The value is set.",
	secretRenamed:   "The secret has its new name.",
	secretTrashed:   "The secret is in the trash.",
	secretBack:      "The secret is out of the trash again.",
	rolledBack:      "The environment holds again what it held then. What is newer is in the trash, and old values are versions.",

	connectionMade:    "You are connected. To sync, open a vault and its page Integrations.",
	connectionRemoved: "The connection is gone, with the syncs that were saved through it.",
	linkSaved:         "The sync is saved. It is done by hand.",
	linkAuto:          "The sync is saved. It is done by itself, soon after every change.",
	linkForgotten:     "The sync is forgotten. What was synced stays where it is.",
	syncStopped:       "The sync stops as soon as the provider has answered. What was done stays done.",

	trialStarted: "The trial has begun.",

	unsealMethodAdded:   "It opens the server from now on.",
	unsealMethodRemoved: "It opens the server no more.",
	masterKeyReplaced:   "The master key is replaced. What opened the server opens it still.",
	rotationBegun:       "New values are sealed under a new key from now on. The others follow.",
	lastRecoveryRemoved: "The last recovery key is removed. Make a new one: whoever loses what is left loses everything.",
}

// notice is what was just done, to be shown now and never again, and the secrets
// with which it can be undone.
func (x *exchange) notice() (text, undo string) {
	n := x.cookie(noticeCookie)
	if n == "" {
		return "", ""
	}
	x.dropCookie(noticeCookie, "/")
	n, secrets, _ := strings.Cut(n, ".")
	if notice(n) == secretTrashed && x.vault != nil {
		undo = secrets
	}
	return notices[notice(n)], undo
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
