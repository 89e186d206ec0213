package forgetest_test

import (
	"net/http"
	"slices"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

func TestGitHub(t *testing.T) { forgetest.Run(t, github(false)) }

func TestGitHubWithAppUsers(t *testing.T) { forgetest.Run(t, github(true)) }

// github is a GitHub where people sign in through an OAuth App or through the
// GitHub App itself.
func github(appUsers bool) func(t *testing.T) *forgetest.Host {
	return func(t *testing.T) *forgetest.Host {
		h, _ := newGitHub(t, appUsers)
		return h
	}
}

func newGitHub(t *testing.T, appUsers bool) (*forgetest.Host, *forgetest.GitHub) {
	w := forgetest.NewWorld()
	g := forgetest.NewGitHub(t, w)
	service := g.Register(w.AddApp("coffer", "https://coffer.example/back"))
	g.InstallEverywhere()
	signIn := &forgetest.SignIn{App: service.App}
	if !appUsers {
		w.SetOAuth(forgetest.OAuthRules{})
		signIn = &forgetest.SignIn{App: w.AddApp("coffer", "https://coffer.example/back"), Scopes: []string{"read:user", "read:org", "repo"}}
	}
	scopes := []string{"read:user", "read:org", "repo"}
	return &forgetest.Host{
		World: w, Fake: g.Fake, OAuth: signIn, Hooks: g.Hooks,
		Forge: func(o forgetest.Options) forge.Forge {
			c := forge.Config{
				Kind: forge.KindGitHub, URL: g.URL, ClientID: signIn.App.ClientID, ClientSecret: signIn.App.Secret,
				RedirectURL: signIn.App.Redirect, WebhookSecret: o.WebhookSecret, Now: w.Now,
			}
			if o.Service {
				c.App = &forge.App{ID: service.ClientID, Sign: g.Sign}
			}
			f, err := forge.New(c)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Token: func(user int64) string { return w.Token(user, forgetest.PAT, scopes...) },
		Limited: func(user int64) []forgetest.Limited {
			without := func(kind forgetest.Kind, scopes ...string) string { return w.Token(user, kind, scopes...) }
			return []forgetest.Limited{
				{Token: without(forgetest.PAT, "read:user", "read:org"), Question: "Repository", Scope: "repo"},
				{Token: without(forgetest.PAT, "read:user", "read:org"), Question: "RepositoryByID", Scope: "repo"},
				{Token: without(forgetest.PAT, "read:user", "read:org"), Question: "Role", Scope: "repo"},
				{Token: without(forgetest.PAT, "read:user", "repo"), Question: "Organizations", Scope: "read:org"},
				{Token: without(forgetest.PAT, "read:user", "repo"), Question: "Standing", Scope: "read:org"},
				{Token: without(forgetest.PAT, "read:user", "repo"), Question: "Members", Scope: "read:org"},
				{Token: without(forgetest.FineGrained), Question: "Organizations", Scope: "members=read"},
				{Token: without(forgetest.FineGrained), Question: "Members", Scope: "members=read"},
			}
		},
		Features: forgetest.Features{
			Roles: []forge.Role{forge.Read, forge.Triage, forge.Write, forge.Maintain, forge.Admin},
			Teams: true, Base: true, MembersReadPublic: true, Internal: true, BlindToOwnRead: true, Hides: true, Redirects: true,
			Machines:  []forgetest.Kind{forgetest.Installation, forgetest.CI},
			Refreshes: appUsers, SingleUse: true, Revokes: true,
		},
	}, g
}

// TestTheRulesSeeWhoseApplicationATokenIs has GitHub say of every token that
// it is ours.
func TestTheRulesSeeWhoseApplicationATokenIs(t *testing.T) {
	credulous := func(t *testing.T) *forgetest.Host {
		h, g := newGitHub(t, false)
		ours := map[string]any{"app": map[string]any{"client_id": h.OAuth.App.ClientID}}
		g.Break("/api/v3/applications/", func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			standin.Answer(rw, http.StatusOK, ours)
		})
		return h
	}
	rules := []string{"a token of another application is turned down", "a token of our application is its user's"}
	if broken := forgetest.Broken(t, credulous, rules...); !slices.Equal(broken, rules[:1]) {
		t.Errorf("broken are %q, want %q", broken, rules[:1])
	}
}
