package httpd

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const (
	orgsPath = "/orgs"
	orgPath  = orgsPath + "/:org"
)

// orgPages are about the organizations of whoever is signed in.
func orgPages() []route {
	return []route{
		{method: get, path: orgsPath, bucket: inGeneral, run: signedIn(orgs)},
		{method: get, path: orgPath, bucket: inGeneral, run: signedIn(org)},
		{method: post, path: orgPath, bucket: inGeneral, run: act(changeOrg)},
	}
}

func orgs(x *exchange) (web.Page, error) {
	all, err := x.Warden.Orgs(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.Orgs{Frame: x.frame(), Forge: x.forgeName()}
	for _, o := range all {
		p.Rows = append(p.Rows, orgRow(o))
	}
	return p, nil
}

func orgRow(o api.Org) web.OrgRow {
	return web.OrgRow{
		Login: o.Login, Name: textOrNone(o.DisplayName), At: orgsPath + "/" + url.PathEscape(o.Login),
		Role: o.Role, Plan: o.Plan, Members: o.MemberCount, Vaults: o.VaultCount,
	}
}

func org(x *exchange) (web.Page, error) { return x.org() }

// org is the page of the organization that the path names. The code host is asked
// for its people; where it does not list them, the rest is there all the same.
func (x *exchange) org() (web.Org, error) {
	ref, err := asked[api.OrgRef](x)
	if err != nil {
		return web.Org{}, err
	}
	o, err := x.Warden.Org(x.ctx, x.who, *ref)
	if err != nil {
		return web.Org{}, err
	}
	p := web.Org{Forge: x.forgeName(), Row: orgRow(o.Org), IsOwner: o.Role == "owner", Rights: orgDefaults(o.DefaultPermissions)}
	p.Trial = shownTrial(o.Trial, o.Plan, o.EffectivePlan)
	if x.Warden.BillingEnabled() {
		p.Trial.At = p.Row.At + "/plan"
	}
	people, err := x.Warden.OrgMembers(x.ctx, x.who, *ref)
	if _, known := errors.AsType[*api.Error](err); known {
		p.Missing = x.public(err).Message
	} else if err != nil {
		return p, err
	}
	for _, m := range people {
		p.People = append(p.People, web.OrgPerson{Name: m.Username, Role: m.Role, Here: m.OnKeyway, Joined: timeOrZero(m.JoinedAt)})
	}
	p.Frame, p.Tabs = x.frame(), x.tabs(orgPlaces, orgPath, p.Row.At)
	return p, nil
}

// changeOrg does what one of the page's forms asks for.
func changeOrg(x *exchange, form url.Values) error {
	ref, err := asked[api.OrgRef](x)
	if err != nil {
		return err
	}
	req := api.UpdateOrg{OrgRef: *ref}
	var said notice
	switch form.Get("do") {
	case "rename":
		said, req.DisplayName.Given = orgRenamed, true
		if name := strings.TrimSpace(form.Get("displayName")); name != "" {
			req.DisplayName.Text = &name
		}
		err = x.updateOrg(req)
	case "defaults":
		said = orgDefaultsSet
		if req.DefaultPermissions, err = defaultsIn(form); err == nil {
			err = x.updateOrg(req)
		}
	case "sync":
		said = rosterRead
		_, err = x.Warden.SyncMembers(x.ctx, x.who, *ref)
	default:
		return errNoDeed
	}
	if err == nil {
		x.done(orgsPath+"/"+url.PathEscape(ref.Org), said)
		return nil
	}
	return x.againUnlessRefused(err, form, []string{"displayName"}, func(f web.Form) (web.Page, error) { return x.orgAgain(form, f) })
}

func (x *exchange) updateOrg(req api.UpdateOrg) error {
	err := x.check(req)
	if err == nil {
		_, err = x.Warden.UpdateOrg(x.ctx, x.who, req)
	}
	return err
}

// orgAgain is the page with the form that could not be done as it was left.
func (x *exchange) orgAgain(form url.Values, f web.Form) (web.Page, error) {
	p, err := x.org()
	switch form.Get("do") {
	case "rename":
		p.Rename = f
	case "sync":
		p.Sync = f
	default:
		p.Defaults = f
		for _, row := range p.Rights {
			for i := range row.Cells {
				cell := &row.Cells[i]
				cell.Problem = f.Problems[cell.Name]
				if sent := form.Get(cell.Name); cell.Problem == "" && form.Has(cell.Name) {
					cell.Value, cell.Options = sent, rightsOptions(cell.Options[0], sent)
				}
			}
		}
	}
	return p, err
}

// Rights in a field are two characters, for reading and for writing: yes, no, or as
// usual.
const (
	mayRead, mayWrite, mayNot, asUsual = 'r', 'w', '-', '?'
	usually                            = string(asUsual) + string(asUsual)
)

// orgDefaults are the fields for what an organization's roles may do.
func orgDefaults(m api.Matrix) (all []web.OrgDefault) {
	usual := access.MatrixDefaults()
	for _, role := range access.Roles() {
		row := web.OrgDefault{Role: role.String()}
		for _, kind := range access.EnvTypes() {
			c := usual[role][kind]
			value := rightsText(m[role.String()][kind.String()])
			row.Cells = append(row.Cells, web.Choice{
				Field:   web.Field{Name: role.String() + "-" + kind.String(), Value: value},
				Label:   role.String() + ", " + kind.String(),
				Options: rightsOptions(web.Option{Value: usually, Name: "as usual: " + web.Rights{Read: *c.Read, Write: *c.Write}.Words()}, value),
			})
		}
		all = append(all, row)
	}
	return all
}

// rightsOptions are what can be chosen: what most want and, so that it is not lost,
// what is chosen already.
func rightsOptions(usual web.Option, chosen string) []web.Option {
	all := []web.Option{usual, {Value: "--", Name: "nothing"}, {Value: "r-", Name: "read"}, {Value: "rw", Name: "read and write"}, {Value: "-w", Name: "write only"}}
	known := slices.ContainsFunc(all, func(o web.Option) bool { return o.Value == chosen })
	if _, ok := rightsIn(chosen); !known && ok {
		word := map[byte]string{mayRead: "yes", mayWrite: "yes", mayNot: "no", asUsual: "as usual"}
		all = append(all, web.Option{Value: chosen, Name: "read: " + word[chosen[0]] + ", write: " + word[chosen[1]]})
	}
	return all
}

func rightsText(rights map[string]bool) string {
	text := []byte(usually)
	for i, right := range []string{"read", "write"} {
		if may, said := rights[right]; said && may {
			text[i] = right[0]
		} else if said {
			text[i] = mayNot
		}
	}
	return string(text)
}

func rightsIn(text string) (map[string]bool, bool) {
	if len(text) != 2 {
		return nil, false
	}
	rights := make(map[string]bool)
	for i, right := range []string{"read", "write"} {
		switch text[i] {
		case right[0]:
			rights[right] = true
		case mayNot:
			rights[right] = false
		case asUsual:
		default:
			return nil, false
		}
	}
	return rights, true
}

// defaultsIn reads the form for what an organization's roles may do. All of it has
// to be there: what is left out would be taken back.
func defaultsIn(form url.Values) (api.Matrix, error) {
	var wrong api.Fields
	m := make(api.Matrix)
	for _, role := range access.Roles() {
		for _, kind := range access.EnvTypes() {
			name := role.String() + "-" + kind.String()
			rights, ok := rightsIn(form.Get(name))
			if !ok {
				wrong.Add(name, api.UnknownValue, "Choose one of the list.")
			}
			if len(rights) == 0 {
				continue
			}
			if m[role.String()] == nil {
				m[role.String()] = make(map[string]map[string]bool)
			}
			m[role.String()][kind.String()] = rights
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return m, nil
}
