package contracttest

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/servertest"
	"coffer/server/standin"
)

const (
	authorizeVercel = "/v1/integrations/vercel/authorize"
	vercelCallback  = "/v1/integrations/vercel/callback"
	ticketVercel    = "POST /v1/integrations/vercel/ticket"
)

// leaves wants an answer that sends a browser to Vercel, and is where to.
func leaves(t testing.TB, s *servertest.Seen) string {
	t.Helper()
	to := s.Location()
	if s.Status != 302 || !strings.HasPrefix(to, "https://vercel.test/integrations/coffer/new?") {
		t.Fatalf("got %d to %q: %s", s.Status, to, s.Text)
	}
	return to
}

// returns plays a user who agrees at Vercel.
func (h *hosted) returns(t testing.TB, b *servertest.Browser, address, team string) *servertest.Seen {
	t.Helper()
	return b.Open(vercelCallback + "?" + h.vercel.Install(address, h.person, team).Encode())
}

func TestAuthorizingConnects(t *testing.T) {
	t.Parallel()
	h := hostedSite(t, func(c *server.Config) { c.AllowedOrigins = []string{"https://app.example:8443"} })
	ticket := func() string {
		a := h.ann.do(t, ticketVercel, "").holds(200, `{"ticket":"<text>","expiresIn":60}`)
		return "?ticket=" + url.QueryEscape(a.text("data.ticket"))
	}
	var before, was string // the connection, and when it was made
	for _, way := range []struct {
		name, query, page string
		headers           []string
		signedIn          bool
	}{
		{name: "a ticket", query: ticket(), page: "/connections"},
		{name: "a token in the address", query: "?token=" + h.ann.token, page: "/connections"},
		{name: "a header", headers: []string{"Authorization", "Bearer " + h.ann.token}, page: "/connections"},
		{name: "a session", signedIn: true, page: "/connections"},
		{name: "a page of ours", query: ticket() + "&redirect_uri=" + url.QueryEscape(ourPublicURL+"/somewhere?a=b"), page: ourPublicURL + "/somewhere?a=b"},
		{name: "an allowed origin", query: ticket() + "&redirect_uri=" + url.QueryEscape("https://app.example:8443/done"), page: "https://app.example:8443/done"},
	} {
		b := h.Browser()
		if way.signedIn {
			b.SignIn(h.real("@ann"))
		}
		to := leaves(t, b.Send("GET", authorizeVercel+way.query, "", way.headers...))
		if strings.Contains(to, h.ann.token) {
			t.Errorf("%s: the token goes to Vercel", way.name)
		}
		if s := h.returns(t, b, to, h.team); s.Status != 302 || s.Location() != way.page {
			t.Errorf("%s: came back with %d to %q, want %q: %s", way.name, s.Status, s.Location(), way.page, s.Text)
		}
		a := h.ann.do(t, "GET /v1/integrations/connections", "").ok(200)
		id, created := a.text("data.connections.0.id"), a.text("data.connections.0.createdAt")
		if before != "" && (id != before || !instant(t, created).After(instant(t, was))) {
			t.Errorf("%s: connection %s of %s, was %s of %s", way.name, id, created, before, was)
		}
		before, was = id, created
		time.Sleep(2 * time.Millisecond)
		a = h.ann.do(t, "GET /v1/activity?limit=1", "").ok(200)
		a.same(`["integration_connected","vercel"]`, []any{a.at("data.0.action"), a.at("data.0.metadata.provider")})
	}
}

func TestWithoutAnApplicationABrowserGoesToPasteAToken(t *testing.T) {
	t.Parallel()
	h := hostedSite(t)
	a := h.ann.do(t, "GET /v1/integrations/netlify/authorize", "").ok(302)
	if got := a.header.Get("Location"); got != "/connections/new?provider=netlify" {
		t.Errorf("went to %q", got)
	}
}

