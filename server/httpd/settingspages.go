package httpd

import (
	"net/url"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const settingsPath = vaultPath + "/settings"

// settingsPages say what there is to know about a vault, and end it.
func settingsPages() []route {
	return []route{
		{method: get, path: settingsPath, bucket: inGeneral, run: inVault(settings)},
		{method: post, path: settingsPath, bucket: inGeneral, run: actInVault(deleteVault)},
	}
}

func settings(x *exchange, v *api.Vault) (web.Page, error) { return x.settings(v, web.Form{}), nil }

// settings is the page, with the form to delete the vault as it was left. Who has
// no role and sees the vault all the same owns the account of a repository that is
// gone.
func (x *exchange) settings(v *api.Vault, left web.Form) web.Page {
	return web.Settings{
		Frame: x.frame(), Forge: x.forgeName(), Private: v.IsPrivate, Role: textOrNone(v.Permission),
		Created: v.CreatedAt.Time, Changed: v.UpdatedAt.Time, Environments: len(v.Environments), Secrets: v.SecretCount,
		ReadOnly: x.readOnly(v), Gone: v.Permission == nil,
		CanDelete: v.Permission == nil || useful(access.VaultDelete, v.Permission), Delete: left,
	}
}

func deleteVault(x *exchange, v *api.Vault, form url.Values) error {
	err := confirmed(form, v.RepoFullName)
	if err == nil {
		if err = x.Warden.DeleteVault(x.ctx, x.who, refOf(v)); err == nil {
			x.done("/", vaultDeleted)
			return nil
		}
	}
	if !useful(access.VaultDelete, v.Permission) && v.Permission != nil {
		return err
	}
	return x.againUnlessRefused(err, form, []string{"confirm"}, func(f web.Form) (web.Page, error) { return x.settings(v, f), nil })
}
