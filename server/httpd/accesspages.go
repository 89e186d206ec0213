package httpd

import (
	"errors"
	"net/url"
	"strings"

	"coffer/server/api"
	"coffer/web"
)

const accessPath = vaultPath + "/access"

// accessPages say who may do what in a vault.
func accessPages() []route {
	return []route{
		{method: get, path: accessPath, bucket: inGeneral, run: inVault(accessPage)},
		{method: post, path: accessPath, bucket: inGeneral, run: actInVault(changeAccess)},
	}
}

func accessPage(x *exchange, v *api.Vault) (web.Page, error) { return x.access(v) }

func (x *exchange) access(v *api.Vault) (web.Access, error) {
	a, err := x.Warden.VaultAccess(x.ctx, x.who, refOf(v))
	if err != nil {
		return web.Access{}, err
	}
	p := web.Access{
		Frame: x.frame(), Role: a.Role, Columns: a.Columns, Mine: rightsOf(a.Mine), CanManage: a.CanManage,
		Roles: api.Roles, Defaults: shownDefaults(a.Defaults),
	}
	if a.Unlisted != nil {
		p.Unlisted = x.public(a.Unlisted).Message
	}
	for _, one := range a.People {
		p.People = append(p.People, web.Person{ID: one.UserID, Name: one.Username, Role: one.Role, Bot: one.Bot, Rights: rightsOf(one.Rights)})
	}
	for _, m := range a.Members {
		p.Members = append(p.Members, web.Person{ID: m.ID, Name: m.Username, Role: m.Role})
	}
	for _, o := range a.Overrides {
		p.Overrides = append(p.Overrides, shownOverride(o))
	}
	return p, nil
}

func rightsOf(all []api.Permission) []web.Rights {
	out := make([]web.Rights, len(all))
	for i, r := range all {
		out[i] = web.Rights(r)
	}
	return out
}

func shownOverride(o api.Override) web.Override {
	out := web.Override{
		ID: o.ID, Environment: o.Environment, Rights: web.Rights{Read: o.CanRead, Write: o.CanWrite},
		IsRole: o.TargetType == "role", Who: textOrNone(o.TargetRole), When: o.UpdatedAt.Time,
	}
	if o.TargetUser != nil {
		out.Who = o.TargetUser.Username
	}
	if o.CreatedBy != nil {
		out.By = o.CreatedBy.Username
	}
	return out
}

// environmentTypes are the types of environments, in the order of their columns.
var environmentTypes = []string{"development", "standard", "protected"}

func shownDefaults(m api.Matrix) (all []web.Default) {
	for _, role := range api.Roles {
		d := web.Default{Role: role}
		for _, kind := range environmentTypes {
			r := m[role][kind]
			d.Rights = append(d.Rights, web.Rights{Read: r["read"], Write: r["write"]})
		}
		all = append(all, d)
	}
	return all
}

// changeAccess does what one of the page's forms asks for.
func changeAccess(x *exchange, v *api.Vault, form url.Values) error {
	ref := api.OverrideRef{Ref: refOf(v), OverrideID: form.Get("id")}
	read, write := form.Has("canRead"), form.Has("canWrite")
	var said notice
	var err error
	switch form.Get("do") {
	case "create":
		said, err = overrideCreated, x.createOverride(ref.Ref, form)
	case "update":
		said = overrideChanged
		_, err = x.Warden.UpdateOverride(x.ctx, x.who, api.UpdateOverride{OverrideRef: ref, CanRead: &read, CanWrite: &write})
	case "remove":
		said = overrideRemoved
		_, err = x.Warden.DeleteOverride(x.ctx, x.who, ref)
	case "reset":
		said = overridesReset
		_, err = x.Warden.ResetOverrides(x.ctx, x.who, ref.Ref)
	default:
		return errNoDeed
	}
	if err == nil {
		x.done(pathOf(v.RepoOwner, v.RepoName)+"/access", said)
		return nil
	}
	if form.Get("do") != "create" {
		return err
	}
	return x.againUnlessRefused(err, form, []string{"target", "environment", "canRead", "canWrite"}, func(f web.Form) (web.Page, error) {
		p, err := x.access(v)
		p.Create = f
		return p, err
	})
}

// createOverride reads the target as "role:write" or "user:ID".
func (x *exchange) createOverride(ref api.Ref, form url.Values) error {
	req := api.CreateOverride{Ref: ref, Environment: form.Get("environment"), CanRead: form.Has("canRead"), CanWrite: form.Has("canWrite")}
	kind, name, _ := strings.Cut(form.Get("target"), ":")
	switch req.TargetType = kind; kind {
	case "role":
		req.TargetRole = &name
	case "user":
		req.TargetUserID = &name
	}
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.CreateOverride(x.ctx, x.who, req)
	}
	return ofField(err, "target", "targetType", "targetRole", "targetUserId")
}

// ofField makes complaints about some fields complaints about one: the one that a
// form has for them.
func ofField(err error, name string, fields ...string) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	about := *e
	about.Fields = nil
	for _, wrong := range e.Fields {
		for _, f := range fields {
			if wrong.Field == f {
				wrong.Field, wrong.Message = name, "Choose a role, or one of the users."
			}
		}
		about.Fields = append(about.Fields, wrong)
	}
	return &about
}
