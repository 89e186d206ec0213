package httpd

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	operatorPath   = "/operator"
	localUsersPath = operatorPath + "/users"
	localOrgsPath  = operatorPath + "/orgs"
	localReposPath = operatorPath + "/repos"
)

// operatorPages are for whoever runs the server.
func operatorPages() []route {
	return []route{
		{method: get, path: operatorPath, bucket: inGeneral, run: signedIn(operatorPage)},
		{method: post, path: operatorPath + "/jobs/:name/run", bucket: inGeneral, run: act(runJobOnPage)},
		{method: post, path: operatorPath + "/seal", bucket: inGeneral, run: act(sealOnPage)},
		{method: get, path: localUsersPath, bucket: inGeneral, run: signedIn(usersPage)},
		{method: post, path: localUsersPath, bucket: inGeneral, run: act(addUser)},
		{method: post, path: localUsersPath + "/disabled", bucket: inGeneral, run: act(disableUser)},
		{method: post, path: localUsersPath + "/password", bucket: inGeneral, run: act(setPassword)},
		{method: get, path: localOrgsPath, bucket: inGeneral, run: signedIn(orgsPage)},
		{method: post, path: localOrgsPath, bucket: inGeneral, run: act(addOrg)},
		{method: post, path: localOrgsPath + "/members", bucket: inGeneral, run: act(setMember)},
		{method: get, path: localReposPath, bucket: inGeneral, run: signedIn(reposPage)},
		{method: post, path: localReposPath, bucket: inGeneral, run: act(addRepo)},
		{method: post, path: localReposPath + "/grants", bucket: inGeneral, run: act(grantRepo)},
	}
}

// operatorTabs lead through the pages. Those of the built-in code host are of no
// use with another one.
func (x *exchange) operatorTabs() []web.Place {
	return x.tabs(operatorPlaces, operatorPath, operatorPath)
}

func operatorPage(x *exchange) (web.Page, error) { return x.serverPage("") }

func (x *exchange) serverPage(problem string) (web.Page, error) {
	if err := x.gate.Admit(x.ctx, x.who, access.JobList, ""); err != nil {
		return nil, err
	}
	jobs, err := x.Jobs.List(x.ctx)
	if err != nil {
		return nil, err
	}
	st := x.Warden.Status(x.ctx)
	p := web.Operator{
		Frame: x.frame(), Tabs: x.operatorTabs(), Version: x.Version, Server: x.PublicURL, AuditKey: st.AuditKey,
		Forge: st.Forge.Kind + " (built in)", Methods: shownMethods(st.Methods), Limits: x.limits.shown(), Problem: problem,
	}
	if st.Forge.URL != "" {
		p.Forge = st.Forge.Kind + " at " + st.Forge.URL
	}
	if err := x.gate.Ready(x.ctx); err != nil {
		p.Hindrance = x.public(err).Message
	}
	for _, j := range jobs {
		shown := web.Job{Name: j.Name, Running: j.Running, Removed: j.Removed, Next: j.NextRunAt.Time}
		if j.LastRunAt != nil {
			shown.Last = j.LastRunAt.Time
		}
		if j.LastError != nil {
			shown.Error = *j.LastError
		}
		p.Jobs = append(p.Jobs, shown)
	}
	return p, nil
}

// bucketKeys are how the configuration calls the buckets.
var bucketKeys = [exempt]string{
	inGeneral: "general", inBulk: "bulk", inValue: "value", inVerify: "verify", inPoll: "poll", inLogin: "login", inUI: "ui",
}

// shown are the limits in words.
func (l limits) shown() []web.Limit {
	var all []web.Limit
	for b, key := range bucketKeys {
		row := web.Limit{Name: key, What: buckets[b].what, Rate: "off"}
		if c := l.counters[b]; c != nil {
			row.Rate = fmt.Sprintf("%d in %s", c.limit, short(c.window))
		}
		all = append(all, row)
	}
	return all
}

func runJobOnPage(x *exchange, _ url.Values) error {
	ref, err := asked[api.JobRef](x)
	if err != nil {
		return err
	}
	if err := x.gate.Admit(x.ctx, x.who, access.JobRun, ""); err != nil {
		return err
	}
	if _, err := x.runJob(ref.Name); err != nil {
		return err
	}
	x.done(operatorPath, jobRun)
	return nil
}

// sealOnPage seals, when somebody typed that they mean it.
func sealOnPage(x *exchange, form url.Values) error {
	if err := x.gate.Admit(x.ctx, x.who, access.SystemSeal, ""); err != nil {
		return err
	}
	if form.Get("confirm") != "seal" {
		p, err := x.serverPage("Nothing was done: type seal into the field to seal the server.")
		if err != nil {
			return err
		}
		return x.show(http.StatusUnprocessableEntity, p)
	}
	if err := x.Warden.Seal(x.ctx, x.who); err != nil {
		return err
	}
	x.leadTo(unsealPath)
	return nil
}

// listed asks for the page of a list that the address names.
func listed[T any](x *exchange, list func(*door, context.Context, warden.Caller, api.ListLocal) (*api.List[T], error)) ([]T, web.Pager, error) {
	req, err := asked[api.ListLocal](x)
	if err == nil {
		err = x.check(*req)
	}
	if err != nil {
		return nil, web.Pager{}, err
	}
	l, err := list(x.Warden, x.ctx, x.who, *req)
	if err != nil {
		return nil, web.Pager{}, err
	}
	return l.Items, x.pager(l.Limit, l.Offset, len(l.Items), l.Total), nil
}

