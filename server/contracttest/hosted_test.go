package contracttest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/hosting/hostingtest"
)

// hosted is a site that knows stand-ins for hosting providers. Ann has a project
// at each, and a token there.
type hosted struct {
	*site
	ann *caller

	vercel  *hostingtest.Vercel
	netlify *hostingtest.Netlify
	github  *hostingtest.GitHubActions
	railway *hostingtest.Railway

	person, team, project string // at Vercel
	member, place         string // at Netlify; the place is a site
	repository            string // at GitHub, the number
	stack, service        string // at Railway
	tokens                map[string]string
}

// hostedSite is one that the test owns.
func hostedSite(t *testing.T, options ...func(*server.Config)) *hosted {
	t.Helper()
	needsItsOwn(t)
	h := &hosted{vercel: hostingtest.NewVercel(t, time.Now), netlify: hostingtest.NewNetlify(t), github: hostingtest.NewGitHubActions(t),
		railway: hostingtest.NewRailway(t)}
	h.person = h.vercel.AddUser("ann-at-vercel")
	h.team = h.vercel.AddTeam("Acme", h.person)
	h.project = h.vercel.AddProject(h.team, "shop")
	h.vercel.AddApp(hostingtest.VercelApp{
		Slug: "coffer", ClientID: "oac_1", Secret: "vercel-client-secret", Redirect: ourPublicURL + "/v1/integrations/vercel/callback",
	})
	team := h.netlify.AddTeam("acme", true)
	h.member = h.netlify.AddUser("ann-at-netlify", team)
	h.place = h.netlify.AddSite(team, "site")
	number := h.github.AddRepo("acme/api", "production")
	h.repository = fmt.Sprint(number)
	workspace := h.railway.AddWorkspace("acme")
	h.stack = h.railway.AddProject(workspace, "stack", "production", "staging")
	h.service = h.railway.AddService(h.stack, "web", "acme/api")
	h.tokens = map[string]string{
		"vercel": h.vercel.Token(hostingtest.VercelToken{User: h.person}), "netlify": h.netlify.Token(h.member),
		"github-actions": h.github.Token("ann", false, number).Text,
		"railway":        h.railway.WorkspaceToken(workspace),
	}
	h.site = ownSite(t, append([]func(*server.Config){h.reach}, options...)...)
	h.ann = h.user(t, "ann")
	t.Cleanup(func() {
		for name, leaks := range map[string][]string{"vercel": h.vercel.Leaks(), "netlify": h.netlify.Leaks(), "github-actions": h.github.Leaks(), "railway": h.railway.Leaks()} {
			if len(leaks) > 0 {
				t.Errorf("%s: a secret was sent where it must not go: %q", name, leaks)
			}
		}
	})
	return h
}

// reach has the instance ask the stand-ins.
func (h *hosted) reach(c *server.Config) {
	c.Hosting.Vercel = server.ProviderConfig{
		APIURL: h.vercel.URL, WebURL: "https://vercel.test", ClientID: "oac_1", ClientSecret: "vercel-client-secret", Slug: "coffer",
	}
	c.Hosting.Netlify = server.ProviderConfig{APIURL: h.netlify.URL, WebURL: h.netlify.URL}
	c.Hosting.Railway = server.ProviderConfig{APIURL: h.railway.URL, WebURL: h.railway.URL}
	c.Hosting.GitHubActions = server.ProviderConfig{APIURL: h.github.URL + "/api/v3"}
}

// connect connects a caller with the token of a provider, and is the connection.
func (h *hosted) connect(t testing.TB, c *caller, provider string) string {
	t.Helper()
	body := fmt.Sprintf(`{"token":%q}`, h.tokens[provider])
	if provider == "vercel" {
		body = fmt.Sprintf(`{"token":%q,"teamId":%q}`, h.tokens[provider], h.team)
	}
	return c.do(t, "POST /v1/integrations/"+provider+"/connect", body).ok(200).text("data.connectionId")
}

// target is where a vault is synced with: what requests about it have in common.
type target struct {
	connection, project, environment string
	more                             map[string]string
}

// at is the target with more, or other, parameters: "direction=pull".
func (g target) at(more ...string) target {
	all := make(map[string]string)
	for name, value := range g.more {
		all[name] = value
	}
	for _, pair := range more {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	g.more = all
	return g
}

func (g target) members() map[string]string {
	all := map[string]string{"connectionId": g.connection, "projectId": g.project, "keywayEnvironment": g.environment}
	for name, value := range g.more {
		all[name] = value
	}
	return all
}

func (g target) query() string {
	q := make(url.Values)
	for name, value := range g.members() {
		q.Set(name, value)
	}
	return q.Encode()
}

func (g target) body() string {
	var all []string
	for name, value := range g.members() {
		if value != "true" && value != "false" {
			value = quoted(value)
		}
		all = append(all, quoted(name)+":"+value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// syncs is the path of a vault's syncs.
func (v *sample) syncs() string { return "/v1/integrations/vaults/" + v.repo + "/sync" }

func (c *caller) preview(t testing.TB, v *sample, g target) *answer {
	t.Helper()
	return c.do(t, "GET "+v.syncs()+"/preview?"+g.query(), "")
}

func (c *caller) sync(t testing.TB, v *sample, g target) *answer {
	t.Helper()
	return c.do(t, "POST "+v.syncs(), g.body())
}

func (c *caller) link(t testing.TB, v *sample, g target) *answer {
	t.Helper()
	return c.do(t, "POST "+v.syncs()+"/link", g.body())
}

// connected is a hosted site where ann is connected to Vercel and has a vault.
func connected(t *testing.T, options ...func(*server.Config)) (*hosted, *sample, target) {
	t.Helper()
	h := hostedSite(t, options...)
	v := h.ann.vault(t, "@ann/api")
	return h, v, target{connection: h.connect(t, h.ann, "vercel"), project: h.project, environment: "production"}
}

// note is the newest record of an action at a vault: its metadata.
func (c *caller) note(t testing.TB, v *sample, action string) map[string]any {
	t.Helper()
	a := c.do(t, "GET "+v.at()+"/activity?limit=1&action="+action, "").ok(200)
	meta, _ := a.at("data.0.metadata").(map[string]any)
	return meta
}
