package warden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/dotenv"
	"coffer/store"
)

// Push makes an environment hold the secrets of the request: all of it or, on
// any error, nothing. A dry run does everything but write.
func (w *Warden) Push(ctx context.Context, who Caller, req api.PushSecrets) (*api.Pushed, error) {
	mode := w.defaultMode(who)
	if req.Mode != nil {
		mode = *req.Mode
	}
	act := access.Push
	if req.DryRun {
		act = access.PushDryRun
	}
	var out *api.Pushed
	err := w.change(ctx, who, act, req.RepoFullName, func(v *visit) error {
		e, err := v.named(req.Environment)
		if err != nil {
			return err
		}
		p := push{visit: v, e: e, incoming: req.Secrets, replace: mode == api.ModeReplace, dry: req.DryRun}
		if err := p.check(req.BaseRevision); err != nil {
			return err
		}
		if err := p.run(); err != nil {
			return err
		}
		v.note("secrets_pushed", p.meta(mode))
		out = p.answer()
		return nil
	})
	return out, err
}

// defaultMode is how a push without a mode treats keys that it does not name.
func (w *Warden) defaultMode(who Caller) string {
	for _, prefix := range w.c.AdditiveClients {
		if strings.HasPrefix(who.userAgent, prefix) {
			return api.ModeMerge
		}
	}
	return api.ModeReplace
}

// push is one push under way.
type push struct {
	*visit
	e        *store.Environment
	incoming map[string]api.Secret
	replace  bool
	dry      bool            // decide, but write nothing
	exact    bool            // no value is what a client made of another one
	spared   map[string]bool // keys that stay as they are, whatever the mode

	created, updated, deleted []string
	unchanged                 int
}

// check holds the push against the plan and against what its sender last saw.
func (p *push) check(base *int) error {
	if err := p.checkSizes("secrets.", p.incoming); err != nil {
		return err
	}
	if base != nil && uint64(*base) != p.e.Revision {
		return p.conflict(uint64(*base))
	}
	return p.checkBatch(len(p.incoming))
}

// conflict tells what changed since the sender looked. When the history of that
// is gone it names what differs now.
func (p *push) conflict(base uint64) error {
	e := &api.Error{Code: api.Conflict, Extra: map[string]any{"currentRevision": p.e.Revision},
		Message: fmt.Sprintf("%s is at revision %d by now, not %d: somebody changed it. Pull, look at what differs, and push again.", p.e.Name, p.e.Revision, base)}
	if !p.rights(p.e).Read {
		return e
	}
	names, err := p.ChangedSince(*p.e, base)
	if errors.Is(err, store.ErrNotFound) || base > p.e.Revision {
		names, err = p.differing()
	}
	if err != nil {
		return err
	}
	e.Extra["conflictKeys"] = orEmpty(names)
	return e
}

// differing names the keys that a push in the mode "replace" would touch.
func (p *push) differing() ([]string, error) {
	all := push{visit: p.visit, e: p.e, incoming: p.incoming, replace: true, dry: true}
	err := all.run()
	names := slices.Concat(all.created, all.updated, all.deleted)
	slices.Sort(names)
	return names, err
}

func (p *push) run() error {
	there, err := p.Newest(*p.e)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(there))
	for _, n := range there {
		known[n.Key] = true
		if err := p.meet(n); err != nil {
			return err
		}
	}
	var fresh []string
	for name := range p.incoming {
		if !known[name] {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh {
		p.created = append(p.created, name)
		if p.dry {
			continue
		}
		if _, err := p.add(p.e, name, []byte(p.incoming[name].Reveal())); err != nil {
			return err
		}
	}
	changed := slices.Concat(p.created, p.updated, p.deleted)
	if p.dry {
		p.would = len(p.created) - len(p.deleted)
	}
	if p.dry || len(changed) == 0 {
		return nil
	}
	return p.touch(p.e, changed...)
}

// meet decides about a secret that is there already. What existing clients make
// of a value that they pulled counts as that value: otherwise pushing what was
// pulled would destroy every value of more than one line.
func (p *push) meet(n store.Newest) error {
	value, named := p.incoming[n.Key]
	if !named {
		if !p.replace || p.spared[n.Key] {
			return nil
		}
		p.deleted = append(p.deleted, n.Key)
		if p.dry {
			return nil
		}
		_, err := p.trash(p.e, n)
		return err
	}
	stored, err := p.openNewest(p.e, n)
	if err != nil {
		return err
	}
	if value.Reveal() == string(stored) || !p.exact && dotenv.SameAfterRoundTrip(string(stored), value.Reveal()) {
		p.unchanged++
		return nil
	}
	p.updated = append(p.updated, n.Key)
	if p.dry {
		return nil
	}
	_, err = p.visit.replace(p.e, n, []byte(value.Reveal()))
	return err
}

func (p *push) meta(mode string) map[string]any {
	meta := map[string]any{
		"environment": p.e.Name, "mode": mode, "revision": p.e.Revision,
		"created": len(p.created), "updated": len(p.updated), "deleted": len(p.deleted), "unchanged": p.unchanged,
	}
	if p.dry {
		meta["dryRun"] = true
	}
	return meta
}

func (p *push) answer() *api.Pushed {
	would := ""
	if p.dry {
		would = "would be: "
	}
	out := &api.Pushed{
		Success: true, DryRun: p.dry, Revision: p.e.Revision,
		Stats: api.PushStats{Created: len(p.created), Updated: len(p.updated), Deleted: len(p.deleted), Unchanged: p.unchanged},
		Message: fmt.Sprintf("%s: %s%d created, %d updated, %d moved to trash, %d unchanged",
			p.e.Name, would, len(p.created), len(p.updated), len(p.deleted), p.unchanged),
	}
	if p.dry {
		out.Changes = &api.PushChanges{Created: orEmpty(p.created), Updated: orEmpty(p.updated), Deleted: orEmpty(p.deleted)}
	}
	return out
}

// orEmpty is names for a list that is never null.
func orEmpty(names []string) []string { return append([]string{}, names...) }