func TestAuthorizeIsHeldAgainstItsRules(t *testing.T) {
	t.Parallel()
	h := hostedSite(t, func(c *server.Config) { c.AllowedOrigins = []string{"https://app.example"} })
	for _, page := range []string{
		"https://evil.example/", "https://app.example.evil.example/", "https://app.example@evil.example/", "http://app.example/", "//evil.example",
		"/connections", "javascript:alert(1)", "https://app.example:444/", "https://app.example\\@evil.example/", " https://app.example/", "https://app.example/\n",
		"https://ann@app.example/", "https://app.example/" + strings.Repeat("x", 3000),
	} {
		h.ann.do(t, "GET "+authorizeVercel+"?redirect_uri="+url.QueryEscape(page), "").fails(422, "validation-error", "redirect_uri:not_allowed")
	}
	nobody := h.nobody()
	nobody.do(t, "GET "+authorizeVercel, "").fails(401, "unauthorized")
	nobody.do(t, "GET "+authorizeVercel+"?token=", "").fails(401, "unauthorized")
	nobody.do(t, "GET "+authorizeVercel+"?token=nonsense", "").fails(401, "unauthorized")
	nobody.do(t, "GET "+authorizeVercel+"?ticket=nonsense", "").fails(401, "unauthorized")
	nobody.do(t, "GET "+authorizeVercel+"?redirect_uri="+url.QueryEscape("https://evil.example/"), "").fails(401, "unauthorized")
	h.ann.do(t, "GET "+authorizeVercel+"?x=1&x=2", "").fails(400, "bad-request")
	nobody.do(t, "GET "+authorizeVercel+"?token="+h.ann.token+"&token="+h.ann.token, "").fails(400, "bad-request")
	reader := h.key(t, "ann", "live", "read:secrets")
	nobody.do(t, "GET "+authorizeVercel+"?token="+reader.token, "").fails(403, "forbidden")
	reader.do(t, ticketVercel, "").fails(403, "forbidden")

	for _, path := range []string{"/v1/integrations/connections", "/v1/users/me", "/v1/integrations/vercel/ticket"} {
		method := "GET "
		if strings.HasSuffix(path, "ticket") {
			method = "POST "
		}
		nobody.do(t, method+path+"?token="+h.ann.token, "").fails(401, "unauthorized")
	}
}

func TestATicketIsGoodForAMinuteAndOnce(t *testing.T) {
	t.Parallel()
	var c clock
	h := hostedSite(t, c.option)
	ticket := func() string {
		return "?ticket=" + url.QueryEscape(h.ann.do(t, ticketVercel, "").ok(200).text("data.ticket"))
	}
	nobody := h.nobody()
	once := ticket()
	nobody.do(t, "GET /v1/integrations/netlify/authorize"+once, "").fails(401, "unauthorized") // it is for another provider
	nobody.do(t, "GET "+authorizeVercel+once, "").ok(302)
	nobody.do(t, "GET "+authorizeVercel+once, "").fails(401, "unauthorized")
	nobody.do(t, "GET /v1/users/me"+once, "").fails(401, "unauthorized")

	in, late := ticket(), ticket()
	c.forward(59 * time.Second)
	nobody.do(t, "GET "+authorizeVercel+in, "").ok(302)
	c.forward(time.Second)
	nobody.do(t, "GET "+authorizeVercel+late, "").fails(401, "unauthorized")

	key, made := h.ann.mint(t, `{"name":"n","environment":"live","scopes":["write:secrets"]}`)
	revoked := "?ticket=" + url.QueryEscape(key.do(t, ticketVercel, "").ok(200).text("data.ticket"))
	h.ann.do(t, "DELETE /v1/api-keys/"+made.text("data.id"), "").ok(204)
	nobody.do(t, "GET "+authorizeVercel+revoked, "").fails(401, "unauthorized")

	session := h.signIn(t, "ann")
	ended := "?ticket=" + url.QueryEscape(session.do(t, ticketVercel, "").ok(200).text("data.ticket"))
	session.do(t, "POST /v1/auth/logout", "").ok(204)
	nobody.do(t, "GET "+authorizeVercel+ended, "").fails(401, "unauthorized")
}

