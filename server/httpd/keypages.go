package httpd

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/web"
)

const keysPath = "/keys"

// maxOnce bounds what a form says it is; ours are shorter.
const maxOnce = 64

// keyPages are about the API keys of whoever is signed in.
func keyPages() []route {
	return []route{
		{method: get, path: keysPath, bucket: inGeneral, run: signedIn(keys)},
		{method: post, path: keysPath, bucket: inGeneral, run: act(createKey)},
		{method: post, path: keysPath + "/:id/revoke", bucket: inGeneral, run: act(revokeKey)},
	}
}

// scopes say what keys may be made for, the most usual first.
var scopes = []web.Scope{
	{Name: api.ReadSecrets, Means: "Read: vaults, keys, values and activity."},
	{Name: api.WriteSecrets, Means: "Write: push and change values, make vaults and environments."},
	{Name: api.DeleteSecrets, Means: "Delete: move secrets to the trash and empty it, delete environments and vaults."},
	{Name: api.AdminAPIKeys, Means: "Keys: list, make and revoke your API keys."},
}

func keys(x *exchange) (web.Page, error) { return x.keys(web.Form{}) }

// keys is the list, with the form for a new key as it was left.
func (x *exchange) keys(create web.Form) (web.Page, error) {
	all, err := x.Warden.Keys(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.Keys{Frame: x.frame(), Scopes: scopes, Create: create, Once: rand.Text(), Now: x.Now()}
	for _, k := range all.Keys {
		if k.IsActive {
			p.Live = append(p.Live, shownKey(k))
		} else {
			p.Ended = append(p.Ended, shownKey(k))
		}
	}
	return p, nil
}

func shownKey(k api.APIKey) web.Key {
	return web.Key{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Environment: k.Environment, Sources: k.AllowedIPs, Uses: int(k.UsageCount),
		Scopes:  slices.DeleteFunc(slices.Clone(scopes), func(s web.Scope) bool { return !slices.Contains(k.Scopes, s.Name) }),
		Created: k.CreatedAt.Time, Used: timeOrZero(k.LastUsedAt), Expires: timeOrZero(k.ExpiresAt), Revoked: timeOrZero(k.RevokedAt),
	}
}

func timeOrZero(t *api.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// createKey answers with the key itself: it is shown now, or never. Each form that
// was shown makes one, however often it is sent.
func createKey(x *exchange, form url.Values) error {
	once := form.Get("once")
	if n := len(once); n == 0 || n > maxOnce {
		return errNoDeed
	}
	req, err := newKeyOf(form)
	if err = cmp.Or(err, x.check(req)); err == nil {
		var made *api.CreatedAPIKey
		if made, err = x.Warden.CreateKeyOnce(x.ctx, x.who, req, once); err == nil {
			return x.show(http.StatusOK, web.CreatedKey{
				Frame: x.frame(), Name: made.Name, Environment: made.Environment, Token: string(made.Token),
				Server: x.address(), Expires: timeOrZero(made.ExpiresAt),
			})
		}
	}
	form.Set("scopes", strings.Join(req.Scopes, " "))
	return x.again(err, form, []string{"name", "environment", "scopes", "expiresInDays", "allowedIps"}, x.keys)
}

// newKeyOf is the request that the form for a new key makes. Each scope has a box
// of its own.
func newKeyOf(form url.Values) (req api.CreateAPIKey, err error) {
	req = api.CreateAPIKey{
		Name: strings.TrimSpace(form.Get("name")), Environment: form.Get("environment"), AllowedIPs: strings.Fields(form.Get("allowedIps")),
	}
	for _, s := range scopes {
		if form.Has(s.Name) {
			req.Scopes = append(req.Scopes, s.Name)
		}
	}
	if text := strings.TrimSpace(form.Get("expiresInDays")); text != "" {
		days, wrong := strconv.Atoi(text)
		if wrong != nil {
			err = api.InvalidField("expiresInDays", api.InvalidFormat, "A whole number of days, or nothing.")
		}
		req.ExpiresInDays = &days
	}
	return req, err
}

func revokeKey(x *exchange, _ url.Values) error {
	ref, err := asked[api.IDRef](x)
	if err != nil {
		return err
	}
	err = x.Warden.RevokeKey(x.ctx, x.who, *ref)
	if err != nil && api.CodeOf(err) != api.Conflict { // it may have been revoked meanwhile
		return err
	}
	x.done(keysPath, keyRevoked)
	return nil
}
