package hostingtest

import (
	"context"
	"errors"
	"slices"

	"coffer/server/api"
	"coffer/server/hosting"
)

var findRules = []Rule{
	{"a provider says what holds for it", nil, checkDescription},
	{"a token tells whose it is", nil, checkAccount},
	{"a project is found with its environments", nil, checkFind},
	{"what was never there is not found", nil, checkNotFound},
	{"projects are listed over all pages", nil, checkProjects},
	{"a stranger reaches nothing", nil, checkStranger},
}

func checkDescription(_ context.Context, h *Host) error {
	d := h.Provider().Describe()
	var p problems
	if !slices.Contains(hosting.Names(), d.Name) || d.Display == "" {
		p.add("it is called %q, %q", d.Name, d.Display)
	}
	if d.Environments["production"] == "" {
		p.add("our production has no place there")
	}
	if d.ValidKey != nil && (!d.ValidKey("DATABASE_URL") || d.ValidKey("")) {
		p.add("DATABASE_URL is no key, or an empty name is one")
	}
	if d.OAuth != (h.OAuth != nil) || h.OAuth != nil && d.PKCE != h.OAuth.PKCE {
		p.add("that users may authorize is %v (PKCE %v), and should be %v", d.OAuth, d.PKCE, h.OAuth != nil)
	}
	return p.err()
}

func checkAccount(ctx context.Context, h *Host) error {
	p, c := h.Provider(), h.credential()
	var wrong problems
	got, err := p.Check(ctx, c)
	again, againErr := p.Check(ctx, c)
	if err != nil || got.UserName == "" && got.TeamName == "" {
		wrong.add("the account is %+v, error %w", got, orNone(err))
	}
	if againErr != nil || again != got {
		wrong.add("the account is %+v at first, and %+v then (%w)", got, again, orNone(againErr))
	}
	c.Team = "team-that-never-was"
	if got, err := p.Check(ctx, c); !away(err) && !errors.Is(err, hosting.ErrCredential) || got != (hosting.Account{}) {
		wrong.add("a team that never was: %+v, error %w", got, orNone(err))
	}
	return wrong.err()
}

func checkFind(ctx context.Context, h *Host) error {
	got, err := h.Provider().Find(ctx, h.credential(), h.Project, h.Service)
	if err != nil {
		return err
	}
	var p problems
	if got.ID != h.Project || got.Service != h.Service || got.Name == "" {
		p.add("found %q %q called %q, want %q %q", got.ID, got.Service, got.Name, h.Project, h.Service)
	}
	seen := map[string]bool{}
	for _, e := range got.Environments {
		if seen[e.Name] || e.Name == "" {
			p.add("an environment is called %q, as another is", e.Name)
		}
		seen[e.Name] = true
	}
	if !seen[h.Here] || !seen[h.There] {
		p.add("the environments are %v, want %s and %s", got.Environments, h.Here, h.There)
	}
	return p.err()
}

func checkNotFound(ctx context.Context, h *Host) error {
	var p problems
	client, c := h.Provider(), h.credential()
	for _, at := range [][2]string{
		{"never-was", ""}, {"..", ""}, {"../" + h.Project, ""}, {h.Project + "/..", ""}, {"a b?c#d%", ""}, {"", ""}, {h.Project, "never-was"}, {h.Project, "../x"},
	} {
		got, err := client.Find(ctx, c, at[0], at[1])
		if !errors.Is(err, hosting.ErrNotFound) || got.ID != "" {
			p.add("project %q, service %q: found %q, error %w, want %v", at[0], at[1], got.ID, orNone(err), hosting.ErrNotFound)
		}
		p = append(p, h.clean(err))
	}
	return p.err()
}

func checkProjects(ctx context.Context, h *Host) error {
	const more = 5
	client, c := h.Provider(), h.credential()
	before, err := client.Projects(ctx, c)
	if err != nil {
		return err
	}
	h.AddProjects(more)
	h.Fake.SetPageSize(2)
	all, err := client.Projects(ctx, c)
	if err != nil {
		return err
	}
	var p problems
	ids, entries := map[string]bool{}, map[[2]string]hosting.Project{}
	for _, one := range all {
		ids[one.ID] = true
		if _, twice := entries[[2]string{one.ID, one.Service}]; twice || one.Name == "" {
			p.add("a project is called %q, or listed twice", one.Name)
		}
		entries[[2]string{one.ID, one.Service}] = one
	}
	old := map[string]bool{}
	for _, one := range before {
		old[one.ID] = true
	}
	if len(ids) != len(old)+more {
		p.add("%d projects are listed, want %d and %d more", len(ids), len(old), more)
	}
	found, err := client.Find(ctx, c, h.Project, h.Service)
	one := entries[[2]string{h.Project, h.Service}]
	if err != nil || one.Name != found.Name || one.Team != found.Team || !sameEnvironments(one, found) {
		p.add("the project is listed as %+v, and found as %+v (%w)", one, found, orNone(err))
	}
	return p.err()
}

func sameEnvironments(a, b hosting.Project) bool {
	names := func(p hosting.Project) []string {
		var all []string
		for _, e := range p.Environments {
			all = append(all, e.Name)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(names(a), names(b))
}

// away reports whether an error says that something is not there, or not for us.
func away(err error) bool {
	f, ok := errors.AsType[*hosting.Failure](err)
	return errors.Is(err, hosting.ErrNotFound) || ok && (f.Code == hosting.CodeForbidden || f.Code == hosting.CodeNotFound)
}

func checkStranger(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Put(h.Here, "MINE", "mine")
	listed, err := s.list(ctx, s.here)
	p := problems{err}
	s.c = h.Stranger()
	h.keep(&h.tokens, s.c.Token.Reveal())
	if got, err := s.p.Find(ctx, s.c, h.Project, h.Service); !away(err) || got.ID != "" {
		p.add("a stranger finds %q, error %w", got.ID, orNone(err))
	}
	if _, err := s.list(ctx, s.here); !away(err) {
		p.add("a stranger lists, error %w", orNone(err))
	}
	if all, err := s.p.Projects(ctx, s.c); err != nil || slices.ContainsFunc(all, func(one hosting.Project) bool { return one.ID == h.Project }) {
		p.add("a stranger's projects: %v, error %w", all, orNone(err))
	}
	was := listed["MINE"]
	o, err := s.run(ctx, s.here, []hosting.Write{{Key: "MINE", Value: api.NewSecret("theirs"), Was: &was}, {Key: "NEW", Value: api.NewSecret("theirs")}})
	p = append(p, strange("written", o, err))
	o, err = s.drop(ctx, s.here, []hosting.Variable{was})
	p = append(p, strange("deleted", o, err), h.holds(h.Here, map[string]string{"MINE": "mine"}))
	return p.err()
}

// strange wants a run to have been kept from everything.
func strange(what string, o *told, err error) error {
	var p problems
	if keys := o.ok(); len(keys) > 0 {
		p.add("a stranger has %s %v", what, keys)
	}
	if err != nil && !away(err) {
		p.add("a stranger has %s: %w", what, err)
	}
	for key, out := range o.outcomes {
		if out.Err != nil && !away(out.Err) {
			p.add("a stranger has %s %s: %w", what, key, out.Err)
		}
	}
	return p.err()
}