func TestACallbackIsForTheBrowserThatLeft(t *testing.T) {
	t.Parallel()
	var c clock
	h := hostedSite(t, c.option)
	h.user(t, "eve")
	leave := func(b *servertest.Browser) string { return leaves(t, b.Open(authorizeVercel+"?token="+h.ann.token)) }
	refused := func(name string, s *servertest.Seen, status int) {
		t.Helper()
		if s.Status != status || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/html") || s.Location() != "" {
			t.Errorf("%s: got %d %s to %q", name, s.Status, s.Header.Get("Content-Type"), s.Location())
		}
		h.ann.do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
		h.key(t, "eve", "live", "read:secrets").do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
	}
	victim := h.Browser()
	victim.SignIn(h.real("@eve"))
	mine := h.Browser()
	refused("a browser that did not leave", h.returns(t, victim, leave(mine), h.team), 400)
	to := leave(mine)
	refused("another state", mine.Open(vercelCallback+"?code=x&state=made-up"), 400)
	refused("the state once more", h.returns(t, mine, to, h.team), 400) // the ticket was spent on the attempt before
	refused("without anything", mine.Open(vercelCallback), 400)
	to = leave(mine)
	refused("refused at the provider", mine.Open(vercelCallback+"?error=access_denied&state="+url.QueryEscape(parameter(t, to, "state"))), 403)
	to = leave(mine)
	refused("a code that is none", mine.Open(vercelCallback+"?code=x&state="+url.QueryEscape(parameter(t, to, "state"))), 400)
	to = leave(victim) // ann's token opens eve's browser
	refused("somebody else is signed in", h.returns(t, victim, to, h.team), 403)
	to = leave(mine)
	c.forward(11 * time.Minute)
	refused("too late", h.returns(t, mine, to, h.team), 400)
	to = leave(mine)
	h.vercel.Break("", standin.Status(500))
	refused("the provider fails", h.returns(t, mine, to, h.team), 502)
	h.vercel.Heal()
	to = leave(mine)
	if s := h.returns(t, mine, to, h.team); s.Status != 302 {
		t.Errorf("got %d: %s", s.Status, s.Text)
	}
	if s := h.returns(t, mine, to, h.team); s.Status != 400 {
		t.Errorf("once more: %d", s.Status)
	}
}

func parameter(t testing.TB, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get(name)
}

// TestAGrantIsRenewedBeforeItEnds: at Netlify, whose stand-in gives grants that end
// after an hour.
func TestAGrantIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	var c clock
	h := hostedSite(t, c.option, func(c *server.Config) {
		c.Hosting.Netlify.ClientID, c.Hosting.Netlify.ClientSecret = "coffer-client-id", "netlify-client-secret"
	})
	h.netlify.App.Refreshes, h.netlify.App.RedirectURL = true, ourPublicURL+"/v1/integrations/netlify/callback"
	b := h.Browser()
	to := b.Open("/v1/integrations/netlify/authorize?token=" + h.ann.token).Location()
	back := url.Values(h.netlify.Authorize(h.member, to))
	if s := b.Open("/v1/integrations/netlify/callback?" + back.Encode()); s.Status != 302 {
		t.Fatalf("came back with %d: %s", s.Status, s.Text)
	}
	v := h.ann.vault(t, "@ann/api")
	id := h.ann.do(t, "GET /v1/integrations/connections", "").ok(200).text("data.connections.0.id")
	g := target{connection: id, project: h.place, environment: "production"}
	pass := func() { c.forward(61 * time.Minute); h.netlify.Pass(61 * time.Minute) }
	h.ann.preview(t, v, g).ok(200)
	pass()
	h.ann.preview(t, v, g).ok(200)
	if n := h.netlify.Calls("POST /oauth/token"); n != 2 {
		t.Errorf("tokens were asked for %d times, want 2", n)
	}
	pass()
	h.netlify.Break("/oauth/", standin.Status(500)) // it says nothing about the grant
	for _, what := range []string{"preview", "status", "diff"} {
		h.ann.do(t, "GET "+v.syncs()+"/"+what+"?"+g.query(), "").fails(502, "provider-error")
	}
	h.ann.link(t, v, g).fails(502, "provider-error")
	h.ann.do(t, "GET /v1/integrations/connections/"+id+"/projects", "").fails(502, "provider-error")
	a := h.ann.sync(t, v, g).ok(200)
	a.same(`"error"`, a.at("data.status"))
	h.netlify.Heal()
	h.ann.preview(t, v, g).ok(200)
	pass()
	h.netlify.EndGrants(h.member)
	h.ann.preview(t, v, g).fails(409, "conflict")
	a = h.ann.do(t, "GET /v1/integrations/connections", "").ok(200)
	a.same(`"reconnect_required"`, a.at("data.connections.0.status"))
}
