package httpd

import (
	"net/http"
	"net/url"
	"strings"

	"coffer/server/api"
	"coffer/web"
)

// rotationPages are the forms about the keys that everything is sealed under. They
// stand on the page of what opens the server.
func rotationPages() []route {
	return []route{
		{method: post, path: unsealMethodsPath + "/rekey", bucket: inGeneral, run: act(throttled(rekeyOnPage))},
		{method: post, path: unsealMethodsPath + "/rotate", bucket: inGeneral, run: act(rotateOnPage)},
	}
}

// masterKey is that part of the page.
func (x *exchange) masterKey(forms map[string]web.Form, once string) (web.MasterKey, error) {
	r, err := x.Warden.Rotations(x.ctx, x.who, api.Empty{})
	if err != nil {
		return web.MasterKey{}, err
	}
	k := web.MasterKey{Fingerprint: r.Fingerprint, Since: r.MasterSince.Time, Rekey: forms["rekey"], Rotate: forms["rotate"], Once: once}
	for _, o := range r.UnderWay {
		what := map[string]string{
			api.RotationRoot: "The root key is being", api.RotationAll: "The data keys of all vaults are being",
			api.RotationVault: "The data key of " + o.RepoFullName + " is being",
		}[o.Of]
		k.UnderWay = append(k.UnderWay, web.Rotation{What: what, Since: o.StartedAt.Time, Done: o.Done, Total: o.Total})
	}
	return k, nil
}

// withForm shows the page again with one form as it was left.
func (x *exchange) withForm(name string) func(web.Form) (web.Page, error) {
	return func(f web.Form) (web.Page, error) { return x.unsealMethods(map[string]web.Form{name: f}, "") }
}

func rekeyOnPage(x *exchange, form url.Values) error {
	once := form.Get("once")
	if n := len(once); n == 0 || n > maxOnce {
		return errNoDeed
	}
	if x.made.has(once) {
		return api.Errorf(api.Conflict, "This form replaced the master key already. A recovery key that was not saved is not shown again: replace the key once more, with a new recovery key.")
	}
	req := api.Rekey{Proof: proofIn(form), NewRecoveryKey: form.Get("newRecoveryKey") == "true"}
	var made *api.Rekeyed
	err := x.typed(form, "rekey")
	if err == nil {
		made, err = x.Warden.Rekey(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, nil, x.withForm("rekey"))
	}
	x.made.add(once, x.Now())
	if made.Warning != "" && made.RecoveryKey == nil {
		return &api.Error{Code: api.Unavailable, Message: made.Warning}
	}
	if made.RecoveryKey == nil {
		x.done(unsealMethodsPath, masterKeyReplaced)
		return nil
	}
	p := web.MadeUnsealMethod{Frame: x.frame(), Tabs: x.operatorTabs(), Key: string(*made.RecoveryKey), Warning: made.Warning}
	for _, m := range made.Methods {
		if m.Kind == api.MethodRecovery {
			p.Method = shownOperatorMethod(api.OperatorUnsealMethod{UnsealMethod: m})
		}
	}
	return x.show(http.StatusOK, p)
}

// typed wants a word typed into the field confirm.
func (x *exchange) typed(form url.Values, word string) error {
	if strings.TrimSpace(form.Get("confirm")) == word {
		return nil
	}
	form.Set("confirm", form.Get("confirm")) // so that the complaint finds its field
	return api.InvalidField("confirm", api.UnknownValue, "Type exactly %s. Nothing was done.", word)
}

func rotateOnPage(x *exchange, form url.Values) error {
	req := api.Rotate{RepoFullName: strings.TrimSpace(form.Get("repoFullName"))}
	switch form.Get("do") {
	case "one":
	case "all":
		req = api.Rotate{All: true}
	default:
		return errNoDeed
	}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.Rotate(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"repoFullName"}, x.withForm("rotate"))
	}
	x.done(unsealMethodsPath, rotationBegun)
	return nil
}
