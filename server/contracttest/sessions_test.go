package contracttest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// session is a session as it is listed.
func session(lastUsed string, current bool) string {
	return fmt.Sprintf(`{"id":"<id>","createdAt":"<time>","lastUsedAt":%s,"expiresAt":"<time>","ip":null,"userAgent":"<text>","current":%t}`, lastUsed, current)
}

func TestSessionsAreListedToTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.users(t, "ann", "bob")
	one, two := s.signIn(t, "ann"), s.signIn(t, "ann")
	two.do(t, "GET /v1/users/me", "").ok(200)
	s.signIn(t, "bob")
	third := s.signIn(t, "ann")
	a := one.do(t, "GET /v1/auth/sessions", "").
		holds(200, `{"sessions":[`+session("null", false)+`,`+session(`"<time>"`, false)+`,`+session(`"<time>"`, true)+`]}`)
	for i := range 3 {
		at := fmt.Sprintf("data.sessions.%d.", i)
		if got := instant(t, a.text(at+"expiresAt")).Sub(instant(t, a.text(at+"createdAt"))); got != 30*24*time.Hour {
			t.Errorf("a session lasts %s", got)
		}
	}
	b := third.do(t, "GET /v1/auth/sessions", "").ok(200)
	b.same(quoted(a.text("data.sessions.0.id")), b.at("data.sessions.0.id"))
	b.same(`true`, b.at("data.sessions.0.current"))
	third.do(t, "HEAD /v1/auth/sessions", "").ok(200)
}

func TestARevokedSessionEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.users(t, "ann", "bob")
	bob := s.signIn(t, "bob")
	one, two := s.signIn(t, "ann"), s.signIn(t, "ann")
	ids := one.do(t, "GET /v1/auth/sessions", "").ok(200)
	second, first := ids.text("data.sessions.0.id"), ids.text("data.sessions.1.id")
	const path = "DELETE /v1/auth/sessions/"

	bob.do(t, path+first, "").fails(404, "not-found")
	one.do(t, path+someID, "").fails(404, "not-found")
	one.do(t, path+"1", "").fails(404, "not-found")
	two.do(t, "GET /v1/users/me", "").ok(200)

	one.do(t, path+second, "").ok(204)
	two.do(t, "GET /v1/users/me", "").fails(401, "unauthorized")
	one.do(t, path+second, "").fails(404, "not-found")
	one.do(t, path+strings.ToUpper(first), "").ok(204) // the one that is asking
	one.do(t, "GET /v1/auth/sessions", "").fails(401, "unauthorized")

	again := s.signIn(t, "ann")
	a := again.do(t, "GET /v1/activity", "").ok(200)
	a.same(`["user_login","session_revoked","session_revoked","user_login","user_login","api_key_created"]`, a.each("action"))
	a = again.do(t, "GET /v1/auth/sessions", "").ok(200)
	if n := len(a.at("data.sessions").([]any)); n != 1 {
		t.Errorf("%d sessions are left: %s", n, a.raw)
	}
}

func TestLogoutEndsTheSessionThatAsks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.user(t, "ann")
	for _, body := range []string{"", "{}"} {
		one, two := s.signIn(t, "ann"), s.signIn(t, "ann")
		one.do(t, "POST /v1/auth/logout", body, "Content-Type", "application/json").ok(204)
		one.do(t, "GET /v1/users/me", "").fails(401, "unauthorized")
		one.do(t, "POST /v1/auth/logout", body).fails(401, "unauthorized")
		a := two.do(t, "GET /v1/activity?limit=1", "").ok(200)
		a.same(`["user_logout","@ann",null]`, []any{a.at("data.0.action"), a.at("data.0.actor.username"), a.at("data.0.vaultId")})
	}
}

// TestOnlySignedInPeopleSeeSessions: an API key must not learn of the sign-ins
// of its owner, let alone end them.
func TestOnlySignedInPeopleSeeSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	person := s.signIn(t, "ann")
	id := person.do(t, "GET /v1/auth/sessions", "").ok(200).text("data.sessions.0.id")
	for _, call := range []string{"GET /v1/auth/sessions", "DELETE /v1/auth/sessions/" + id, "DELETE /v1/auth/sessions/" + someID, "POST /v1/auth/logout"} {
		ann.do(t, call, "").fails(403, "forbidden")
		s.nobody().do(t, call, "").fails(401, "unauthorized")
	}
	person.do(t, "GET /v1/users/me", "").ok(200)
	ann.do(t, "GET /v1/users/me", "").ok(200)
}

func TestAServiceTokenSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.user(t, "ann")
	ann := s.signIn(t, "ann")
	parts := strings.Split(ann.token, ".")
	if len(parts) != 3 {
		t.Fatalf("a token of %d parts", len(parts))
	}
	sessions := ann.do(t, "GET /v1/auth/sessions", "").ok(200)
	me := ann.do(t, "GET /v1/users/me", "").ok(200)
	part := func(i int) map[string]any {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, raw).(map[string]any)
	}
	if kid, _ := part(0)["kid"].(string); !strings.HasPrefix(kid, "coffer-") {
		t.Errorf("kid %q", kid)
	}
	claims := part(1)
	created := instant(t, sessions.text("data.sessions.0.createdAt")).Unix()
	me.same(fmt.Sprintf(`{"iss":"<text>","sub":%q,"jti":%q,"iat":%d,"exp":%d,"username":"@ann","forgeType":"local"}`,
		me.text("data.id"), sessions.text("data.sessions.0.id"), created, created+30*24*60*60), claims)

	other := s.signIn(t, "ann").token
	for name, token := range map[string]string{
		"the signature of another": parts[0] + "." + parts[1] + "." + other[strings.LastIndex(other, ".")+1:],
		"no signature":             parts[0] + "." + parts[1] + ".",
		"no algorithm":             base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"coffer-1"}`)) + "." + parts[1] + ".",
		"a longer signature":       ann.token + "A",
		"a part more":              ann.token + "." + parts[2],
	} {
		t.Run(name, func(t *testing.T) {
			s.nobody().do(t, "GET /v1/users/me", "", "Authorization", "Bearer "+token).fails(401, "unauthorized")
		})
	}
	ann.do(t, "GET /v1/users/me", "").ok(200)
}
