package contracttest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const keyRecord = `"id":"<id>","name":%q,"prefix":"<text>","environment":%q,"scopes":%s,"expiresAt":%s,"allowedIps":%s,
	"lastUsedAt":null,"usageCount":0,"createdAt":"<time>","revokedAt":null,"revokedReason":null,"isActive":true`

// mint makes a key over the API.
func (c *caller) mint(t testing.TB, body string) (*caller, *answer) {
	t.Helper()
	a := c.do(t, postKey, body).ok(201)
	return &caller{c.site, c.name, a.text("data.token")}, a
}

func TestAKeyIsMadeAndItsTokenShownOnce(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	for _, environment := range []string{"live", "test"} {
		key, a := ann.mint(t, `{"name":"ci é","environment":"`+environment+`","scopes":["write:secrets","read:secrets","read:secrets"]}`)
		record := fmt.Sprintf(keyRecord, "ci é", environment, `["read:secrets","write:secrets"]`, "null", "[]")
		a.holds(201, `{"token":"<text>",`+record+`}`)
		id := a.text("data.id")
		if want := "/v1/api-keys/" + id; a.header.Get("Location") != want {
			t.Errorf("Location %q, want %q", a.header.Get("Location"), want)
		}
		if !regexp.MustCompile(`^coffer_`+environment+`_[0-9A-Za-z]{40}$`).MatchString(key.token) || a.text("data.prefix") != key.token[:16] {
			t.Errorf("token %q, prefix %q", key.token, a.text("data.prefix"))
		}
		one := ann.do(t, "GET /v1/api-keys/"+id, "").holds(200, `{`+record+`}`)
		all := ann.do(t, "GET /v1/api-keys", "").ok(200)
		for _, a := range []*answer{one, all} {
			if strings.Contains(string(a.raw), key.token) {
				t.Errorf("%s shows the token", a.call)
			}
		}
		key.do(t, "POST /v1/auth/token/validate", "").ok(200)
		last := ann.do(t, "GET /v1/activity?limit=1", "")
		last.same(`"api_key_created"`, last.at("data.0.action"))
		last.same(fmt.Sprintf(`{"apiKeyId":%q,"apiKeyName":"ci é","environment":%q,"scopes":["read:secrets","write:secrets"],"expiresAt":null}`, id, environment),
			last.at("data.0.metadata"))
	}
}

func TestKeysAreListedNewestFirstWithTheDeadOnes(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	var ids []string
	for range 3 {
		_, a := ann.mint(t, keyWith(`"name":"n"`))
		ids = append(ids, a.text("data.id"))
		time.Sleep(2 * time.Millisecond)
	}
	ann.do(t, "DELETE /v1/api-keys/"+ids[1], "").ok(204)
	a := ann.do(t, "GET /v1/api-keys", "").ok(200)
	var got []string
	for i := range 3 {
		got = append(got, a.text(fmt.Sprintf("data.keys.%d.id", i)))
	}
	slices.Reverse(got)
	if !slices.Equal(got, ids) {
		t.Errorf("oldest first: %q, want %q", got, ids)
	}
	if n := len(a.at("data.keys").([]any)); n != 4 {
		t.Errorf("%d keys, want 4", n)
	}
}

func TestARevokedKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	key, a := ann.mint(t, keyWith(`"scopes":["read:secrets","admin:api-keys"]`))
	path := "/v1/api-keys/" + a.text("data.id")
	key.do(t, "GET /v1/users/me", "").ok(200)
	ann.do(t, "DELETE "+path, "").ok(204)
	key.do(t, "GET /v1/users/me", "").fails(401, "unauthorized")
	a = ann.do(t, "GET "+path, "").ok(200)
	a.same(`["<time>","manual",false]`, []any{a.at("data.revokedAt"), a.at("data.revokedReason"), a.at("data.isActive")})
	last := ann.do(t, "GET /v1/activity?limit=1", "")
	last.same(`"api_key_revoked"`, last.at("data.0.action"))
	last.same(`{"apiKeyId":"`+a.text("data.id")+`","apiKeyName":"n","reason":"manual"}`, last.at("data.0.metadata"))
	ann.do(t, "DELETE "+path, "").fails(409, "conflict")
	ann.do(t, "DELETE /v1/api-keys/"+someID, "").fails(404, "not-found")

	self, a := ann.mint(t, keyWith(`"scopes":["admin:api-keys"]`))
	self.do(t, "DELETE /v1/api-keys/"+a.text("data.id"), "").ok(204)
	self.do(t, "GET /v1/api-keys", "").fails(401, "unauthorized")
}

func TestKeysOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	who := newSite(t).users(t, "ann", "bob")
	_, a := who["ann"].mint(t, keyWith(`"name":"n"`))
	path := "/v1/api-keys/" + a.text("data.id")
	none := who["bob"].do(t, "GET /v1/api-keys/"+someID, "").fails(404, "not-found").text("detail")
	for _, method := range []string{"GET ", "DELETE "} {
		if got := who["bob"].do(t, method+path, "").fails(404, "not-found").text("detail"); got != none {
			t.Errorf("%s: %q, want %q", method, got, none)
		}
	}
	if list := who["bob"].do(t, "GET /v1/api-keys", ""); strings.Contains(string(list.raw), a.text("data.id")) {
		t.Errorf("bob sees ann's key: %s", list.raw)
	}
	who["ann"].do(t, "GET "+path, "").ok(200)
}

func TestKeysExpire(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	for days, body := range map[int]string{1: keyWith(`"expiresInDays":1`), 365: keyWith(`"expiresInDays":365`)} {
		_, a := ann.mint(t, body)
		created, expires := instant(t, a.text("data.createdAt")), instant(t, a.text("data.expiresAt"))
		if got := expires.Sub(created); got != time.Duration(days)*24*time.Hour {
			t.Errorf("%d days: %s", days, got)
		}
	}
	short := ann.short(t, 2*time.Second)
	short.do(t, "GET /v1/users/me", "").ok(200)
	a := ann.do(t, "GET /v1/api-keys", "")
	path := "/v1/api-keys/" + a.text("data.keys.0.id")
	time.Sleep(time.Until(instant(t, a.text("data.keys.0.expiresAt"))) + 10*time.Millisecond)
	short.do(t, "GET /v1/users/me", "").fails(401, "unauthorized")
	a = ann.do(t, "GET "+path, "").ok(200)
	a.same(`["<time>",null,false]`, []any{a.at("data.expiresAt"), a.at("data.revokedAt"), a.at("data.isActive")})
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !ourNow.MatchString(text) {
		t.Errorf("%q is no instant of ours: %v", text, err)
	}
	return at
}

func TestUseOfAKeyIsCounted(t *testing.T) {
	t.Parallel()
	newSite(t).user(t, "ann").countedUse(t)
}

func TestCountsOfUseOutliveARestart(t *testing.T) {
	t.Parallel()
	s := ownSite(t)
	ann := s.user(t, "ann")
	path, last := ann.countedUse(t)
	s.Restart()
	a := ann.do(t, path, "").ok(200)
	a.same(`["`+last+`",3]`, []any{a.at("data.lastUsedAt"), a.at("data.usageCount")})
}

// countedUse uses a key three times and returns how to look at it, and the time
// of its last use.
func (c *caller) countedUse(t *testing.T) (call, last string) {
	t.Helper()
	key, a := c.mint(t, keyWith(`"name":"n"`))
	call = "GET /v1/api-keys/" + a.text("data.id")
	for range 3 {
		key.do(t, "GET /v1/users/me", "").ok(200)
	}
	a = c.do(t, call, "").ok(200)
	a.same(`["<time>",3]`, []any{a.at("data.lastUsedAt"), a.at("data.usageCount")})
	return call, a.text("data.lastUsedAt")
}
