package warden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/dotenv"
	"coffer/store"
)

// Pull is an environment's values, sorted by key: those of now, or those of an
// instant or a revision in the past under the names that they have now.
func (w *Warden) Pull(ctx context.Context, who Caller, req api.PullSecrets) (*api.Pulled, error) {
	if req.Instant().After(w.now()) {
		return nil, api.InvalidField("at", api.FieldTooLarge, "An instant in the past.")
	}
	p := pull{req: req, out: &api.Pulled{}}
	err := w.readThen(ctx, who, access.Pull, req.Repo, func(v *visit) error {
		e := v.environment(req.EnvironmentName())
		if e == nil {
			return v.errPullEnvironment(req.EnvironmentName())
		}
		if err := v.allow(e); err != nil {
			return err
		}
		return p.look(v, e)
	}, func(*visit) error { return p.answer() })
	return p.out, err
}

func (v *visit) errPullEnvironment(name string) error {
	var names []string
	for _, e := range v.readable() {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return errNoEnvironment(name)
	}
	return api.Errorf(api.NotFound, "This vault has no environment %q. You may read: %s.", name, strings.Join(names, ", "))
}

// pull is one pull under way: what it found, sealed, and what it will answer.
type pull struct {
	req     api.PullSecrets
	out     *api.Pulled
	rows    []row
	keys    map[uint32]*crypto.DataKey
	longest int
}

// row is one sealed value, with what opens it.
type row struct {
	key        string
	generation uint32
	sealed     []byte
	context    []byte
}

func (p *pull) look(v *visit, e *store.Environment) error {
	rows, revision, err := p.find(v, e)
	if err != nil {
		return err
	}
	total := len(rows)
	if p.req.Offset != nil {
		rows = rows[min(*p.req.Offset, total):]
	}
	if p.req.Limit != nil {
		rows = rows[:min(*p.req.Limit, len(rows))]
	}
	p.rows = rows
	p.out.Count, p.out.Total, p.out.Revision = len(rows), total, revision
	p.tag(v, e)
	v.note("secrets_pulled", p.meta(e))
	if p.out.NotModified {
		return nil
	}
	return p.copyOut(v)
}

// find lists what the environment holds, or held at the time that is asked for.
func (p *pull) find(v *visit, e *store.Environment) ([]row, uint64, error) {
	if p.req.At == "" && p.req.Revision == nil {
		rows, err := newestRows(v, e)
		return rows, e.Revision, err
	}
	revision, err := p.revision(v, e)
	if err != nil {
		return nil, 0, err
	}
	rows, err := p.past(v, e, revision)
	return rows, revision, err
}

func newestRows(v *visit, e *store.Environment) ([]row, error) {
	all, err := v.Newest(*e)
	rows := make([]row, len(all))
	for i, n := range all {
		rows[i] = row{n.Key, n.Generation, n.Sealed, newestContext(e, n)}
	}
	return rows, err
}

// revision is the one that is asked for.
func (p *pull) revision(v *visit, e *store.Environment) (uint64, error) {
	if p.req.Revision != nil {
		asked := uint64(*p.req.Revision)
		if asked > e.Revision {
			return 0, api.InvalidField("revision", api.FieldTooLarge, "%s is at revision %d.", e.Name, e.Revision)
		}
		return asked, nil
	}
	revision, err := v.RevisionAt(*e, store.At(p.req.Instant()))
	if errors.Is(err, store.ErrNotFound) {
		p.out.Incomplete = true // before all that is remembered
		return 0, nil
	}
	return revision, err
}

// past lists what was active at a revision, with the values of then. What was
// removed for good since is missing, and the answer says so.
func (p *pull) past(v *visit, e *store.Environment, revision uint64) ([]row, error) {
	for _, lost := range e.Lost {
		p.out.Incomplete = p.out.Incomplete || lost.Holds(revision)
	}
	all, err := v.SecretsOf(*e)
	if err != nil {
		return nil, err
	}
	last, err := lastVersions(v, e)
	if err != nil {
		return nil, err
	}
	found := make(map[string]row)
	for _, s := range all {
		if !s.ActiveAt(revision) {
			continue
		}
		if s.Trashed != 0 {
			last[s.ID] = s.Version
			if _, taken := found[s.Key]; taken {
				p.out.Incomplete = true // two secrets of then have one name now
				continue
			}
		} else if _, taken := found[s.Key]; taken {
			p.out.Incomplete = true
		}
		ver, err := v.VersionAt(last[s.ID], revision)
		if errors.Is(err, store.ErrNotFound) {
			p.out.Incomplete = true // retention removed the version
			continue
		}
		if err != nil {
			return nil, err
		}
		found[s.Key] = row{s.Key, ver.Generation, ver.Sealed, crypto.VersionContext(ver.Vault, ver.Secret, ver.Number)}
	}
	rows := make([]row, 0, len(found))
	for _, r := range found {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.key, b.key) })
	return rows, nil
}

