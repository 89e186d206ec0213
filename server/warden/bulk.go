package warden

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/dotenv"
	"coffer/store"
)

// Push makes an environment hold the secrets of the request: all of it or, on
// any error, nothing.
func (w *Warden) Push(ctx context.Context, who Caller, req api.PushSecrets) (*api.Pushed, error) {
	mode := req.Mode
	if mode == "" {
		mode = w.defaultMode(who)
	}
	var out *api.Pushed
	err := w.change(ctx, who, access.Push, req.RepoFullName, func(v *visit) error {
		e, err := v.named(req.Environment)
		if err != nil {
			return err
		}
		if err := v.checkPush(req.Secrets); err != nil {
			return err
		}
		p := push{visit: v, e: e, incoming: req.Secrets, replace: mode == api.ModeReplace}
		if err := p.run(); err != nil {
			return err
		}
		v.note("secrets_pushed", map[string]any{
			"environment": e.Name, "mode": mode, "revision": e.Revision,
			"created": p.stats.Created, "updated": p.stats.Updated,
			"deleted": p.stats.Deleted, "unchanged": p.stats.Unchanged,
		})
		out = &api.Pushed{Success: true, Message: p.message(), Stats: p.stats, Revision: e.Revision}
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

func (v *visit) checkPush(secrets map[string]api.Secret) error {
	var large []string
	for name, value := range secrets {
		if value.Len() > v.w.c.Plan.ValueBytes {
			large = append(large, name)
		}
	}
	slices.Sort(large)
	var f api.Fields
	for _, name := range large {
		v.checkSize(&f, "secrets."+name, secrets[name])
	}
	if err := f.Err(); err != nil {
		return err
	}
	if most := v.w.c.Plan.PushBatch; len(secrets) > most {
		return &api.Error{Code: api.PlanLimit, UpgradeURL: v.w.c.Plan.UpgradeURL,
			Message: fmt.Sprintf("This plan allows %d secrets in one push; this one has %d. Push them in parts with mode \"merge\".", most, len(secrets))}
	}
	return nil
}

// push is one push under way.
type push struct {
	*visit
	e        *store.Environment
	incoming map[string]api.Secret
	replace  bool
	stats    api.PushStats
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
		if _, err := p.add(p.e, name, []byte(p.incoming[name].Reveal())); err != nil {
			return err
		}
		p.stats.Created++
	}
	if p.stats.Created+p.stats.Updated+p.stats.Deleted == 0 {
		return nil
	}
	return p.touch(p.e)
}

// meet decides about a secret that is there already. What existing clients make
// of a value that they pulled counts as that value: otherwise pushing what was
// pulled would destroy every value of more than one line.
func (p *push) meet(n store.Newest) error {
	value, named := p.incoming[n.Key]
	if !named {
		if !p.replace {
			return nil
		}
		p.stats.Deleted++
		_, err := p.trash(p.e, n)
		return err
	}
	stored, err := p.openNewest(p.e, n)
	if err != nil {
		return err
	}
	if dotenv.SameAfterRoundTrip(string(stored), value.Reveal()) {
		p.stats.Unchanged++
		return nil
	}
	p.stats.Updated++
	_, err = p.visit.replace(p.e, n, []byte(value.Reveal()))
	return err
}

func (p *push) message() string {
	return fmt.Sprintf("%s: %d created, %d updated, %d moved to trash, %d unchanged",
		p.e.Name, p.stats.Created, p.stats.Updated, p.stats.Deleted, p.stats.Unchanged)
}

// Pull is an environment's values, sorted by key.
func (w *Warden) Pull(ctx context.Context, who Caller, req api.PullSecrets) (*api.Pulled, error) {
	p := pull{out: &api.Pulled{}}
	err := w.readThen(ctx, who, access.Pull, req.Repo, func(v *visit) error {
		e := v.environment(req.EnvironmentName())
		if e == nil {
			return v.errPullEnvironment(req.EnvironmentName())
		}
		if err := v.allow(e); err != nil {
			return err
		}
		return p.look(v, e, req)
	}, func(*visit) error { return p.answer(req.Format == api.FormatJSON) })
	return p.out, err
}

func (v *visit) errPullEnvironment(name string) error {
	var names []string
	for _, e := range v.readable() {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return api.Errorf(api.NotFound, "This vault has no environment %q.", name)
	}
	return api.Errorf(api.NotFound, "This vault has no environment %q. You may read: %s.", name, strings.Join(names, ", "))
}

// pull is one pull under way: what it found, sealed, and what it will answer.
type pull struct {
	out     *api.Pulled
	e       store.Environment
	rows    []store.Newest
	keys    map[uint32]*crypto.DataKey
	longest int
}

func (p *pull) look(v *visit, e *store.Environment, req api.PullSecrets) error {
	all, err := v.Newest(*e)
	if err != nil {
		return err
	}
	total := len(all)
	if req.Offset != nil {
		all = all[min(*req.Offset, total):]
	}
	if req.Limit != nil {
		all = all[:min(*req.Limit, len(all))]
	}
	p.e, p.rows = *e, all
	p.out.Count, p.out.Total, p.out.Revision = len(all), total, e.Revision
	if err := p.copyOut(v); err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Key
	}
	format := api.FormatEnv
	if req.Format != "" {
		format = req.Format
	}
	v.note("secrets_pulled", map[string]any{
		"environment": e.Name, "secretCount": len(all), "secretKeys": names, "revision": e.Revision, "format": format,
	})
	return nil
}

// copyOut takes the sealed values, and the keys that open them, out of the
// transaction: one copy for all of them.
func (p *pull) copyOut(v *visit) error {
	size := 0
	for _, n := range p.rows {
		size += len(n.Sealed)
		p.longest = max(p.longest, len(n.Sealed))
	}
	all := make([]byte, 0, size)
	p.keys = make(map[uint32]*crypto.DataKey, 1)
	for i, n := range p.rows {
		if p.keys[n.Generation] == nil {
			k, err := v.key(uint64(n.Generation))
			if err != nil {
				return err
			}
			p.keys[n.Generation] = k
		}
		at := len(all)
		all = append(all, n.Sealed...)
		p.rows[i].Sealed = all[at:len(all):len(all)]
	}
	return nil
}

// size is about how long the text of all values will be.
func (p *pull) size() int {
	n := 0
	for _, row := range p.rows {
		n += len(row.Key) + len(row.Sealed)
	}
	return n
}

func (p *pull) answer(exact bool) error {
	var content strings.Builder
	if exact {
		p.out.Secrets = make(map[string]api.Revealed, len(p.rows))
	} else {
		content.Grow(p.size())
	}
	plain := make([]byte, 0, p.longest)
	line := make([]byte, 0, 256)
	for i, n := range p.rows {
		value, err := p.keys[n.Generation].Open(plain[:0], n.Sealed, newestContext(&p.e, n))
		if err != nil {
			return fmt.Errorf("open the value of secret %s: %w", n.Secret, err)
		}
		if exact {
			p.out.Secrets[n.Key] = api.Revealed(value)
			continue
		}
		if i > 0 {
			content.WriteByte('\n')
		}
		line = dotenv.Append(line[:0], n.Key, value)
		content.Write(line)
	}
	if !exact {
		text := api.Revealed(content.String())
		p.out.Content = &text
	}
	return nil
}
