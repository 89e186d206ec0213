package contracttest

import (
	"fmt"
	"testing"
)

func TestActivityIsExactToTheLastPage(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	const n = 60
	for i := range n - 1 {
		ann.set(t, v, "staging", "A", fmt.Sprint(i))
	}
	for _, list := range []string{"/v1/activity", v.at() + "/activity"} {
		total := n
		if list == "/v1/activity" {
			total++ // ann's own key
		}
		seen := make(map[any]bool)
		last := "9999"
		for offset := 0; offset <= total; offset += 25 {
			a := ann.do(t, fmt.Sprintf("GET %s?offset=%d", list, offset), "").ok(200)
			a.same(fmt.Sprintf(`{"limit":25,"offset":%d,"total":%d,"hasMore":%t}`, offset, total, offset+25 < total), a.at("meta.pagination"))
			if got := len(a.each("id")); got != min(25, total-offset) {
				t.Errorf("%s: %d records at %d", list, got, offset)
			}
			for i, id := range a.each("id") {
				seen[id] = true
				if at := a.text(fmt.Sprintf("data.%d.timestamp", i)); at > last {
					t.Errorf("%s is after %s", at, last)
				} else {
					last = at
				}
			}
		}
		if len(seen) != total {
			t.Errorf("%s: all pages have %d records, want %d", list, len(seen), total)
		}
		ann.do(t, fmt.Sprintf("GET %s?offset=%d", list, total), "").holds(200, `[]`)
	}
}

func TestARecordSaysWhoWhatAndFromWhere(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for agent, platform := range map[string]string{
		"keyway-cli/dev": "cli", "x keyway-cli": "cli", "coffer/1.0": "cli", "keyway-mcp/1": "mcp",
		"Mozilla/5.0 (X11)": "web", "curl/8": "api", "my coffer": "api",
	} {
		ann.do(t, "GET /v1/secrets/pull?repo="+v.repo+"&environment=staging", "", "User-Agent", agent).ok(200)
		a := ann.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
		a.same(fmt.Sprintf(`{"id":"<id>","action":"secrets_pulled","vaultId":"<id>","repoFullName":"@ann/api",
			"actor":{"id":"<id>","username":"@ann","avatarUrl":null},"platform":%q,"ip":"127.0.0.1","userAgent":%q,"timestamp":"<time>",
			"metadata":{"environment":"staging","secretCount":0,"secretKeys":[],"revision":0,"format":"env","repoFullName":"@ann/api","apiKeyId":"<id>"}}`,
			platform, agent), a.at("data.0"))
	}
}

func TestActivityIsFilteredAndSeparate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	ann, bob := who["ann"], who["bob"]
	v := s.shared(t, ann, "@ann/api", "bob=write")
	ann.set(t, v, "staging", "A", "1")
	bob.set(t, v, "staging", "A", "2")
	bob.set(t, v, "development", "A", "3")
	for query, want := range map[string]int{
		"": 4, "?action=secret_created": 2, "?action=secret_updated": 1, "?action=nothing": 0, "?environment=staging": 2,
		"?environment=development&action=secret_created": 1, "?actor=" + s.real("@bob"): 2, "?actor=": 4, "?actor=nobody": 0, "?limit=1": 4,
	} {
		a := ann.do(t, "GET "+v.at()+"/activity"+query, "").ok(200)
		a.same(fmt.Sprint(want), a.at("meta.pagination.total"))
	}
	a := bob.do(t, "GET /v1/activity", "").ok(200)
	a.same(`["secret_created","secret_updated","api_key_created"]`, a.each("action"))
	bob.do(t, "GET "+v.at()+"/activity", "").fails(403, "forbidden")
}
