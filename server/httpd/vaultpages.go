package httpd

import (
	"fmt"
	"net/url"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// vaultPages are the list of vaults, which is the first page of all, and what is
// inside one. A form that can fail is sent to the address of its own page, so that
// the page is still there when it is shown again.
func vaultPages() []route {
	return []route{
		{method: post, path: "/", bucket: inGeneral, run: act(createVault)},
		{method: get, path: vaultPath, bucket: inGeneral, run: inVault(matrix)},
	}
}

// vaultsRequest is what the address of the list says.
type vaultsRequest struct {
	api.ListVaults
	Query string `query:"q"`
}

func vaults(x *exchange) (web.Page, error) { return x.vaults(web.Form{}) }

// vaults is the list, with the form for a new vault as it was left.
func (x *exchange) vaults(create web.Form) (web.Page, error) {
	req, err := asked[vaultsRequest](x)
	if err != nil {
		return nil, err
	}
	found, err := x.Warden.FindVaults(x.ctx, x.who, warden.VaultSearch{Query: req.Query, Page: req.Page})
	if err != nil {
		return nil, err
	}
	p := web.Vaults{
		Frame: x.frame(), Search: web.Search{At: "/", Label: "Search vaults and keys", Query: req.Query}, Cut: found.Cut,
		Create: create, Free: found.Free, Forge: x.forgeName(), Now: x.Now(),
		Example: x.who.Username() + "/api",
		Pager:   x.pager(found.Limit, found.Offset, len(found.Items), found.Total),
	}
	for _, v := range found.Items {
		p.Rows = append(p.Rows, vaultRow(v))
	}
	return p, nil
}

func vaultRow(v warden.FoundVault) web.VaultRow {
	row := web.VaultRow{
		Name: v.RepoFullName, At: pathOf(v.RepoOwner, v.RepoName), Private: v.IsPrivate, Secrets: v.SecretCount,
		Changed: v.UpdatedAt.Time, ReadOnly: readOnlyText(&v.Vault, ""), Gone: v.Warning != nil,
		Keys: v.Keys, MoreKeys: v.KeyCount - len(v.Keys),
	}
	if v.Permission != nil {
		row.Role = *v.Permission
	}
	for _, e := range v.EnvironmentDetails {
		row.Environments = append(row.Environments, web.EnvironmentCount{Name: e.Name, Secrets: e.SecretCount})
	}
	return row
}

// readOnly is readOnlyText for the vault that the page is about.
func (x *exchange) readOnly(v *api.Vault) string {
	if x.plan == nil {
		return readOnlyText(v, "")
	}
	return readOnlyText(v, x.plan.Plan)
}

// readOnlyText says why a vault is read-only, or nothing. It names the plan where
// that is known.
func readOnlyText(v *api.Vault, plan string) string {
	if plan != "" {
		plan = " (" + plan + ")"
	}
	switch {
	case !v.IsReadOnly:
		return ""
	case v.ReadonlyReason != nil && *v.ReadonlyReason == "org_free_plan":
		return fmt.Sprintf("This vault is read-only: its organization's plan%s has no private repositories.", plan)
	default:
		return fmt.Sprintf("This vault is read-only: the plan%s allows fewer private repositories, and older vaults come first.", plan)
	}
}

func createVault(x *exchange, form url.Values) error {
	req := api.CreateVault{RepoFullName: strings.TrimSpace(form.Get("repoFullName"))}
	err := x.check(req)
	if err == nil {
		var made *api.CreatedVault
		if made, err = x.Warden.CreateVault(x.ctx, x.who, req); err == nil {
			x.done(pathOf(made.RepoOwner, made.RepoName), vaultCreated)
			return nil
		}
	}
	return x.again(err, form, []string{"repoFullName"}, x.vaults)
}
