package forgetest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

func TestGitLab(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) *forgetest.Host { h, _ := gitlab(t); return h })
}

// gitlab is a GitLab whose hooks send the secret. The service token is an
// administrator's.
func gitlab(t *testing.T) (*forgetest.Host, *forgetest.GitLab) {
	w := forgetest.NewWorld()
	fake := forgetest.NewGitLab(t, w)
	app := w.AddApp("coffer", "https://coffer.example/back")
	admin := w.AddUser("root")
	w.SetSiteAdmin(admin)
	config := forge.Config{
		Kind: forge.KindGitLab, URL: fake.URL, Now: w.Now,
		ClientID: app.ClientID, ClientSecret: app.Secret, RedirectURL: app.Redirect,
	}
	return &forgetest.Host{
		World: w, Fake: fake.Fake,
		Forge: func(o forgetest.Options) forge.Forge {
			c := config
			c.WebhookSecret = o.WebhookSecret
			if o.Service {
				c.Token = w.Token(admin, forgetest.PAT, "read_api")
			}
			return client(t, c)
		},
		Token: func(user int64) string { return w.Token(user, forgetest.PAT, "read_api") },
		Limited: func(user int64) []forgetest.Limited {
			var all []forgetest.Limited
			for _, question := range []string{"Bearer", "Repository", "RepositoryByID", "Role", "Repositories", "Collaborators", "Organization", "Standing", "Organizations", "Members"} {
				all = append(all, forgetest.Limited{Token: w.Token(user, forgetest.PAT, "read_user"), Question: question, Scope: "read_api"})
			}
			return all
		},
		OAuth: &forgetest.SignIn{App: app, Scopes: []string{"read_api"}},
		Hooks: func() []forgetest.Hook { return fake.Hooks(someRepo(w)) },
		Features: forgetest.Features{
			Roles: []forge.Role{forge.Read, forge.Write, forge.Maintain, forge.Admin},
			Teams: true, Base: true, Roleless: true, Internal: true, Hides: true, Redirects: true,
			Machines:  []forgetest.Kind{forgetest.CI, forgetest.Deploy, forgetest.Runner, forgetest.Bot},
			Refreshes: true, SingleUse: true, Revokes: true,
		},
	}, fake
}

func client(t *testing.T, c forge.Config) forge.Forge {
	t.Helper()
	f, err := forge.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func someRepo(w *forgetest.World) (repo, org, user int64) {
	user = w.AddUser("grace")
	org = w.AddOrg("acme", user)
	return w.AddRepo(org, "engine", forgetest.Private), org, user
}

// TestGitLabSigned checks the rules about hooks with those that sign.
func TestGitLabSigned(t *testing.T) {
	host := func(t *testing.T) *forgetest.Host {
		h, fake := gitlab(t)
		inner := h.Forge
		h.Forge = func(o forgetest.Options) forge.Forge {
			if o.WebhookSecret != "" {
				o.WebhookSecret = forgetest.SigningToken(o.WebhookSecret)
			}
			return inner(o)
		}
		h.Hooks = func() []forgetest.Hook { return fake.SignedHooks(someRepo(h.World)) }
		return h
	}
	var about []string
	for _, rule := range forgetest.Rules() {
		if rule.Needs != nil && !rule.Needs(&forgetest.Host{}) && rule.Needs(&forgetest.Host{Hooks: func() []forgetest.Hook { return nil }}) {
			about = append(about, rule.Name)
		}
	}
	if len(about) < 8 {
		t.Fatalf("only %d rules are about hooks: %q", len(about), about)
	}
	if broken := forgetest.Broken(t, host, about...); len(broken) > 0 {
		t.Errorf("broken: %q", broken)
	}
}

// pageReader takes a project's own permissions for the role, as its page shows
// them.
type pageReader struct {
	forge.Forge
	fake *forgetest.GitLab
}

func (b pageReader) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := b.Forge.Role(ctx, as, repo)
	if err != nil || as.Token == "" {
		return got, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.fake.URL+"/api/v4/projects/"+repo.ID, nil)
	if err != nil {
		return got, err
	}
	req.Header.Set("PRIVATE-TOKEN", as.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return got, err
	}
	defer func() { _ = res.Body.Close() }()
	var project struct {
		Permissions map[string]*struct {
			Level int `json:"access_level"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&project); err != nil {
		return got, err
	}
	level := 0
	for _, access := range project.Permissions {
		if access != nil {
			level = max(level, access.Level)
		}
	}
	got.Role = map[int]forge.Role{20: forge.Read, 30: forge.Write, 40: forge.Maintain, 50: forge.Admin}[level]
	return got, nil
}

func TestTheRulesSeeWhoBelievesGitLabsPermissions(t *testing.T) {
	believer := func(t *testing.T) *forgetest.Host {
		h, fake := gitlab(t)
		return h.Wrap(func(f forge.Forge) forge.Forge { return pageReader{f, fake} })
	}
	rules := []string{"a collaborator has the role they were given", "a member of a team has the team's role"}
	if broken := forgetest.Broken(t, believer, rules...); !slices.Equal(broken, rules[1:]) {
		t.Errorf("broken are %q, want %q", broken, rules[1:])
	}
}
