package forge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

func TestGiteaBearersThatAreForeign(t *testing.T) {
	g := newGiteaWorld(t)
	other := g.w.AddApp("other", "https://other.example/back")
	code := g.w.Authorize(forgetest.Code{ClientID: other.ClientID, User: g.ada, Redirect: other.Redirect})
	pair, err := g.w.Redeem(other.ClientID, code, "", other.Redirect)
	if err != nil {
		t.Fatal(err)
	}
	none := func(c *forge.Config) { c.ClientID, c.ClientSecret = "", "" }
	for name, c := range map[string]struct {
		f          *forge.Gitea
		token, why string
	}{
		"another application's":  {g.client(), pair.Access.Text, "another application"},
		"no application of ours": {g.client(none), pair.Access.Text, "this server has none"},
		"a CI job's":             {g.client(), g.w.Token(g.ada, forgetest.CI), "CI job"},
	} {
		var foreign *forge.ForeignToken
		if _, err := c.f.Bearer(t.Context(), c.token); !errors.As(err, &foreign) || !strings.Contains(foreign.Why, c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := g.client(func(c *forge.Config) { c.ClientSecret = "wrong" })
	var down *forge.Unavailable
	if _, err := wrong.Bearer(t.Context(), pair.Access.Text); !errors.As(err, &down) || errors.Is(err, forge.ErrToken) || !strings.Contains(err.Error(), "sign-in application") {
		t.Errorf("with a wrong secret of ours, the user's token is blamed: %v", err)
	}
}

func TestGiteaFirstConsentStays(t *testing.T) {
	g := newGiteaWorld(t)
	f := g.client()
	g.w.Authorize(forgetest.Code{ClientID: g.app.ClientID, User: g.ada, Scopes: []string{"read:user"}, Redirect: g.app.Redirect})
	again := g.w.Authorize(forgetest.Code{ClientID: g.app.ClientID, User: g.ada, Scopes: forgetest.GiteaScopes(), Redirect: g.app.Redirect})
	grant, _, err := f.Exchange(t.Context(), again, "")
	var lacks *forge.Missing
	if !errors.As(err, &lacks) || !strings.Contains(lacks.What, g.URL+"/user/settings/applications") || grant != (forge.Grant{}) {
		t.Errorf("a consent to less: %v", err)
	}
}

func TestGiteaCheck(t *testing.T) {
	g := newGiteaWorld(t)
	revoked := g.pat(g.robot)
	g.w.Revoke(revoked)
	levels := func(f *forge.Gitea) (all []string) {
		for _, one := range f.Check(t.Context()) {
			if one.What == "service credential" && one.Level != forge.FindingOK && !strings.Contains(one.Detail, "read:user, read:repository, read:organization") {
				t.Errorf("it does not say which token to make: %q", one.Detail)
			}
			all = append(all, one.What+" "+one.Level)
			if strings.Contains(one.Detail, g.service) || strings.Contains(one.Detail, g.app.Secret) || one.Detail == "" {
				t.Errorf("%s: %q", one.What, one.Detail)
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		change func(*forge.Config)
		want   string
	}{
		"everything":       {func(c *forge.Config) { c.WebhookSecret = "s" }, "address ok, sign-in application ok, service credential ok, webhook secret ok"},
		"nothing":          {func(c *forge.Config) { c.ClientID, c.Token = "", "" }, "address ok, sign-in application warning, service credential warning, webhook secret warning"},
		"a wrong secret":   {func(c *forge.Config) { c.ClientSecret = "x" }, "address ok, sign-in application failed, service credential ok, webhook secret warning"},
		"no administrator": {func(c *forge.Config) { c.Token = g.pat(g.ada) }, "address ok, sign-in application ok, service credential failed, webhook secret warning"},
		"a scope too few":  {func(c *forge.Config) { c.Token = g.w.Token(g.robot, forgetest.PAT, "read:user") }, "address ok, sign-in application ok, service credential failed, webhook secret warning"},
		"too much":         {func(c *forge.Config) { c.Token = g.pat(g.robot, "all") }, "address ok, sign-in application ok, service credential warning, webhook secret warning"},
		"a revoked token":  {func(c *forge.Config) { c.Token = revoked }, "address ok, sign-in application ok, service credential failed, webhook secret warning"},
		"another address":  {func(c *forge.Config) { c.URL += "/nowhere" }, "address failed"},
	} {
		if got := strings.Join(levels(g.client(c.change)), ", "); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

func FuzzGiteaEvent(f *testing.F) {
	for _, body := range []string{
		`{"action":"created","repository":{"id":7,"owner":{"id":3,"login":"acme"}}}`, `{"action":"deleted","repository":{"id":7,"owner":{"id":3}}}`,
		`{"action":"renamed","repository":{"id":7,"owner":{"id":3}}}`, `{"action":"deleted","repository":{"id":-1}}`, `[]`, ``,
	} {
		f.Add([]byte(body), "repository", "")
		f.Add([]byte(body), "push", "zz")
	}
	const secret = "the secret"
	made, err := forge.New(forge.Config{Kind: forge.KindGitea, URL: "https://git.example", WebhookSecret: secret})
	if err != nil {
		f.Fatal(err)
	}
	topics := []forge.Topic{forge.Ignored, forge.RepoDeleted, forge.RepoChanged}
	f.Fuzz(func(t *testing.T, body []byte, name, signature string) {
		right := forgetest.HMAC(secret, body)
		deliver := func(signature string) (forge.Event, error) {
			header := map[string]string{"X-Gitea-Event": name, "X-Gitea-Delivery": "1", "X-Gitea-Signature": signature}
			return made.(forge.Hooks).Event(forge.Delivery{Header: func(h string) string { return header[h] }, Body: body})
		}
		if e, err := deliver(signature); !strings.EqualFold(signature, right) && (err == nil || e != (forge.Event{})) {
			t.Fatalf("the signature %q is believed", signature)
		}
		e, err := deliver(right)
		if err != nil {
			if e != (forge.Event{}) {
				t.Fatalf("an event beside the error: %+v", e)
			}
			return
		}
		if !slices.Contains(topics, e.Topic) || e.Topic != forge.Ignored && (e.Repo == "" || e.Org == "" || strings.HasPrefix(e.Repo, "-")) {
			t.Fatalf("the event %+v", e)
		}
	})
}