func usersPage(x *exchange) (web.Page, error) { return x.usersWith(web.Form{}) }

func (x *exchange) usersWith(f web.Form) (web.Page, error) {
	all, pager, err := listed(x, (*door).LocalUsers)
	p := web.LocalUsers{Frame: x.frame(), Tabs: x.operatorTabs(), Pager: pager, Form: f}
	for _, u := range all {
		p.Rows = append(p.Rows, web.LocalUser{
			Name: u.Username, Operator: u.Operator, Disabled: u.Disabled, Myself: u.Username == x.who.Username(),
		})
	}
	return p, err
}

// usersWithPassword is the page with the form for another password, which was refused.
func (x *exchange) usersWithPassword(f web.Form) (web.Page, error) {
	p, err := x.usersWith(web.Form{})
	if users, ok := p.(web.LocalUsers); ok {
		users.Password = f
		p = users
	}
	return p, err
}

func addUser(x *exchange, form url.Values) error {
	req := api.AddLocalUser{Username: form.Get("username"), Password: api.NewSecret(form.Get("password")), Operator: form.Get("operator") == "true"}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.AddLocalUser(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"username", "operator"}, x.usersWith)
	}
	x.done(localUsersPath, userAdded)
	return nil
}

// disableUser keeps a user out, or lets them in again.
func disableUser(x *exchange, form url.Values) error {
	req, said := api.DisableLocalUser{Username: form.Get("username")}, userEnabled
	switch form.Get("do") {
	case "disable":
		req.Disabled, said = true, userDisabled
	case "enable":
	default:
		return errNoDeed
	}
	if _, err := x.Warden.DisableLocalUser(x.ctx, x.who, req); err != nil {
		return err
	}
	x.done(localUsersPath, said)
	return nil
}

// setPassword gives a user another password.
func setPassword(x *exchange, form url.Values) error {
	req := api.SetLocalPassword{Username: form.Get("username"), Password: api.NewSecret(form.Get("password"))}
	if err := x.check(req); err != nil {
		return x.again(err, form, []string{"username"}, x.usersWithPassword)
	}
	if _, err := x.Warden.SetLocalPassword(x.ctx, x.who, req); err != nil {
		return err
	}
	x.done(localUsersPath, passwordSet)
	return nil
}

func orgsPage(x *exchange) (web.Page, error) { return x.orgsWith(web.Form{}, web.Form{}) }

func (x *exchange) orgsWith(create, member web.Form) (web.Page, error) {
	all, pager, err := listed(x, (*door).LocalOrgs)
	p := web.LocalOrgs{Frame: x.frame(), Tabs: x.operatorTabs(), Pager: pager, Create: create, Member: member}
	for _, o := range all {
		p.Rows = append(p.Rows, web.LocalGroup{Name: o.Name, People: shownGrantees(o.Members)})
	}
	return p, err
}

func shownGrantees(all []api.Grantee) []web.Grantee {
	shown := make([]web.Grantee, 0, len(all))
	for _, g := range all {
		shown = append(shown, web.Grantee{Name: g.Username, Role: g.Role})
	}
	return shown
}

func addOrg(x *exchange, form url.Values) error {
	req := api.AddLocalOrg{Name: form.Get("name")}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.AddLocalOrg(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"name"}, func(f web.Form) (web.Page, error) { return x.orgsWith(f, web.Form{}) })
	}
	x.done(localOrgsPath, orgAdded)
	return nil
}

func setMember(x *exchange, form url.Values) error {
	req := api.SetLocalMember{Org: form.Get("org"), Username: form.Get("username"), Role: form.Get("role")}
	err := x.check(req)
	if err == nil {
		err = x.Warden.SetLocalMember(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"org", "username", "role"}, func(f web.Form) (web.Page, error) { return x.orgsWith(web.Form{}, f) })
	}
	x.done(localOrgsPath, roleSet)
	return nil
}

func reposPage(x *exchange) (web.Page, error) { return x.reposWith(web.Form{}, web.Form{}) }

// grantable are the roles that can be given, the most harmless first.
var grantable = []string{"read", "triage", "write", "maintain", "admin", "none"}

func (x *exchange) reposWith(create, grant web.Form) (web.Page, error) {
	all, pager, err := listed(x, (*door).LocalRepos)
	p := web.LocalRepos{Frame: x.frame(), Tabs: x.operatorTabs(), Pager: pager, Create: create, Grant: grant, Roles: grantable}
	for _, r := range all {
		p.Rows = append(p.Rows, web.LocalGroup{Name: r.RepoFullName, Public: r.Public, People: shownGrantees(r.Grants)})
	}
	return p, err
}

func addRepo(x *exchange, form url.Values) error {
	req := api.AddLocalRepo{RepoFullName: form.Get("repoFullName"), Public: form.Get("public") == "true"}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.AddLocalRepo(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"repoFullName", "public"}, func(f web.Form) (web.Page, error) { return x.reposWith(f, web.Form{}) })
	}
	x.done(localReposPath, repoAdded)
	return nil
}

func grantRepo(x *exchange, form url.Values) error {
	req := api.GrantLocalRepo{RepoFullName: form.Get("repoFullName"), Username: form.Get("username"), Role: cmp.Or(form.Get("role"), "read")}
	err := x.check(req)
	if err == nil {
		err = x.Warden.GrantLocalRepo(x.ctx, x.who, req)
	}
	if err != nil {
		return x.again(err, form, []string{"repoFullName", "username", "role"}, func(f web.Form) (web.Page, error) { return x.reposWith(web.Form{}, f) })
	}
	x.done(localReposPath, roleSet)
	return nil
}
