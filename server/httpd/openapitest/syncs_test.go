package openapitest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// hosting is a stand-in for Vercel, where ann has a project.
type hosting struct {
	*hostingtest.Vercel
	person, team, project string
	connection            string // of ann's, once there is one
}

func newHosting(t *testing.T) *hosting {
	v := &hosting{Vercel: hostingtest.NewVercel(t, time.Now)}
	v.person = v.AddUser("ann")
	v.team = v.AddTeam("Acme", v.person)
	v.project = v.AddProject(v.team, "shop")
	v.AddApp(hostingtest.VercelApp{
		Slug: "coffer", ClientID: "oac_1", Secret: "vercel-client-secret", Redirect: "https://vault.example/v1/integrations/vercel/callback",
	})
	return v
}

// reach has the instance ask the stand-in, and wait for no sync for long.
func (v *hosting) reach(c *server.Config) {
	c.Hosting.Vercel = server.ProviderConfig{
		APIURL: v.URL, WebURL: "https://vercel.test", ClientID: "oac_1", ClientSecret: "vercel-client-secret", Slug: "coffer",
	}
	c.TestOnlySyncWait = 50 * time.Millisecond
}

func (v *hosting) token() string { return v.Token(hostingtest.VercelToken{User: v.person}) }

const (
	integrations = "/v1/integrations"
	vercel       = integrations + "/vercel"
	syncs        = integrations + "/vaults/ann/api/sync"
)

// integrations connects in both ways, and looks around.
func (w *world) integrations() {
	w.as("", "GET "+integrations, "", 200)
	w.ask("GET "+integrations+"/connections", "", 200)
	w.ask("POST "+vercel+"/ticket", "", 200)
	left := w.ask("GET "+vercel+"/authorize", "", 302)
	cookie, _, _ := strings.Cut(left.header.Get("Set-Cookie"), ";")
	back := vercel + "/callback?" + w.vercel.Install(left.header.Get("Location"), w.vercel.person, w.vercel.team).Encode()
	w.as("", "GET "+back, "", 400)
	w.as("", "GET "+back, "", 302, "Cookie", cookie)
	for _, end := range []struct {
		query  string
		status int
	}{{"&error=access_denied", 403}, {"&code=x", 502}} {
		left = w.ask("GET "+vercel+"/authorize", "", 302)
		cookie, _, _ = strings.Cut(left.header.Get("Set-Cookie"), ";")
		_, state, _ := strings.Cut(left.header.Get("Location"), "state=")
		state, _, _ = strings.Cut(state, "&")
		w.vercel.Break("", standin.Status(http.StatusInternalServerError))
		w.as("", "GET "+vercel+"/callback?state="+state+end.query, "", end.status, "Cookie", cookie)
		w.vercel.Heal()
	}
	connected := w.ask("POST "+vercel+"/connect", fmt.Sprintf(`{"token":%q,"teamId":%q}`, w.vercel.token(), w.vercel.team), 200)
	w.vercel.connection = w.text(connected, "connectionId")
	w.ask("GET "+integrations+"/connections", "", 200)
	w.ask("GET "+integrations+"/connections/"+w.vercel.connection+"/projects", "", 200)
	w.ask("GET "+integrations+"/providers/vercel/all-projects", "", 200)
	w.syncs()
	w.failing()
	w.ask("DELETE "+integrations+"/connections/"+w.vercel.connection, "", 204)
}

// target names what is synced, as a query and as members of a body.
func (w *world) target() (query, members string) {
	g := w.vercel
	return "?connectionId=" + g.connection + "&projectId=" + g.project + "&keywayEnvironment=staging&providerEnvironment=production&direction=push&allowDelete=true&allowReferences=false",
		fmt.Sprintf(`{"connectionId":%q,"projectId":%q,"keywayEnvironment":"staging"`, g.connection, g.project)
}

// syncs syncs there and back, and saves links.
func (w *world) syncs() {
	query, members := w.target()
	w.vercel.Put(w.vercel.project, "preview", "THEIRS", "x")
	for _, what := range []string{"preview", "status", "diff"} {
		w.ask("GET "+syncs+"/"+what+query, "", 200)
	}
	w.ask("POST "+syncs, members+`,"direction":"pull"}`, 200)
	link := w.text(w.ask("POST "+syncs+"/link", members+`,"autoSync":false}`, 200), "link.id")
	w.slow(members)
	w.ask("GET {V}", "", 200)
	w.ask("DELETE "+syncs+"/link/"+link, "", 204)
}

// slow has a sync that takes longer than its request.
func (w *world) slow(members string) {
	w.ask("POST /v1/secrets/push", `{"repoFullName":"ann/api","environment":"staging","secrets":{"A":"1","B":"2"}}`, 200)
	w.vercel.Break("", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			standin.Hang(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	})
	job := integrations + "/jobs/" + w.text(w.ask("POST "+syncs, members+"}", 202), "jobId")
	w.ask("GET "+job, "", 200)
	w.ask("POST "+syncs, members+"}", 409)
	w.ask("DELETE "+job, "", 204)
	for w.text(w.ask("GET "+job, "", 200), "status") == "running" {
		time.Sleep(10 * time.Millisecond)
	}
	w.ask("DELETE "+job, "", 409)
	w.vercel.Heal()
}

// failing asks a provider that is down, and then one that knows the token no more.
func (w *world) failing() {
	query, members := w.target()
	projects := "GET " + integrations + "/connections/" + w.vercel.connection + "/projects"
	ask := func(status int) {
		w.t.Helper()
		for _, what := range []string{"preview", "status", "diff"} {
			w.ask("GET "+syncs+"/"+what+query, "", status)
		}
		w.ask("POST "+syncs+"/link", members+"}", status)
		w.ask(projects, "", status)
	}
	w.vercel.Break("", standin.Status(http.StatusInternalServerError))
	ask(502)
	w.ask("POST "+vercel+"/connect", `{"token":"x"}`, 502)
	w.vercel.Heal()
	w.ask("POST "+syncs, members+`,"planHash":"x"}`, 409)
	token := w.vercel.token()
	w.ask("POST "+vercel+"/connect", fmt.Sprintf(`{"token":%q,"teamId":%q}`, token, w.vercel.team), 200)
	w.vercel.Revoke(token)
	ask(409)
}
