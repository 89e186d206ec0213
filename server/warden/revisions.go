package warden

import (
	"context"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// RevisionsQuery asks for a page of the revisions of an environment.
type RevisionsQuery struct {
	api.Ref
	Environment   string
	Limit, Offset int
}

// Revisions is a page of the revisions of an environment, newest first.
type Revisions struct {
	Items       []Revision
	Current     uint64
	Total       int  // that are remembered
	CanRollBack bool // the caller may
}

// Revision is one change of an environment.
type Revision struct {
	Number uint64
	At     time.Time
	By     string   // who made it, or "" if they are gone
	Keys   []string // that it changed, by the names of then
}

// Revisions lists how an environment came to what it holds. It names keys and no
// value, so it is recorded as little as a list of versions is.
func (w *Warden) Revisions(ctx context.Context, who Caller, req RevisionsQuery) (*Revisions, error) {
	out := &Revisions{}
	err := w.read(ctx, who, access.VersionList, req.Repository(), func(v *visit) error {
		e := v.environment(req.Environment)
		if e == nil {
			return v.errPullEnvironment(req.Environment)
		}
		if err := v.allow(e); err != nil {
			return err
		}
		reason, err := v.books.readOnly(v.vault)
		if err != nil {
			return err
		}
		out.Current = e.Revision
		out.CanRollBack = access.Rollback.Decide(access.Facts{
			Role: v.role, Rights: v.rights(e), Type: envType(e.Type), TestKey: v.who.isTest(), ReadOnly: reason != billing.Writable,
		}) == access.Granted
		page, total, err := v.Reader.Revisions(*e, req.Limit, req.Offset)
		if err != nil {
			return err
		}
		out.Total = total
		return v.tellRevisions(out, page)
	})
	return out, err
}

func (v *visit) tellRevisions(out *Revisions, page []store.Revision) error {
	for _, rev := range page {
		by, err := v.person(rev.By)
		if err != nil {
			return err
		}
		line := Revision{Number: rev.Number, At: rev.At.Time(), Keys: rev.Keys}
		if by != nil {
			line.By = by.Login
		}
		out.Items = append(out.Items, line)
	}
	return nil
}
