package forgetest_test

import (
	"context"
	"errors"
	"slices"
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

// naive follows the host to the letter: who is shown a repository reads it.
type naive struct{ *forge.Gitea }

func (l naive) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := l.Gitea.Role(ctx, as, repo)
	if err == nil && got.Role == forge.None {
		got.Role = forge.Read
	}
	return got, err
}

func TestTheRulesSeeAGiteaThatIsTakenLiterally(t *testing.T) {
	host := func(t *testing.T) *forgetest.Host {
		return gitea(t, forgetest.NewGitea).Wrap(func(f forge.Forge) forge.Forge { return naive{f.(*forge.Gitea)} })
	}
	sees := []string{"outsiders have no role, not even on what is public", "seeing a repository is no role"}
	got := forgetest.Broken(t, host, append(sees, "a collaborator has the role they were given", "a renamed repository is found by its id")...)
	if !slices.Equal(got, sees) {
		t.Errorf("the rules that do not hold are %q, want %q", got, sees)
	}
}

// quitter gives a grant up as soon as the host does not answer.
type quitter struct{ *forge.Gitea }

func (h quitter) Refresh(ctx context.Context, refresh string) (forge.Grant, error) {
	grant, err := h.Gitea.Refresh(ctx, refresh)
	if _, down := errors.AsType[*forge.Unavailable](err); down {
		err = forge.ErrGrantEnded
	}
	return grant, err
}

func TestTheRulesSeeAForgejoThatIsGivenUp(t *testing.T) {
	host := func(t *testing.T) *forgetest.Host {
		return gitea(t, forgetest.NewForgejo).Wrap(func(f forge.Forge) forge.Forge { return quitter{f.(*forge.Gitea)} })
	}
	sees := []string{"a host that fails does not end a grant"}
	got := forgetest.Broken(t, host, append(sees, "a refresh brings new tokens", "a refresh token that is over ends the grant")...)
	if !slices.Equal(got, sees) {
		t.Errorf("the rules that do not hold are %q, want %q", got, sees)
	}
}
