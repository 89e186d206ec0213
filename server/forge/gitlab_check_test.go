package forge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// findings are the levels by what was tried, the worst of each.
func findings(ctx context.Context, f forge.Forge) (levels map[string]string, text string) {
	levels = map[string]string{}
	for _, found := range f.(forge.Checker).Check(ctx) {
		text += found.Level + " " + found.What + ": " + found.Detail + "\n"
		if levels[found.What] != forge.FindingFailed && (levels[found.What] == "" || found.Level != forge.FindingOK) {
			levels[found.What] = found.Level
		}
	}
	return levels, text
}

func TestGitLabCheck(t *testing.T) {
	w, fake, base := gitlab(t)
	ada, root := w.AddUser("ada"), w.AddUser("root")
	w.SetSiteAdmin(root)
	org := w.AddOrg("acme", ada)
	w.AddRepo(org, "engine", forgetest.Private)
	group := fake.GroupToken(org, "read_api")
	base.WebhookSecret = "secret-of-hooks"
	like, _ := w.Live(group)
	like.Expires = w.Now().Add(13 * 24 * time.Hour)
	ending := w.AddToken(like)
	revoked := w.Token(root, forgetest.PAT, "read_api")
	w.Revoke(revoked)
	const app, token, scopes, end, reach, hook = "sign-in application", "service token", "service token's scopes", "service token's end", "service token's reach", "webhook secret"
	for name, tt := range map[string]struct {
		change func(*forge.Config)
		not    map[string]string // what is not ok
		says   string
	}{
		"all is well":           {func(c *forge.Config) { c.Token = group }, nil, "GitLab 18.5.1-ee"},
		"an administrator's":    {func(c *forge.Config) { c.Token = w.Token(root, forgetest.PAT, "read_api") }, nil, "administrator root"},
		"nothing is configured": {func(c *forge.Config) { c.ClientID, c.WebhookSecret = "", "" }, map[string]string{app: "warning", token: "warning", hook: "warning"}, "tells its version to a service token only"},
		"a wrong client secret": {func(c *forge.Config) { c.Token, c.ClientSecret = group, "wrong" }, map[string]string{app: "failed"}, "not by this secret"},
		"a revoked token":       {func(c *forge.Config) { c.Token = revoked }, map[string]string{token: "failed"}, "turned it down"},
		"a token about to end":  {func(c *forge.Config) { c.Token = ending }, map[string]string{end: "warning"}, "Make a new one before"},
		"too little":            {func(c *forge.Config) { c.Token = fake.GroupToken(org, "read_user") }, map[string]string{token: "failed"}, "lacks the scope read_api"},
		"too much":              {func(c *forge.Config) { c.Token = fake.GroupToken(org, "api", "sudo") }, map[string]string{scopes: "warning"}, "read_api is enough"},
		"a person's":            {func(c *forge.Config) { c.Token = w.Token(ada, forgetest.PAT, "read_api") }, map[string]string{token: "warning"}, "the user ada's"},
		"of an empty group":     {func(c *forge.Config) { c.Token = fake.GroupToken(w.AddOrg("empty"), "read_api") }, map[string]string{reach: "warning"}, "no project"},
		"a job's":               {func(c *forge.Config) { c.Token = w.Token(ada, forgetest.CI) }, map[string]string{token: "failed"}, "turned it down"},
	} {
		t.Run(name, func(t *testing.T) {
			c := base
			tt.change(&c)
			levels, text := findings(t.Context(), dial(t, c))
			for what, level := range levels {
				want := tt.not[what]
				if want == "" {
					want = forge.FindingOK
				}
				if level != want {
					t.Errorf("%s: %s, want %s\n%s", what, level, want, text)
				}
			}
			for what := range tt.not {
				if levels[what] == "" {
					t.Errorf("nothing is said of %s\n%s", what, text)
				}
			}
			if !strings.Contains(text, tt.says) {
				t.Errorf("it does not say %q\n%s", tt.says, text)
			}
			for _, secret := range []string{c.Token, c.ClientSecret, c.WebhookSecret} {
				if len(secret) > 6 && strings.Contains(text, secret) {
					t.Errorf("it says a secret\n%s", text)
				}
			}
		})
	}
	fake.Break("", standin.HTML)
	if levels, text := findings(t.Context(), dial(t, base)); levels["address"] != forge.FindingFailed || len(levels) != 1 {
		t.Errorf("after a page for people it is said\n%s", text)
	}
}
