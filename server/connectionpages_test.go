package server_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/hosting/hostingtest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// markup is a name that somebody gave at a provider.
const markup = `<b>"x'`

// hosted is a town beside a Vercel where Ann has a team with a project.
type hosted struct {
	*servertest.Instance
	vercel               *hostingtest.Vercel
	team, project, token string
}

func hostedTown(t *testing.T, options ...func(*server.Config)) *hosted {
	t.Helper()
	h := &hosted{vercel: hostingtest.NewVercel(t, time.Now)}
	user := h.vercel.AddUser("ann-there")
	h.team = h.vercel.AddTeam("Acme "+markup, user)
	h.project = h.vercel.AddProject(h.team, "site "+markup)
	h.token = h.vercel.Token(hostingtest.VercelToken{User: user})
	h.Instance = town(t, append(options, func(c *server.Config) { c.Hosting.Vercel.APIURL = h.vercel.URL })...)
	return h
}

var connectionLink = regexp.MustCompile(`href="/connections/([0-9a-f-]{36})"`)

// connects pastes Ann's token in a browser, and returns the id of the connection.
func (h *hosted) connects(t *testing.T, b *servertest.Browser) string {
	t.Helper()
	expect(t, b.Submit("/connections/new", "provider", "vercel", "token", h.token, "teamId", h.team), 303, "/connections")
	s := expectSeen(t, b.Open("/connections"), 200, "You are connected.")
	found := connectionLink.FindStringSubmatch(s.Text)
	if found == nil {
		t.Fatalf("no connection is listed: %s", s.Text)
	}
	return found[1]
}

// takesNothing tries a form from another site, and without being signed in: that
// leads to the sign-in, with nothing of the form.
func (h *hosted) takesNothing(t *testing.T, b *servertest.Browser, path string, fields ...string) {
	t.Helper()
	expectSeen(t, b.Send("POST", path, servertest.Form(fields...), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	if s := h.Browser().Submit(path, fields...); s.Status != 303 || !strings.HasPrefix(s.Location(), "/login?return=") || strings.Contains(s.Text+s.Location(), h.token) {
		t.Errorf("%s without signing in: %d %s %s", path, s.Status, s.Location(), s.Text)
	}
}

// unharmed wants a page to show what others named as text.
func unharmed(t *testing.T, s *servertest.Seen) {
	t.Helper()
	if strings.Contains(s.Text, "<b>") {
		t.Errorf("markup of a provider is on the page: %s", s.Text)
	}
}

func TestPeopleConnectToAProvider(t *testing.T) {
	h := hostedTown(t)
	for _, page := range []string{"/connections", "/connections/new?provider=vercel", "/connections/x"} {
		if s := h.Browser().Open(page); s.Status != 303 || !strings.HasPrefix(s.Location(), "/login?return=%2Fconnections") {
			t.Errorf("%s for a stranger: %d %s", page, s.Status, s.Location())
		}
	}
	ann := inBrowser(h.Instance, "ann")
	s := expectSeen(t, ann.Open("/connections"), 200, "You are connected to no hosting provider.", "Connect to Vercel", "Connect to Netlify")
	if got := current(s); got != "Connections page" || strings.Contains(s.Text, "/authorize") {
		t.Errorf("it is at %q, and offers what is not configured: %s", got, s.Text)
	}
	all := regexp.MustCompile(`href="(/connections/new\?provider=[a-z-]+)"`).FindAllStringSubmatch(s.Text, -1)
	if len(all) < 3 {
		t.Errorf("there are the ways %q", all)
	}
	for _, m := range all {
		expectSeen(t, ann.Open(m[1]), 200, "<h2 id=\"make\">Make one</h2>\n<p>At ", "allowed:</p>\n<ul>\n<li>")
	}
	expectSeen(t, ann.Open("/connections/new?provider=x"), 404, "no such hosting provider")
	expectSeen(t, ann.Submit("/connections/new", "provider", "x", "token", "y"), 404, "no such hosting provider")
	h.takesNothing(t, ann, "/connections/new", "provider", "vercel", "token", h.token)

	for token, want := range map[string]string{"": "Paste a token", "wrong-canary": "turned this token down", "two words": "copied whole"} {
		s := expectSeen(t, ann.Submit("/connections/new", "provider", "vercel", "token", token, "teamId", `"><b>`), 422)
		unharmed(t, s)
		s = expectSeen(t, ann.Submit("/connections/new", "provider", "vercel", "token", token), 422, want, `id="token-wrong"`)
		if token != "" && strings.Contains(s.Text, token) {
			t.Errorf("the token comes back: %s", s.Text)
		}
	}
	s = expectSeen(t, ann.Submit("/connections/new", "provider", "vercel", "token", h.token, "teamId", "team_nowhere"), 422, `id="teamId-wrong"`, `value="team_nowhere"`)
	if strings.Contains(s.Text, h.token) {
		t.Errorf("the token comes back: %s", s.Text)
	}
	id := h.connects(t, ann)
	s = expectSeen(t, ann.Open("/connections"), 200, "Vercel: Acme "+markup, "active", "no sync saved through it")
	unharmed(t, s)
	s = expectSeen(t, ann.Open("/connections/"+id), 200, "site "+markup, "production, preview, development", "No saved sync goes through it")
	unharmed(t, s)
	if strings.Contains(s.Text, h.token) {
		t.Error("the token comes back")
	}
	if again := h.connects(t, ann); again != id {
		t.Error("the same team is two connections")
	}
	if leaks := h.vercel.Leaks(); len(leaks) > 0 {
		t.Errorf("in addresses: %q", leaks)
	}
}

func TestConnectionsAreTheirUsersOwn(t *testing.T) {
	h := hostedTown(t)
	ann, bob := inBrowser(h.Instance, "ann"), inBrowser(h.Instance, "bob")
	id := h.connects(t, ann)
	expectSeen(t, bob.Open("/connections"), 200, "You are connected to no hosting provider.")
	expectSeen(t, bob.Open("/connections/"+id), 404, "You have no such connection.")
	expectSeen(t, bob.Submit("/connections/"+id+"/remove"), 404, "You have no such connection.")
	expectSeen(t, bob.Open(syncsAt+"/new?connectionId="+id), 200, "You have no such connection any more")
	h.takesNothing(t, ann, "/connections/"+id+"/remove")
	expectSeen(t, ann.Open("/connections/"+id), 200)
	expect(t, ann.Submit("/connections/"+id+"/remove"), 303, "/connections")
	expectSeen(t, ann.Open("/connections"), 200, "The connection is gone", "You are connected to no hosting provider.")
	expectSeen(t, ann.Open("/connections/"+id), 404)
	expectSeen(t, ann.Submit("/connections/"+id+"/remove"), 404)
}

// TestAProviderThatIsDown leaves the pages of use.
func TestAProviderThatIsDown(t *testing.T) {
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	h.vercel.Break("/", standin.Status(500))
	expectSeen(t, ann.Submit("/connections/new", "provider", "vercel", "token", h.token), 502, "Vercel did not answer.", "Paste a token")
	expectSeen(t, ann.Open("/connections/"+id), 200, "Vercel did not answer.", "Try again", "Remove the connection")
	expectSeen(t, ann.Open("/connections"), 200, "active")
	expectSeen(t, ann.Open(syncsAt+"/new?connectionId="+id), 200, "Vercel did not answer.", "Try again", "Choose another connection")
	expectSeen(t, ann.Open(syncsAt+"/preview?"+h.target(id)), 200, "Vercel did not answer.", "Choose something else", "Try again")
	h.vercel.Heal()

	h.vercel.Revoke(h.token)
	expectSeen(t, ann.Open("/connections/"+id), 200, "turned this connection's credential down", "connect again", `href="/connections/new?provider=vercel&teamId=`+h.team)
	expectSeen(t, ann.Open("/connections"), 200, "connect again", "Vercel turned it down.", `href="/connections/new?provider=vercel&teamId=`+h.team)
	expectSeen(t, ann.Open("/connections/new?provider=vercel&teamId="+h.team), 200, `name="teamId" value="`+h.team+`"`)
	unharmed(t, ann.Open(`/connections/new?provider=vercel&teamId=%22%3E%3Cb%3E`))
	expectSeen(t, ann.Open(syncsAt+"/new?connectionId="+id), 200, "turned this connection's credential down", "Connect again")
	expectSeen(t, ann.Open(syncsAt+"/preview?"+h.target(id)), 200, "Connect again")
}

// TestAProviderThatKeepsSilent leaves time to show the page.
func TestAProviderThatKeepsSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("this waits for 20 s")
	}
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	h.vercel.Break("/", standin.Hang)
	var pages sync.WaitGroup
	for _, page := range []string{"/connections/" + id, syncsAt + "/new?connectionId=" + id, syncsAt + "/preview?" + h.target(id)} {
		pages.Go(func() { expectSeen(t, ann.Open(page), 200, "Vercel did not answer.") })
	}
	pages.Wait()
}

