package contracttest

import (
	"strings"
	"testing"
)

func TestOnlyOneWholeBearerTokenIsACredential(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	nobody := s.nobody()
	for name, header := range map[string][]string{
		"none":               {},
		"empty":              {"Authorization", ""},
		"the scheme alone":   {"Authorization", "Bearer"},
		"no token":           {"Authorization", "Bearer "},
		"basic":              {"Authorization", "Basic YW5uOngK"},
		"no scheme":          {"Authorization", ann.token},
		"cut short":          {"Authorization", "Bearer " + ann.token[:len(ann.token)-1]},
		"a character more":   {"Authorization", "Bearer " + ann.token + "0"},
		"another character":  {"Authorization", "Bearer " + ann.token[:len(ann.token)-1] + "-"},
		"unknown":            {"Authorization", "Bearer coffer_live_" + strings.Repeat("0", 40)},
		"of another kind":    {"Authorization", "Bearer " + strings.Replace(ann.token, "_live_", "_test_", 1)},
		"of no kind":         {"Authorization", "Bearer coffer_root_" + strings.Repeat("0", 40)},
		"like a JWT":         {"Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."},
		"like one of a host": {"Authorization", "Bearer ghp_0123456789abcdef"},
		"very long":          {"Authorization", "Bearer " + strings.Repeat("x", 8000)},
		"two headers":        {"Authorization", "Bearer " + ann.token, "Authorization", "Bearer " + ann.token},
		"another header":     {"X-Api-Key", ann.token},
		"a cookie":           {"Cookie", "coffer_session=" + ann.token},
	} {
		t.Run(name, func(t *testing.T) {
			a := nobody.do(t, "GET /v1/users/me?token="+ann.token+"&access_token="+ann.token, "", header...).fails(401, "unauthorized")
			if got := a.header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("WWW-Authenticate %q", got)
			}
		})
	}
	nobody.do(t, "GET /v1/users/me", "", "Authorization", "bearer "+ann.token).ok(200)
	nobody.do(t, "GET /v1/users/me", "", "Authorization", "BEARER  "+ann.token).ok(200)
}

func TestEveryRouteNeedsACredential(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.user(t, "ann").sample(t)
	for _, r := range routes {
		s.nobody().do(t, v.fill(r.call), v.fill(r.body)).fails(401, "unauthorized")
	}
	for _, call := range []string{"GET /health", "GET /v1/health", "GET /ready", "GET /errors/sealed", "GET /v1/sys/status"} {
		s.nobody().do(t, call, "").ok(200)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	ann.vault(t, "@ann/api")
	s.repo(t, "@ann/site", true)
	ann.vault(t, "@ann/site")
	me := `"forgeType":"local","forgeUserId":"<text>","username":"@ann","plan":"team","createdAt":"<time>"`
	ann.do(t, "GET /v1/users/me", "").holds(200, `{"id":"<id>","email":null,"avatarUrl":null,`+me+`}`)
	ann.do(t, "GET /v1/users/me/usage", "").holds(200, `{"plan":"team","usage":{"public":1,"private":1,"providers":0},
		"limits":{"maxPublicRepos":"unlimited","maxPrivateRepos":"unlimited","maxProviders":"unlimited",
		"maxEnvironmentsPerVault":"unlimited","maxSecretsPerPrivateVault":"unlimited"}}`)
	for _, body := range []string{"", "{}", `{"token":"ignored"}`} {
		ann.do(t, "POST /v1/auth/token/validate", body).holds(200, `{`+me+`}`)
	}
	for _, body := range []string{"[]", "null", "{"} {
		ann.do(t, "POST /v1/auth/token/validate", body).fails(400, "bad-request")
	}
	for _, scope := range scopeLetters {
		s.key(t, "ann", "test", scope).do(t, "POST /v1/auth/token/validate", "").holds(200, `{`+me+`}`)
	}
	ann.do(t, "DELETE /v1/vaults/@ann/site", "").ok(204)
	a := ann.do(t, "GET /v1/users/me/usage", "").ok(200)
	a.same(`{"public":0,"private":1,"providers":0}`, a.at("data.usage"))
}
