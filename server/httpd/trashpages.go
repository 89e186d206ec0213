package httpd

import (
	"net/url"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const trashPath = vaultPath + "/trash"

// trashPages show what was deleted in a vault.
func trashPages() []route {
	return []route{
		{method: get, path: trashPath, bucket: inGeneral, run: inVault(trash)},
		{method: post, path: trashPath, bucket: inGeneral, run: actInVault(changeTrash)},
	}
}

func trash(x *exchange, v *api.Vault) (web.Page, error) { return x.trash(v) }

func (x *exchange) trash(v *api.Vault) (web.Trash, error) {
	req, err := asked[api.PageRef](x)
	if err == nil {
		err = x.check(req)
	}
	if err != nil {
		return web.Trash{}, err
	}
	list, err := x.Warden.Trash(x.ctx, x.who, *req)
	if err != nil {
		return web.Trash{}, err
	}
	mine, err := x.Warden.EffectivePermissions(x.ctx, x.who, req.Ref)
	if err != nil {
		return web.Trash{}, err
	}
	p := web.Trash{
		Frame: x.frame(), At: x.withOffset(list.Offset), Now: x.Now(), ReadOnly: x.readOnly(v), CanEmpty: useful(access.TrashEmpty, v.Permission),
		Pager: x.pager(list.Limit, list.Offset, len(list.Items), list.Total),
	}
	for _, s := range list.Items {
		p.Rows = append(p.Rows, web.TrashRow{
			ID: s.ID, Key: s.Key, Environment: s.Environment, Deleted: s.DeletedAt.Time, Expires: s.ExpiresAt.Time,
			Days: s.DaysRemaining, CanWrite: mine.Permissions[s.Environment].Write,
		})
	}
	return p, nil
}

// changeTrash does what one of the page's forms asks for.
func changeTrash(x *exchange, v *api.Vault, form url.Values) error {
	p, err := x.trash(v) // as it is before anything changes, to be shown again
	if err != nil {
		return err
	}
	ref := api.SecretRef{Ref: refOf(v), SecretID: form.Get("secretId")}
	var said notice
	switch form.Get("do") {
	case "restore":
		said = secretRestored
		_, err = x.Warden.RestoreSecret(x.ctx, x.who, ref)
	case "destroy":
		said, err = secretDestroyed, x.destroySecret(ref, p, form)
	case "empty":
		said, ref.SecretID = trashEmptied, ""
		if err = confirmed(form, v.RepoFullName); err == nil {
			_, err = x.Warden.EmptyTrash(x.ctx, x.who, ref.Ref)
		}
	default:
		return errNoDeed
	}
	if err == nil {
		x.done(pathOf(v.RepoOwner, v.RepoName)+"/trash", said)
		return nil
	}
	if api.CodeOf(err) == api.NotFound {
		return err
	}
	return x.againUnlessRefused(err, form, []string{"confirm"}, func(f web.Form) (web.Page, error) {
		p.Destroy, p.Of = f, ref.SecretID
		return p, nil
	})
}

// destroySecret wants the key to be typed, which only the page tells.
func (x *exchange) destroySecret(ref api.SecretRef, p web.Trash, form url.Values) error {
	for _, row := range p.Rows {
		if row.ID != ref.SecretID {
			continue
		}
		if row.CanWrite { // to anybody else the warden says why not
			if err := confirmed(form, row.Key); err != nil {
				return err
			}
		}
		return x.Warden.DestroySecret(x.ctx, x.who, ref)
	}
	return api.Errorf(api.NotFound, "There is no such secret on this page of the trash. Load it again, and look where it is now.")
}
