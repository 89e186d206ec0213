package forgetest_test

import (
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

func TestGitea(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) *forgetest.Host { return gitea(t, forgetest.NewGitea) })
}

func TestForgejo(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) *forgetest.Host { return gitea(t, forgetest.NewForgejo) })
}

// gitea is a Gitea or a Forgejo with our application and an administrator for us.
func gitea(t *testing.T, listen func(testing.TB, *forgetest.World) *forgetest.Gitea) *forgetest.Host {
	t.Helper()
	w := forgetest.NewWorld()
	fake := listen(t, w)
	app := w.AddApp("coffer", "https://coffer.example/login/callback")
	robot := w.AddUser("coffer-robot")
	w.SetSiteAdmin(robot)
	service := w.Token(robot, forgetest.PAT, forgetest.GiteaScopes()...)
	return &forgetest.Host{
		World: w,
		Fake:  fake.Fake,
		Forge: func(o forgetest.Options) forge.Forge {
			c := forge.Config{
				Kind: forge.KindGitea, URL: fake.URL, WebhookSecret: o.WebhookSecret, Now: w.Now,
				ClientID: app.ClientID, ClientSecret: app.Secret, RedirectURL: app.Redirect,
			}
			if o.Service {
				c.Token = service
			}
			f, err := forge.New(c)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Token: func(user int64) string { return w.Token(user, forgetest.PAT, forgetest.GiteaScopes()...) },
		Limited: func(user int64) []forgetest.Limited {
			token := func(scopes ...string) string { return w.Token(user, forgetest.PAT, scopes...) }
			return []forgetest.Limited{
				{Token: token("read:repository", "read:organization"), Question: "Bearer", Scope: "read:user"},
				{Token: token("read:user", "read:organization"), Question: "Role", Scope: "read:repository"},
				{Token: token("write:user", "read:organization"), Question: "Repositories", Scope: "read:repository"},
				{Token: token("read:user", "read:repository"), Question: "Organizations", Scope: "read:organization"},
				{Token: token("read:user", "read:repository"), Question: "Members", Scope: "read:organization"},
			}
		},
		OAuth: &forgetest.SignIn{App: app, Scopes: forgetest.GiteaScopes()},
		Hooks: func() []forgetest.Hook {
			return fake.Hooks(w.AddRepo(w.AddOrg("acme", w.AddUser("ann")), "api", forgetest.Private))
		},
		Features: forgetest.Features{
			Roles:             []forge.Role{forge.Read, forge.Write, forge.Admin},
			Teams:             true,
			Roleless:          true,
			MembersReadPublic: true,
			HiddenOrgs:        true,
			Hides:             true,
			Redirects:         true,
			Machines:          []forgetest.Kind{forgetest.CI},
			Refreshes:         true,
			SingleUse:         fake.Forgejo(),
		},
	}
}
