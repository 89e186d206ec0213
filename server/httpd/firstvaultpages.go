package httpd

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	firstVaultPath = setupPath + "/vault"
	readyPath      = firstVaultPath + "/:owner/:repo"
)

// firstVaultPages make a vault of a .env file, and show how to use it.
func firstVaultPages() []route {
	return []route{
		{method: get, path: firstVaultPath, bucket: inGeneral, run: signedIn(firstVault)},
		{method: post, path: firstVaultPath, bucket: inGeneral, run: act(takeEnvFile)},
		{method: get, path: readyPath, bucket: inGeneral, run: inVault(readyVault)},
		{method: post, path: readyPath, bucket: inGeneral, run: actInVault(keyForReady)},
	}
}

func firstVault(x *exchange) (web.Page, error) {
	return web.FirstVault{Frame: x.frame()}, nil
}

// takeEnvFile shows what a file holds or, when that was seen, stores it.
func takeEnvFile(x *exchange, form url.Values) error {
	text := form.Get("text")
	if file := form.Get("file"); file != "" {
		text = file
	}
	found := warden.ReadEnvFile(api.NewSecret(text))
	page := func(f web.Form) (web.Page, error) {
		return web.FirstVault{Frame: x.frame(), Form: f, Text: text, Found: shownEnvFile(found), Forge: x.forgeName()}, nil
	}
	fields := []string{"repoFullName", "environment"}
	if form.Get("do") != "store" || text != form.Get("text") {
		return x.showPage(page(web.Form{Values: map[string]string{
			"repoFullName": cmp.Or(form.Get("repoFullName"), x.ownNamespace()),
			"environment":  cmp.Or(form.Get("environment"), "development"),
		}}))
	}
	push := api.PushSecrets{
		RepoFullName: form.Get("repoFullName"), Environment: form.Get("environment"),
		Secrets: found.Values(), Mode: new(api.ModeMerge),
	}
	v, err := x.storeFirst(push)
	if err != nil {
		return x.again(err, form, fields, page)
	}
	x.leadTo(readyOf(v) + "?environment=" + url.QueryEscape(push.Environment))
	return nil
}

// ownNamespace is how the repositories begin that the caller has without anybody
// else, or "".
func (x *exchange) ownNamespace() string {
	if x.gate.ForgeKind() != localForge {
		return ""
	}
	return x.who.Username() + "/"
}

func shownEnvFile(f *warden.EnvFile) *web.EnvFile {
	shown := &web.EnvFile{}
	for _, e := range f.Entries {
		shown.Keys = append(shown.Keys, web.EnvKey{Name: e.Key, Line: e.Line})
	}
	for _, p := range f.Problems {
		shown.Problems = append(shown.Problems, web.EnvProblem{Line: p.Line, Text: p.Text})
	}
	return shown
}

// storeFirst pushes into an environment, and makes it and its vault where they are
// not there yet.
func (x *exchange) storeFirst(push api.PushSecrets) (*api.Vault, error) {
	if err := x.check(push); err != nil {
		return nil, err
	}
	_, err := x.Warden.CreateVault(x.ctx, x.who, api.CreateVault{RepoFullName: push.RepoFullName})
	if err != nil && api.CodeOf(err) != api.Conflict { // it is there already
		return nil, err
	}
	owner, repo, _ := api.SplitRepo(push.RepoFullName)
	ref := api.Ref{Owner: owner, Repo: repo}
	v, err := x.Warden.Vault(x.ctx, x.who, ref)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(v.Environments, push.Environment) {
		_, err := x.Warden.CreateEnvironment(x.ctx, x.who, api.CreateEnvironment{Ref: ref, Name: push.Environment})
		if err != nil && api.CodeOf(err) != api.Conflict {
			return nil, err
		}
	}
	if len(push.Secrets) == 0 {
		return v, nil
	}
	_, err = x.Warden.Push(x.ctx, x.who, push)
	return v, err
}

// readyOf is the path of the page that shows how a vault is used.
func readyOf(v *api.Vault) string {
	return firstVaultPath + "/" + url.PathEscape(v.RepoOwner) + "/" + url.PathEscape(v.RepoName)
}

func readyVault(x *exchange, v *api.Vault) (web.Page, error) {
	p, err := x.readyPage(v, x.r.URL.Query().Get("environment"))
	return p, err
}

// shownKeys is how many names fit into lines to paste.
const shownKeys = 20

func (x *exchange) readyPage(v *api.Vault, environment string) (web.Ready, error) {
	if !slices.Contains(v.Environments, environment) {
		if environment != "" || len(v.Environments) == 0 {
			return web.Ready{}, api.Errorf(api.NotFound, "This vault has no such environment.")
		}
		environment = v.Environments[0]
	}
	limit := shownKeys
	req := api.ListSecrets{Environment: environment}
	req.Owner, req.Repo, req.Limit = v.RepoOwner, v.RepoName, &limit
	all, err := x.Warden.Secrets(x.ctx, x.who, req)
	if err != nil {
		return web.Ready{}, err
	}
	p := web.Ready{
		Frame: x.frame(), Server: x.address(), Repository: v.RepoFullName, At: readyOf(v), Environment: environment,
		Count: all.Total, More: all.Total - len(all.Items),
		Form: web.Form{Values: map[string]string{"name": fmt.Sprintf("CI of %s", v.RepoFullName)}},
	}
	for _, s := range all.Items {
		p.Keys = append(p.Keys, s.Key)
	}
	return p, nil
}

// keyForReady makes an API key that can read, and shows it with the page, this
// once.
func keyForReady(x *exchange, v *api.Vault, form url.Values) error {
	p, err := x.readyPage(v, form.Get("environment"))
	if err != nil {
		return err
	}
	req := api.CreateAPIKey{Name: form.Get("name"), Environment: "live", Scopes: []string{api.ReadSecrets}}
	var made *api.CreatedAPIKey
	if err = x.check(req); err == nil {
		made, err = x.Warden.CreateKey(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"name"}, func(f web.Form) (web.Page, error) {
			p.Form = f
			return p, nil
		})
	}
	p.Token, p.KeyName = string(made.Token), made.Name
	return x.show(http.StatusOK, p)
}