// lastVersions are the current versions of an environment's active secrets.
func lastVersions(v *visit, e *store.Environment) (map[store.ID]store.ID, error) {
	all, err := v.Newest(*e)
	last := make(map[store.ID]store.ID, len(all))
	for _, n := range all {
		last[n.Secret] = n.Version
	}
	return last, err
}

// tag names the answer by what it depends on, under a key of ours: a tag must
// say nothing about values to somebody who cannot read them.
func (p *pull) tag(v *visit, e *store.Environment) {
	number := func(n *int) int {
		if n == nil {
			return -1
		}
		return *n
	}
	at := ""
	if p.req.At != "" || p.req.Revision != nil {
		at = fmt.Sprint(e.Updated, e.Expired) // what is removed for good changes the past
	}
	p.out.ETag = v.keys.tag(fmt.Sprintf("%x %d %s %d %d %s %s", e.ID, p.out.Revision, p.format(),
		number(p.req.Limit), number(p.req.Offset), p.req.At, at))
	p.out.NotModified = matchesTag(p.req.IfNoneMatch, p.out.ETag)
}

// matchesTag reads an If-None-Match list (RFC 9110, section 13.1.2).
func matchesTag(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

func (p *pull) format() string {
	if p.req.Format == "" {
		return api.FormatEnv
	}
	return p.req.Format
}

func (p *pull) meta(e *store.Environment) map[string]any {
	names := make([]string, len(p.rows))
	for i, r := range p.rows {
		names[i] = r.key
	}
	meta := map[string]any{
		"environment": e.Name, "secretCount": len(names), "secretKeys": names,
		"revision": p.out.Revision, "format": p.format(),
	}
	if p.req.At != "" {
		meta["at"] = api.At(p.req.Instant()).String()
	}
	if p.out.NotModified {
		meta["notModified"] = true
	}
	return meta
}

// copyOut takes the sealed values, and the keys that open them, out of the
// transaction: one copy for all of them.
func (p *pull) copyOut(v *visit) error {
	size := 0
	for _, r := range p.rows {
		size += len(r.sealed)
		p.longest = max(p.longest, len(r.sealed))
	}
	all := make([]byte, 0, size)
	p.keys = make(map[uint32]*crypto.DataKey, 1)
	for i, r := range p.rows {
		if p.keys[r.generation] == nil {
			k, err := v.key(uint64(r.generation))
			if err != nil {
				return err
			}
			p.keys[r.generation] = k
		}
		at := len(all)
		all = append(all, r.sealed...)
		p.rows[i].sealed = all[at:len(all):len(all)]
	}
	return nil
}

// size is about how long the text of all values will be.
func (p *pull) size() int {
	n := 0
	for _, r := range p.rows {
		n += len(r.key) + len(r.sealed)
	}
	return n
}

func (p *pull) answer() error {
	if p.out.NotModified {
		return nil
	}
	exact := p.format() == api.FormatJSON
	if exact {
		p.out.Secrets = make(map[string]api.Revealed, len(p.rows))
	}
	var content strings.Builder
	if !exact {
		content.Grow(p.size())
	}
	plain := make([]byte, 0, p.longest)
	line := make([]byte, 0, 256)
	for i, r := range p.rows {
		value, err := p.keys[r.generation].Open(plain[:0], r.sealed, r.context)
		if err != nil {
			return fmt.Errorf("open the value of %s: %w", r.key, err)
		}
		if exact {
			p.out.Secrets[r.key] = api.Revealed(value)
			continue
		}
		if i > 0 {
			content.WriteByte('\n')
		}
		line = dotenv.Append(line[:0], r.key, value)
		content.Write(line)
	}
	if !exact {
		text := api.Revealed(content.String())
		p.out.Content = &text
	}
	return nil
}
