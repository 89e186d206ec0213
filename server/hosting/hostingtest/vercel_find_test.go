package hostingtest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

func TestVercelProjectsOfAllTeams(t *testing.T) {
	w := newVercel(t)
	w.SetPageSize(1)
	w.Link(w.project, map[string]any{"type": "github", "org": "acme", "repo": "engine"})
	p := w.provider(t)
	c := hosting.Credential{Token: api.NewSecret(w.Token(w.token))}
	all, err := p.Projects(t.Context(), c)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if x := all[0]; x.ID != w.project || x.Team != w.team || x.TeamName != "Acme" || x.Repository != "acme/engine" || x.Framework != "nextjs" || x.Created.IsZero() {
		t.Errorf("the team's project is %+v", x)
	}
	if x := all[1]; x.Team != "" || x.TeamName != "" {
		t.Errorf("the user's project is %+v", x)
	}
	if names := vercelEnvironments(all[0]); names != "production preview development canary" {
		t.Errorf("environments %q", names)
	}
	for _, x := range all {
		found, err := p.Find(t.Context(), c, x.ID, "")
		if err != nil || found.Team != x.Team || vercelEnvironments(found) != vercelEnvironments(x) {
			t.Errorf("%s is found as %+v, error %v", x.ID, found, err)
		}
		w.Put(x.ID, "production", "A", x.ID)
		at := hosting.Target{Project: found, Environment: found.Environments[0]}
		if v := vercelList(t, p, c, at)["A"]; v.Value.Reveal() != x.ID {
			t.Errorf("%s holds %q", x.ID, v.Value.Reveal())
		}
	}
	// A token that is limited to a team sees what is that team's.
	c = hosting.Credential{Token: api.NewSecret(w.Token(hostingtest.VercelToken{User: w.user, Team: w.team}))}
	if all, err := p.Projects(t.Context(), c); err != nil || len(all) != 1 || all[0].ID != w.project {
		t.Errorf("projects %v, error %v", all, err)
	}
	if found, err := p.Find(t.Context(), c, w.project, ""); err != nil || found.Team != w.team {
		t.Errorf("found %+v, error %v", found, err)
	}
}

// TestVercelOfOneAccount has tokens that reach no team.
func TestVercelOfOneAccount(t *testing.T) {
	w := newVercel(t)
	w.Break("/v2/teams", standin.Status(http.StatusForbidden))
	p := w.provider(t)
	c := hosting.Credential{Token: api.NewSecret(w.Token(w.token))}
	all, err := p.Projects(t.Context(), c)
	if err != nil || len(all) != 1 || all[0].Team != "" {
		t.Fatalf("projects %v, error %v", all, err)
	}
	if found, err := p.Find(t.Context(), c, all[0].ID, ""); err != nil || found.ID != all[0].ID {
		t.Errorf("found %+v, error %v", found, err)
	}
	if found, err := p.Find(t.Context(), c, w.project, ""); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("found %+v, error %v", found, err)
	}
}

func vercelEnvironments(p hosting.Project) string {
	var names []string
	for _, e := range p.Environments {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

func TestVercelNamesRepositories(t *testing.T) {
	w := newVercel(t)
	p, c := w.provider(t), w.credential()
	for want, link := range map[string]map[string]any{
		"a/b":   {"type": "github", "org": "a", "repo": "b"},
		"c/d/e": {"type": "gitlab", "projectNamespace": "c/d", "projectName": "e"},
		"f/g":   {"type": "bitbucket", "owner": "f", "slug": "g", "name": "G G"},
		"":      {"type": "github", "org": "h"},
	} {
		w.Link(w.project, link)
		if x, err := p.Find(t.Context(), c, w.project, ""); err != nil || x.Repository != want {
			t.Errorf("%v is %q, want %q, error %v", link, x.Repository, want, err)
		}
	}
}

func TestVercelFindsByIDOnly(t *testing.T) {
	w := newVercel(t)
	w.Terse(w.project)
	p, c := w.provider(t), w.credential()
	if x, err := p.Find(t.Context(), c, w.project, ""); err != nil || !strings.HasSuffix(vercelEnvironments(x), "canary") {
		t.Errorf("%+v, error %v", x, err)
	}
	for _, names := range [][2]string{{"engine", ""}, {"prj_0", ""}, {"", ""}, {"..", ""}, {w.project, "service"}} {
		if x, err := p.Find(t.Context(), c, names[0], names[1]); !errors.Is(err, hosting.ErrNotFound) {
			t.Errorf("%q is found as %+v, error %v", names, x, err)
		}
	}
}

func TestVercelChecksTokens(t *testing.T) {
	w := newVercel(t)
	p, c := w.provider(t), w.credential()
	if a, err := p.Check(t.Context(), c); err != nil || a.UserID != w.user || a.UserName != "ada" || a.TeamID != w.team || a.TeamName != "Acme" {
		t.Errorf("%+v, error %v", a, err)
	}
	c.Team = ""
	if a, err := p.Check(t.Context(), c); err != nil || a.TeamID != "" {
		t.Errorf("%+v, error %v", a, err)
	}
	for _, team := range []string{"team_0", w.AddTeam("Others", w.AddUser("eve"))} {
		c.Team = team
		if a, err := p.Check(t.Context(), c); !errors.Is(err, hosting.ErrNotFound) {
			t.Errorf("%+v, error %v", a, err)
		}
	}
	c = hosting.Credential{Token: api.NewSecret(w.Token(hostingtest.VercelToken{User: w.user, Expires: w.config.Now().Add(-time.Hour)}))}
	if a, err := p.Check(t.Context(), c); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("%+v, error %v", a, err)
	}
}

func TestVercelAuthorizes(t *testing.T) {
	w := newVercel(t)
	p, ok := w.provider(t).(hosting.Authorizer)
	if !ok || !p.Describe().OAuth || p.Describe().PKCE {
		t.Fatalf("with an integration it is %T, which says %+v", p, p.Describe())
	}
	for _, team := range []string{w.team, ""} {
		back := w.Install(p.AuthorizeURL("the state", "a challenge"), w.user, team)
		if back.Get("state") != "the state" {
			t.Fatalf("the browser came back with %v", back)
		}
		g, err := p.Exchange(t.Context(), back, "")
		if err != nil || g.Team != team || g.Refresh.Len() > 0 || !g.Expires.IsZero() {
			t.Fatalf("%+v, error %v", g, err)
		}
		if a, err := p.Check(t.Context(), hosting.Credential{Token: g.Access, Team: g.Team}); err != nil || a.UserID != w.user || a.TeamID != team {
			t.Errorf("%+v, error %v", a, err)
		}
		for _, again := range []map[string][]string{back, {"code": {"wrong"}}, {}} {
			if g, err := p.Exchange(t.Context(), again, ""); !errors.Is(err, hosting.ErrCredential) {
				t.Errorf("%v: %+v, error %v", again, g, err)
			}
		}
	}
	w.config.Slug = ""
	if q := w.provider(t); q.Describe().OAuth {
		t.Error("without a slug it can be authorized at")
	} else if _, ok := q.(hosting.Authorizer); ok {
		t.Error("without a slug it is an Authorizer")
	}
}
