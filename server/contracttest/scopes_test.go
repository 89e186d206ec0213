package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

var scopeLetters = map[string]string{"R": "read:secrets", "W": "write:secrets", "D": "delete:secrets", "K": "admin:api-keys"}

func TestEveryRouteTakesItsScopeAndNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	shared := ann.sample(t)
	for letter, scope := range scopeLetters {
		key := s.key(t, "ann", "live", scope)
		for _, r := range routes {
			t.Run(letter+" "+r.call, func(t *testing.T) {
				if r.scopes == "-" || strings.Contains(r.scopes, letter) {
					v := shared
					if !strings.HasPrefix(r.call, "GET") {
						v = ann.sample(t)
					}
					key.do(t, v.fill(r.call), v.fill(r.body)).ok(r.status)
					return
				}
				a := key.do(t, shared.fill(r.call), shared.fill(r.body)).fails(403, "forbidden")
				for _, needed := range strings.Split(r.scopes, "") {
					if detail := a.text("detail"); !strings.Contains(detail, scopeLetters[needed]) {
						t.Errorf("detail %q does not name %s", detail, scopeLetters[needed])
					}
				}
			})
		}
	}
}

func TestARefusedScopeIsRecordedAtTheVault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	key := s.key(t, "ann", "live", "admin:api-keys")
	for _, r := range routes {
		if !r.inVault() {
			continue
		}
		key.do(t, v.fill(r.call), v.fill(r.body)).fails(403, "forbidden")
		last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
		last.same(`"access_denied"`, last.at("data.0.action"))
		last.same(fmt.Sprintf(`{"operation":"<text>","reason":"scope","status":403,"repoFullName":%q,"apiKeyId":"<id>"}`, v.repo),
			last.at("data.0.metadata"))
	}
}
