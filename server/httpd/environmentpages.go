package httpd

import (
	"net/url"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const (
	environmentsPath = vaultPath + "/environments"
	environmentPath  = environmentsPath + "/:name"
)

// environmentPages are about the environments of a vault.
func environmentPages() []route {
	return []route{
		{method: get, path: environmentsPath, bucket: inGeneral, run: inVault(environments)},
		{method: post, path: environmentsPath, bucket: inGeneral, run: actInVault(createEnvironment)},
		{method: get, path: environmentPath, bucket: inGeneral, run: inVault(environment)},
		{method: post, path: environmentPath, bucket: inGeneral, run: actInVault(changeEnvironment)},
	}
}

func environments(x *exchange, v *api.Vault) (web.Page, error) {
	return x.environments(v, web.Form{}), nil
}

// environments is the list, with the form for a new one as it was left.
func (x *exchange) environments(v *api.Vault, create web.Form) web.Page {
	p := web.Environments{
		Frame: x.frame(), ReadOnly: x.readOnly(v), Create: create, CanManage: useful(access.EnvironmentCreate, v.Permission),
	}
	for _, e := range v.EnvironmentDetails {
		p.Rows = append(p.Rows, environmentRow(v, e))
	}
	return p
}

func environmentRow(v *api.Vault, e api.EnvironmentDetail) web.EnvironmentRow {
	return web.EnvironmentRow{
		Name: e.Name, Type: e.Type, Secrets: e.SecretCount, Revision: e.Revision,
		At: pathOf(v.RepoOwner, v.RepoName) + "/environments/" + url.PathEscape(e.Name),
	}
}

func createEnvironment(x *exchange, v *api.Vault, form url.Values) error {
	req := api.CreateEnvironment{Ref: refOf(v), Name: strings.TrimSpace(form.Get("name"))}
	if kind := form.Get("type"); kind != "" {
		req.Type = &kind
	}
	err := x.check(req)
	if err == nil {
		if _, err = x.Warden.CreateEnvironment(x.ctx, x.who, req); err == nil {
			x.done(pathOf(v.RepoOwner, v.RepoName)+"/environments", environmentCreated)
			return nil
		}
	}
	return x.againUnlessRefused(err, form, []string{"name", "type"}, func(f web.Form) (web.Page, error) { return x.environments(v, f), nil })
}

// environment is the page to change one. It is of no use to who may not.
func environment(x *exchange, v *api.Vault) (web.Page, error) {
	if !useful(access.EnvironmentRename, v.Permission) {
		return nil, api.Errorf(api.Forbidden, "Admins of the repository rename and delete environments. Ask one of them.")
	}
	row, err := x.environmentRow(v)
	if err != nil {
		return nil, err
	}
	return web.Environment{Frame: x.frame(), Row: row}, nil
}

// environmentRow is the environment that the path names, of those that the caller
// may read.
func (x *exchange) environmentRow(v *api.Vault) (web.EnvironmentRow, error) {
	ref, err := asked[api.EnvironmentRef](x)
	if err != nil {
		return web.EnvironmentRow{}, err
	}
	for _, e := range v.EnvironmentDetails {
		if e.Name == ref.Environment {
			return environmentRow(v, e), nil
		}
	}
	return web.EnvironmentRow{}, api.Errorf(api.NotFound, "This vault has no environment %q.", ref.Environment)
}

// changeEnvironment does what one of the page's forms asks for.
func changeEnvironment(x *exchange, v *api.Vault, form url.Values) error {
	row, err := x.environmentRow(v)
	if err != nil {
		return err
	}
	ref := api.EnvironmentRef{Ref: refOf(v), Environment: row.Name}
	if do := form.Get("do"); do == "up" || do == "down" {
		return x.moveEnvironment(v, ref, do)
	}
	p := web.Environment{Row: row}
	var said notice
	var left *web.Form // the form as it was left, if it cannot be done
	switch form.Get("do") {
	case "rename":
		said, left, err = environmentRenamed, &p.Rename, x.renameEnvironment(ref, form)
	case "retype":
		said, left, err = environmentRetyped, &p.Retype, x.retypeEnvironment(ref, form)
	case "delete":
		said, left, err = environmentDeleted, &p.Delete, x.deleteEnvironment(ref, form)
	default:
		return errNoDeed
	}
	if err != nil {
		return x.againUnlessRefused(err, form, []string{"newName", "type", "confirm"}, func(f web.Form) (web.Page, error) {
			*left, p.Frame = f, x.frame()
			return p, nil
		})
	}
	x.done(pathOf(v.RepoOwner, v.RepoName)+"/environments", said)
	return nil
}

// moveEnvironment lets an environment and its neighbour change places, of those
// that the caller sees. It leads back to the button that was pressed, to press it
// again, or to the other one where that goes no further.
func (x *exchange) moveEnvironment(v *api.Vault, ref api.EnvironmentRef, do string) error {
	all := v.EnvironmentDetails
	from := slices.IndexFunc(all, func(e api.EnvironmentDetail) bool { return e.Name == ref.Environment })
	to, last, back := from-1, 0, "down"
	if do == "down" {
		to, last, back = from+1, len(all)-1, "up"
	}
	list := pathOf(v.RepoOwner, v.RepoName) + "/environments"
	if to < 0 || to >= len(all) { // somebody else moved it meanwhile
		x.leadTo(list)
		return nil
	}
	if _, err := x.Warden.MoveEnvironment(x.ctx, x.who, api.MoveEnvironment{EnvironmentRef: ref, DisplayOrder: all[to].DisplayOrder}); err != nil {
		return err
	}
	if to != last {
		back = do
	}
	x.done(list+"#"+back+"-"+ref.Environment, environmentMoved)
	return nil
}

func (x *exchange) renameEnvironment(ref api.EnvironmentRef, form url.Values) error {
	req := api.RenameEnvironment{EnvironmentRef: ref, NewName: strings.TrimSpace(form.Get("newName"))}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.RenameEnvironment(x.ctx, x.who, req)
	}
	return err
}

func (x *exchange) retypeEnvironment(ref api.EnvironmentRef, form url.Values) error {
	req := api.RetypeEnvironment{EnvironmentRef: ref, Type: form.Get("type")}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.RetypeEnvironment(x.ctx, x.who, req)
	}
	return err
}

func (x *exchange) deleteEnvironment(ref api.EnvironmentRef, form url.Values) error {
	err := confirmed(form, ref.Environment)
	if err == nil {
		_, err = x.Warden.DeleteEnvironment(x.ctx, x.who, ref)
	}
	return err
}

// refOf names a vault.
func refOf(v *api.Vault) api.Ref { return api.Ref{Owner: v.RepoOwner, Repo: v.RepoName} }
