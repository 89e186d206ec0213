package httpd

import (
	"net/http"
	"net/url"

	"coffer/server/api"
	"coffer/web"
)

const secretPath = vaultPath + "/secrets/:secretId"

// Fields of the forms about one secret.
const versionField = "version" // id of one; none is the newest

// secretPages are about one secret. Its value is only ever in the answer to a form
// that asked for it, which has the address of the page, so that to ask for it anew
// shows the page without.
func secretPages() []route {
	return []route{
		{method: get, path: secretPath, bucket: inGeneral, run: inVault(secret)},
		{method: post, path: secretPath, bucket: inValue, run: actInVault(reveal)},
		{method: post, path: secretPath + "/restore", bucket: inGeneral, run: actInVault(restoreVersion)},
	}
}

func secret(x *exchange, v *api.Vault) (web.Page, error) {
	ref, err := asked[api.SecretRef](x)
	if err != nil {
		return nil, err
	}
	p, err := x.secret(v, *ref)
	return p, err
}

// secret is the page of one secret, without its value.
func (x *exchange) secret(v *api.Vault, ref api.SecretRef) (*web.Secret, error) {
	s, err := x.Warden.Secret(x.ctx, x.who, ref)
	if err != nil {
		return nil, err
	}
	p := &web.Secret{
		Frame: x.frame(), Key: s.Key, Environment: s.Environment, Type: s.Type,
		At:      pathOf(v.RepoOwner, v.RepoName) + "/secrets/" + s.ID,
		Created: s.CreatedAt.Time, Updated: s.UpdatedAt.Time, CanWrite: s.CanWrite, ReadOnly: x.readOnly(v), Now: x.Now(),
	}
	if s.LastModifiedBy != nil {
		p.By = s.LastModifiedBy.Username
	}
	for _, version := range s.Versions {
		line := web.SecretVersion{ID: version.ID, Number: version.VersionNumber, Created: version.CreatedAt.Time}
		if version.CreatedByUser != nil {
			line.By = version.CreatedByUser.Username
		}
		p.Versions = append(p.Versions, line)
	}
	return p, nil
}

// reveal shows the page with one value on it.
func reveal(x *exchange, v *api.Vault, form url.Values) error {
	ref, err := asked[api.SecretRef](x)
	if err != nil {
		return err
	}
	p, err := x.secret(v, *ref)
	if err != nil {
		return err
	}
	if version := form.Get(versionField); version != "" {
		var shown *api.VersionValue
		if shown, err = x.Warden.RevealVersion(x.ctx, x.who, api.VersionRef{SecretRef: *ref, VersionID: version}); err == nil {
			p.Shown = &web.ShownValue{Version: shown.VersionNumber, Value: string(shown.Value.Value)}
		}
	} else {
		var shown *api.Value
		if shown, err = x.Warden.RevealSecret(x.ctx, x.who, *ref); err == nil {
			p.Shown = &web.ShownValue{Value: string(shown.Value)}
		}
	}
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, p)
}

// restoreVersion makes the value of an old version the newest one.
func restoreVersion(x *exchange, v *api.Vault, form url.Values) error {
	ref, err := asked[api.SecretRef](x)
	if err != nil {
		return err
	}
	_, err = x.Warden.RestoreVersion(x.ctx, x.who, api.VersionRef{SecretRef: *ref, VersionID: form.Get(versionField)})
	if err == nil {
		x.done(pathOf(v.RepoOwner, v.RepoName)+"/secrets/"+ref.SecretID, versionRestored)
		return nil
	}
	return x.again(err, form, nil, func(f web.Form) (web.Page, error) {
		p, err := x.secret(v, *ref)
		if err != nil {
			return nil, err
		}
		p.Problem = f.Problem
		return p, nil
	})
}