// TestASealedServerShowsNoConnections, and comes back to the page.
func TestASealedServerShowsNoConnections(t *testing.T) {
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	if err := h.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, ann.Open("/connections"), 303, "/unseal?return=%2Fconnections")
	expect(t, ann.Open(syncsAt), 303, "/unseal?return=%2Fvaults%2Fann%2Fapi%2Fsyncs")
	if s := ann.Submit("/connections/new", "provider", "vercel", "token", h.token); s.Status != 303 || !strings.HasPrefix(s.Location(), "/unseal") {
		t.Errorf("%d %s", s.Status, s.Location())
	}
	if n := h.vercel.Calls("/"); n != 0 {
		t.Errorf("a sealed server asked %d times", n)
	}
}

// TestAnApplicationIsOffered by a link, since a form may lead to no other server.
func TestAnApplicationIsOffered(t *testing.T) {
	h := hostedTown(t, func(c *server.Config) {
		c.Hosting.Vercel.ClientID, c.Hosting.Vercel.ClientSecret, c.Hosting.Vercel.Slug = "client", "canary-secret", "coffer"
		c.Hosting.Disabled = []string{"netlify"}
	})
	ann := inBrowser(h.Instance, "ann")
	for _, page := range []string{"/connections", "/connections/new?provider=vercel"} {
		s := expectSeen(t, ann.Open(page), 200, `<a class="button" href="/v1/integrations/vercel/authorize">Authorize at Vercel</a>`)
		if strings.Contains(s.Text, "Netlify") || strings.Contains(s.Text, "canary") {
			t.Errorf("%s shows what it should not: %s", page, s.Text)
		}
	}
	expectSeen(t, ann.Open("/connections/new?provider=netlify"), 404)
	if s := ann.Open("/v1/integrations/vercel/authorize"); s.Status != 302 || !strings.Contains(s.Location(), "/integrations/coffer/new?") {
		t.Errorf("it leads to %d %s", s.Status, s.Location())
	}
}
