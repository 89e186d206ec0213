package httpd

import (
	"net/url"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

// place is a page that the navigation leads to. Those that have no route are left
// out, so that the tables below can name pages before they are built.
type place struct {
	name     string
	path     string        // of its route
	within   string        // where else it is the current one: a path and all below it
	action   access.Action // of a vault's: what the page is of no use without
	first    bool          // of its table: other places of it lie below, and are not this one
	operator bool          // only for who runs the server
	local    bool          // only where the code host is the built-in one
}

var places = []place{
	{name: "Vaults", path: "/", within: "/vaults", first: true},
	{name: "Activity", path: "/activity"},
	{name: "API keys", path: "/keys"},
	{name: "Connections", path: connectionsPage},
	{name: "Organizations", path: "/orgs"},
	{name: "Account", path: "/account"},
	{name: "Operator", path: "/operator", operator: true},
}

const vaultPath = "/vaults/:owner/:repo"

var vaultPlaces = []place{
	{name: "Secrets", path: vaultPath, within: vaultPath + "/secrets", first: true, action: access.SecretList},
	{name: "Compare", path: vaultPath + "/compare", action: access.Pull},
	{name: "Import and export", path: vaultPath + "/import", within: vaultPath + "/raw", action: access.Pull},
	{name: "History", path: vaultPath + "/history", action: access.VersionList},
	{name: "Trash", path: vaultPath + "/trash", action: access.TrashList},
	{name: "Environments", path: vaultPath + "/environments", action: access.EnvironmentList},
	{name: "Integrations", path: syncsPath, action: access.SyncStatus},
	{name: "Access", path: vaultPath + "/access", action: access.PermissionEffective},
	{name: "Activity", path: vaultPath + "/activity", action: access.VaultActivity},
	{name: "Settings", path: vaultPath + "/settings", action: access.VaultGet},
}

// orgPlaces are those of one organization.
var orgPlaces = []place{
	{name: "Members and permissions", path: orgPath, first: true},
	{name: "Plan", path: orgPath + "/plan"},
}

// operatorPlaces are those of who runs the server.
var operatorPlaces = []place{
	{name: "Server", path: operatorPath, within: operatorPath + "/seal", first: true},
	{name: "Health", path: healthPath},
	{name: "Keys", path: unsealMethodsPath},
	{name: "Users", path: localUsersPath, local: true},
	{name: "Organizations", path: localOrgsPath, local: true},
	{name: "Repositories", path: localReposPath, local: true},
	{name: "Backups", path: backupsPage},
	{name: "Storage", path: storagePath},
}

// leadsTo remembers which pages there are.
func (f *face) leadsTo(routes []route) {
	f.there = make(map[string]bool)
	for _, r := range routes {
		if r.method == get {
			f.there[r.path] = true
		}
	}
}

// frame is what stands around the page of who is asking.
func (x *exchange) frame() web.Frame {
	f := web.Frame{User: x.who.Username(), Operator: x.who.IsOperator()}
	if f.User == "" {
		return f
	}
	f.Notice, f.Undo = x.notice()
	for _, p := range places {
		if x.there[p.path] && (!p.operator || f.Operator) {
			f.Places = append(f.Places, web.Place{Name: p.name, Path: p.path, Current: x.current(p)})
		}
	}
	if x.vault != nil {
		f.Inside = x.inside(x.vault)
	}
	return f
}

// inside is what leads through a vault: the pages that are of use to the role that
// the caller has there.
func (x *exchange) inside(v *api.Vault) *web.Inside {
	at := pathOf(v.RepoOwner, v.RepoName)
	in := &web.Inside{Name: v.RepoFullName, At: at}
	if x.plan != nil && x.plan.Org != "" && x.Warden.BillingEnabled() {
		in.Plan = planOf(x.plan.Org)
	}
	for _, p := range vaultPlaces {
		if x.there[p.path] && useful(p.action, v.Permission) {
			in.Places = append(in.Places, web.Place{
				Name: p.name, Path: at + strings.TrimPrefix(p.path, vaultPath), Current: x.current(p),
			})
		}
	}
	return in
}

// tabs lead through the places of a table, which are below the address at in place
// of below. A single one leads nowhere, and needs none.
func (x *exchange) tabs(table []place, below, at string) (all []web.Place) {
	for _, p := range table {
		if x.there[p.path] && (!p.local || x.gate.ForgeKind() == localForge) {
			all = append(all, web.Place{Name: p.name, Path: at + strings.TrimPrefix(p.path, below), Current: x.current(p)})
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// useful reports whether a page is worth a link for a role; whether the role is
// enough is for the warden to say when somebody goes there. Who has none is there
// because the repository is gone, and can only look and clear up.
func useful(a access.Action, permission *string) bool {
	if permission == nil {
		return a == access.VaultGet
	}
	role, err := access.ParseRole(*permission)
	return err == nil && role >= a.Row().Role
}

// current says whether the page that is asked for is the place itself or lies below.
func (x *exchange) current(p place) string {
	switch at := x.route.path; {
	case at == p.path:
		return "page"
	case p.within != "" && isBelow(at, p.within), !p.first && isBelow(at, p.path):
		return "true"
	}
	return ""
}

func isBelow(path, above string) bool { return path == above || strings.HasPrefix(path, above+"/") }

// pathOf is the path of a vault's first page.
func pathOf(owner, repo string) string {
	return "/vaults/" + url.PathEscape(owner) + "/" + url.PathEscape(repo)
}
