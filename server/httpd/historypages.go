package httpd

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	historyPath  = vaultPath + "/history"
	rollbackPath = historyPath + "/rollback"
)

func historyPages() []route {
	return []route{
		{method: get, path: historyPath, bucket: inGeneral, run: inVault(history)},
		{method: get, path: rollbackPath, bucket: inGeneral, run: inVault(askRollback)},
		{method: post, path: rollbackPath, bucket: inBulk, run: actInVault(rollBack)},
	}
}

const (
	revisionsShown = 25 // on one page of a history
	changesShown   = 20 // keys of one revision; the rest is a link away
)

// historyRequest is what the address of a history says.
type historyRequest struct {
	api.Ref
	Environment string `query:"environment"`
	Offset      int    `query:"offset"`
}

// Check holds the page against its bounds.
func (r historyRequest) Check(f *api.Fields) {
	r.Ref.Check(f)
	if r.Offset < 0 {
		f.Add("offset", api.TooSmall, "At least 0.")
	}
}

// history shows how an environment came to what it holds.
func history(x *exchange, v *api.Vault) (web.Page, error) {
	req, err := asked[historyRequest](x)
	if err != nil {
		return nil, err
	}
	p := web.History{Frame: x.frame(), ReadOnly: x.readOnly(v), Now: x.Now()}
	if req.Environment == "" && len(v.EnvironmentDetails) > 0 {
		req.Environment = v.EnvironmentDetails[0].Name
	}
	if req.Environment == "" {
		return p, nil
	}
	p.Environment = req.Environment
	found, err := x.Warden.Revisions(x.ctx, x.who, warden.RevisionsQuery{
		Ref: req.Ref, Environment: req.Environment, Limit: revisionsShown, Offset: req.Offset,
	})
	if err != nil {
		return nil, err
	}
	for _, e := range v.EnvironmentDetails {
		p.Environments = append(p.Environments, web.Filter{
			Name: e.Name, Path: historyOf(p.Inside.At, e.Name), Count: int(e.Revision), Current: e.Name == req.Environment,
		})
	}
	for _, rev := range found.Items {
		p.Rows = append(p.Rows, revisionRow(p.Inside.At, req.Environment, rev, found))
	}
	p.Pager = x.pager(revisionsShown, req.Offset, len(found.Items), found.Total)
	return p, nil
}

func revisionRow(vault, environment string, rev warden.Revision, all *warden.Revisions) web.RevisionRow {
	this, before := fmt.Sprint(rev.Number), fmt.Sprint(rev.Number-1)
	row := web.RevisionRow{
		Number: rev.Number, At: rev.At, By: rev.By, Keys: rev.Keys[:min(len(rev.Keys), changesShown)],
		Current: rev.Number == all.Current, Change: comparison(vault, environment, before, environment, this),
	}
	row.MoreKeys = len(rev.Keys) - len(row.Keys)
	if row.Current {
		return row
	}
	row.Compare = comparison(vault, environment, this, environment, "")
	if all.CanRollBack {
		row.RollBack = rollbackTo(vault, environment, this)
	}
	return row
}

// historyOf is the address of an environment's history.
func historyOf(vault, environment string) string {
	return withQuery(vault+strings.TrimPrefix(historyPath, vaultPath), url.Values{"environment": {environment}})
}

// rollbackTo is the address of the page that asks whether to roll back.
func rollbackTo(vault, environment, revision string) string {
	return withQuery(vault+strings.TrimPrefix(rollbackPath, vaultPath), url.Values{"environment": {environment}, "revision": {revision}})
}

// rollbackRequest is what the address of the page that asks says.
type rollbackRequest struct {
	api.Ref
	Environment string `query:"environment" need:"true"`
	Revision    int    `query:"revision" need:"true"`
}

// Check lets a revision through that there may have been.
func (r rollbackRequest) Check(f *api.Fields) {
	r.Ref.Check(f)
	if r.Revision < 0 {
		f.Add("revision", api.TooSmall, "At least 0.")
	}
}

// askRollback shows what a rollback would change, and asks.
func askRollback(x *exchange, _ *api.Vault) (web.Page, error) {
	req, err := asked[rollbackRequest](x)
	if err != nil {
		return nil, err
	}
	return x.rollback(*req, web.Form{}, nil)
}

// rollback is the page that asks. With the revision that somebody looked at before,
// it leads to what was changed since.
func (x *exchange) rollback(req rollbackRequest, f web.Form, seen *int) (web.Page, error) {
	would, err := x.Warden.Rollback(x.ctx, x.who, warden.RollbackQuery{
		Ref: req.Ref, Environment: req.Environment, Revision: req.Revision, DryRun: true,
	})
	if err != nil {
		return nil, err
	}
	p := web.Rollback{
		Frame: x.frame(), Environment: req.Environment, Revision: req.Revision, Then: would.Then,
		Base: would.Current, Incomplete: would.Incomplete, Form: f,
		Created: would.Created, Updated: would.Updated, Deleted: would.Deleted,
	}
	p.At = p.Inside.At + strings.TrimPrefix(rollbackPath, vaultPath)
	p.Back = historyOf(p.Inside.At, req.Environment)
	if seen != nil && uint64(*seen) != would.Current {
		p.Meanwhile = comparison(p.Inside.At, req.Environment, strconv.Itoa(*seen), req.Environment, "")
	}
	return p, nil
}

// rollBack makes an environment what it was, if it is still what the page showed.
func rollBack(x *exchange, _ *api.Vault, form url.Values) error {
	ref, err := asked[api.Ref](x)
	if err != nil {
		return err
	}
	var wrong api.Fields
	req := rollbackRequest{Ref: *ref, Environment: form.Get("environment"), Revision: revisionIn(form, "revision", &wrong)}
	base := revisionIn(form, "baseRevision", &wrong)
	if err := wrong.Err(); err != nil {
		return err
	}
	_, err = x.Warden.Rollback(x.ctx, x.who, warden.RollbackQuery{
		Ref: *ref, Environment: req.Environment, Revision: req.Revision, Base: &base, Incomplete: form.Get("incomplete") == "true",
	})
	if err == nil {
		x.done(historyOf(pathOf(x.vault.RepoOwner, x.vault.RepoName), req.Environment), rolledBack)
		return nil
	}
	if api.CodeOf(err) != api.Conflict {
		return err // there is nothing to look at again
	}
	return x.again(err, form, nil, func(f web.Form) (web.Page, error) { return x.rollback(req, f, &base) })
}

// revisionIn is the revision that a field of a form names.
func revisionIn(form url.Values, field string, wrong *api.Fields) int {
	n, err := strconv.Atoi(form.Get(field))
	if err != nil || n < 0 {
		wrong.Add(field, api.InvalidFormat, "A revision of the environment.")
	}
	return n
}
