package httpd

import (
	"net/http"
	"net/url"

	"coffer/server/api"
	"coffer/web"
)

const unsealPath = "/unseal"

func unsealPages() []route {
	return []route{
		{method: get, path: unsealPath, bucket: inGeneral, run: always(unsealPage)},
		{method: post, path: unsealPath, bucket: exempt, run: always(trying(unsealInBrowser))},
	}
}

// unsealPage says that the vault is sealed, and what opens it.
func unsealPage(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	back, err := x.askedBack()
	if err != nil {
		return err
	}
	if x.gate.State() != api.StateSealed {
		x.leadTo(back)
		return nil
	}
	return x.show(http.StatusOK, x.unsealForm(back, ""))
}

func (x *exchange) unsealForm(back, problem string) web.Unseal {
	st := x.Warden.Status(x.ctx)
	p := web.Unseal{Problem: problem, Last: st.LastError, Return: ownPage(back)}
	if p.Return == "/" {
		p.Return = ""
	}
	p.Methods = shownMethods(st.Methods)
	for _, a := range st.Attempts {
		p.Attempts = append(p.Attempts, web.UnsealAttempt{Way: a.Way, Reason: a.Reason})
	}
	if g := st.Shares; g != nil {
		p.Given = &web.GivenShares{Given: g.Given, Threshold: g.Threshold, Missing: g.Missing, Fingerprint: g.Fingerprint, Until: g.ExpiresAt.Time}
	}
	return p
}

func shownMethods(all []api.UnsealMethod) []web.UnsealMethod {
	shown := make([]web.UnsealMethod, 0, len(all))
	for _, m := range all {
		shown = append(shown, shownUnsealMethod(m))
	}
	return shown
}

func shownUnsealMethod(m api.UnsealMethod) web.UnsealMethod {
	return web.UnsealMethod{Kind: m.Kind, Fingerprint: m.Fingerprint, Since: m.CreatedAt.Time, Threshold: m.Threshold, Total: m.Total}
}

// unsealInBrowser tries a key that somebody typed, pasted or chose a file for. An
// empty form is no key: to have the configured one tried takes its own button.
func unsealInBrowser(x *exchange, form url.Values) error {
	if x.gate.State() == api.StateOK { // somebody else was faster
		x.leadTo(ownPage(form.Get("return")))
		return nil
	}
	req, err := unsealWith(form)
	if err == nil {
		err = x.Warden.Unseal(x.ctx, req)
	}
	if err == nil {
		back := ownPage(form.Get("return"))
		if x.gate.State() == api.StateSealed { // more shares are needed
			back = unsealPath + "?return=" + url.QueryEscape(back)
		}
		x.leadTo(back)
		return nil
	}
	e := x.public(err)
	if e.Code != api.Forbidden && e.Code != api.Invalid {
		return err
	}
	return x.show(kinds[e.Code].status, x.unsealForm(form.Get("return"), e.Message))
}

func unsealWith(form url.Values) (api.Unseal, error) {
	secret := func(text string) *api.Secret {
		s := api.NewSecret(text)
		return &s
	}
	switch {
	case form.Get("configured") != "":
		return api.Unseal{}, nil
	case form.Get("passphrase") != "":
		return api.Unseal{Passphrase: secret(form.Get("passphrase"))}, nil
	case form.Get("share") != "":
		return api.Unseal{Share: secret(form.Get("share"))}, nil
	case looksLikeShare(form.Get("file")):
		return api.Unseal{Share: secret(form.Get("file"))}, nil
	case form.Get("file") != "":
		return api.Unseal{Key: secret(form.Get("file"))}, nil
	case looksLikeShare(form.Get("key")):
		return api.Unseal{Share: secret(form.Get("key"))}, nil
	case form.Get("key") != "":
		return api.Unseal{Key: secret(form.Get("key"))}, nil
	default:
		return api.Unseal{}, api.Errorf(api.Forbidden, "Nothing was given. Type the passphrase, paste the key, or choose the file that it is in.")
	}
}
