package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
)

// short is the caller with a key of all scopes that ends soon.
func (c *caller) short(t testing.TB, ttl time.Duration) *caller {
	t.Helper()
	return c.issue(t, api.IssueToken{Username: c.name, Environment: "live", TTLSeconds: int64(ttl.Seconds()),
		Scopes: []string{"read:secrets", "write:secrets", "delete:secrets", "admin:api-keys"}})
}

func TestAKeyMintsNothingThatItLacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	narrow := s.key(t, "ann", "live", "read:secrets", "admin:api-keys")
	test := s.key(t, "ann", "test", "read:secrets", "admin:api-keys")
	month := ann.short(t, 30*24*time.Hour)
	office := s.issue(t, api.IssueToken{Username: "ann", Environment: "live", Scopes: []string{"read:secrets", "admin:api-keys"},
		AllowedIPs: []string{"127.0.0.0/8", "2001:db8::/32"}})

	tests := []struct {
		name   string
		c      *caller
		member string
		status int
	}{
		{"its scopes", narrow, `"scopes":["read:secrets","admin:api-keys"]`, 201},
		{"a scope more", narrow, `"scopes":["read:secrets","write:secrets"]`, 403},
		{"live by live", narrow, `"environment":"live"`, 201},
		{"test by live", narrow, `"environment":"test"`, 201},
		{"test by test", test, `"environment":"test"`, 201},
		{"live by test", test, `"environment":"live"`, 403},
		{"a shorter life", month, `"expiresInDays":29`, 201},
		{"a longer life", month, `"expiresInDays":31`, 403},
		{"a range inside", office, `"allowedIps":["127.1.0.0/16"]`, 201},
		{"one address inside", office, `"allowedIps":["127.0.0.1","2001:db8::1"]`, 201},
		{"its own range", office, `"allowedIps":["2001:db8::/32"]`, 201},
		{"a range around", office, `"allowedIps":["126.0.0.0/7"]`, 403},
		{"one address outside", office, `"allowedIps":["127.0.0.1","10.0.0.1"]`, 403},
		{"everywhere of the other family", office, `"allowedIps":["::/0"]`, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a := tt.c.do(t, postKey, keyWith(tt.member)); tt.status == 403 {
				a.fails(403, "forbidden")
			} else {
				a.ok(tt.status)
			}
		})
	}
	if list := ann.do(t, "GET /v1/api-keys", ""); strings.Contains(string(list.raw), "10.0.0.1") {
		t.Errorf("a refused key was made: %s", list.raw)
	}
}

func TestAKeyHandsOnItsEndAndItsAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	_, a := ann.short(t, time.Hour).mint(t, keyWith(`"name":"heir"`))
	if left := time.Until(instant(t, a.text("data.expiresAt"))); left > time.Hour || left < 59*time.Minute {
		t.Errorf("expires in %s", left)
	}
	office := s.issue(t, api.IssueToken{Username: "ann", Environment: "live", Scopes: []string{"read:secrets", "admin:api-keys"},
		AllowedIPs: []string{"127.0.0.0/8"}})
	for _, more := range []string{`"allowedIps":null`, `"allowedIps":[]`, `"name":"n"`} {
		_, a := office.mint(t, keyWith(more))
		a.same(`["127.0.0.0/8"]`, a.at("data.allowedIps"))
	}
}

func TestSourcesAreNormalised(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	for given, want := range map[string]string{
		"10.1.2.3/8": "10.0.0.0/8", "10.1.2.3": "10.1.2.3/32", "0.0.0.0/0": "0.0.0.0/0", "2001:DB8::1": "2001:db8::1/128",
		"2001:db8:1::1/32": "2001:db8::/32", "::ffff:10.1.2.3": "10.1.2.3/32", "::ffff:10.1.2.3/104": "10.0.0.0/8",
	} {
		_, a := ann.mint(t, keyWith(fmt.Sprintf(`"allowedIps":[%q]`, given)))
		a.same(fmt.Sprintf(`[%q]`, want), a.at("data.allowedIps"))
	}
	fifty := strings.Repeat(`,"10.0.0.1"`, 50)[1:]
	ann.mint(t, keyWith(`"allowedIps":[`+fifty+`]`))
}

func TestAKeyWorksFromItsAddressesOnly(t *testing.T) {
	t.Parallel()
	s := ownSite(t, behindProxy)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	office := s.issue(t, api.IssueToken{Username: "ann", Environment: "live", Scopes: []string{"read:secrets"},
		AllowedIPs: []string{"10.20.0.0/15", "192.0.2.7", "2001:db8::/32"}})
	for from, status := range map[string]int{
		"10.20.0.0": 200, "10.21.255.255": 200, "10.22.0.0": 403, "10.19.255.255": 403, "10.2.0.1": 403,
		"192.0.2.7": 200, "192.0.2.70": 403, "2001:db8::1": 200, "2001:db9::1": 403, "::ffff:10.20.0.1": 200,
		"10.20.0.1, 203.0.113.9": 403, "203.0.113.9, 10.20.0.1": 200, "10.20.0.1:4711": 200,
	} {
		a := office.do(t, "GET "+v.at(), "", "X-Forwarded-For", from)
		if status == 200 {
			a.ok(200)
			continue
		}
		a.fails(403, "forbidden")
		last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
		last.same(`"access_denied"`, last.at("data.0.action"))
		last.same(`{"operation":"vault_get","reason":"source_ip","status":403,"repoFullName":"`+v.repo+`","apiKeyId":"<id>"}`, last.at("data.0.metadata"))
	}
	office.do(t, "POST /v1/auth/token/validate", "").fails(403, "forbidden")
	last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
	ip := last.text("data.0.ip")
	if !strings.Contains(" 10.22.0.0 10.19.255.255 10.2.0.1 192.0.2.70 2001:db9::1 203.0.113.9 ", " "+ip+" ") {
		t.Errorf("recorded address %q", ip)
	}
}

func TestForwardedAddressesOfStrangersDoNotCount(t *testing.T) {
	t.Parallel()
	s := ownSite(t)
	ann := s.user(t, "ann")
	ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/api"}`, "X-Forwarded-For", "10.20.0.1").ok(201)
	last := ann.do(t, "GET /v1/activity?limit=1", "")
	last.same(`"127.0.0.1"`, last.at("data.0.ip"))
	office := s.issue(t, api.IssueToken{Username: "ann", Environment: "live", Scopes: []string{"read:secrets"}, AllowedIPs: []string{"10.20.0.0/15"}})
	office.do(t, "GET /v1/users/me", "", "X-Forwarded-For", "10.20.0.1").fails(403, "forbidden")
}
