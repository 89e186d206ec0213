package contracttest

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/servertest"
)

// clock is one that tests set.
type clock struct{ now atomic.Int64 }

func (c *clock) option(cfg *server.Config) {
	c.now.Store(time.Now().Unix())
	cfg.TestOnlyNow = func() time.Time { return time.Unix(c.now.Load(), 0) }
}

func (c *clock) forward(d time.Duration) { c.now.Add(int64(d / time.Second)) }

// limitedSite is an instance with the contract's own limits, and its clock.
func limitedSite(t *testing.T, options ...func(*server.Config)) (*site, *clock) {
	t.Helper()
	c := new(clock)
	return ownSite(t, append([]func(*server.Config){servertest.Limited, c.option}, options...)...), c
}

// fresh is somebody with a key that was never used.
func (c *caller) fresh(t testing.TB) *caller {
	t.Helper()
	return c.key(t, c.name, "live", servertest.AllScopes...)
}

// stands wants exactly these headers about limits: of how many, how many are
// left, and seconds until they start again.
func (a *answer) stands(c *clock, status, limit, remaining, seconds int) *answer {
	a.t.Helper()
	got := map[string]string{"status": strconv.Itoa(a.status)}
	want := map[string]string{"status": strconv.Itoa(status), "X-RateLimit-Limit": strconv.Itoa(limit),
		"X-RateLimit-Remaining": strconv.Itoa(remaining), "X-RateLimit-Reset": strconv.FormatInt(c.now.Load()+int64(seconds), 10)}
	if status == 429 {
		want["Retry-After"] = strconv.Itoa(seconds)
	}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		if values := a.header.Values(name); len(values) > 0 {
			got[name] = strings.Join(values, " and ")
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("%s: got %v, want %v", a.call, got, want)
	}
	if status == 429 {
		a.fails(429, "rate-limited")
	}
	return a
}

// uncounted wants no word about limits.
func (a *answer) uncounted() {
	a.t.Helper()
	for name := range a.header {
		if strings.HasPrefix(name, "X-Ratelimit") || a.status < 400 && name == "Retry-After" {
			a.t.Errorf("%s: %d with %s", a.call, a.status, name)
		}
	}
}

// TestTheContractsNumbers fills each bucket by its own route to the last
// request, and once more.
func TestTheContractsNumbers(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	for _, row := range []struct {
		name, call, body string
		limit, seconds   int
	}{
		{"bulk push", postPush, `{"repoFullName":"{repo}","environment":"staging","secrets":{"A":"1"}}`, 30, 900},
		{"bulk pull", "GET /v1/secrets/pull?repo={repo}&environment=development", "", 30, 900},
		{"bulk HEAD of a pull", "HEAD /v1/secrets/pull?repo={repo}&environment=development", "", 30, 900},
		{"value", "GET {V}/secrets/{secret}/value", "", 10, 60},
		{"value of a version", "GET {V}/secrets/{secret}/versions/{version}/value", "", 10, 60},
		{"general view", "GET /v1/secrets/view?repo={repo}&environment=development&key=A", "", 100, 900},
		{"general list", "GET /v1/vaults", "", 100, 900},
		{"general validate", "POST /v1/auth/token/validate", "", 100, 900},
	} {
		t.Run(row.name, func(t *testing.T) {
			key := ann.fresh(t)
			call, body := v.fill(row.call), v.fill(row.body)
			for n := range row.limit {
				key.do(t, call, body).stands(c, 200, row.limit, row.limit-1-n, row.seconds)
			}
			records := ann.fresh(t).records(t, v)
			c.forward(10 * time.Second)
			if strings.HasPrefix(call, "HEAD") {
				key.do(t, call, body).ok(429)
			} else {
				key.do(t, call, body).stands(c, 429, row.limit, 0, row.seconds-10)
			}
			if got := ann.fresh(t).records(t, v); got != records {
				t.Errorf("a refused request did something: %s records, then %s", records, got)
			}
			c.forward(time.Duration(row.seconds-11) * time.Second)
			key.do(t, call, body).ok(429)
			c.forward(time.Second)
			ok := key.do(t, call, body).ok(200)
			if got := ok.header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(row.limit-1) {
				t.Errorf("%s remain in a new window", got)
			}
		})
	}
}

func TestBucketsAreCountedApart(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	one, two := ann.fresh(t), ann.fresh(t)
	const validate = "POST /v1/auth/token/validate"
	one.push(t, v, "staging", `{"A":"1"}`, "").stands(c, 200, 30, 29, 900)
	one.pull(t, v, "staging", "").stands(c, 200, 30, 28, 900) // together with pushes
	one.do(t, "GET "+v.at()+"/secrets/"+v.secret+"/value", "").stands(c, 200, 10, 9, 60)
	one.do(t, "GET "+v.at()+"/secrets/"+v.secret+"/versions/"+v.version+"/value", "").stands(c, 200, 10, 8, 60) // together
	one.do(t, validate, "").stands(c, 200, 100, 99, 900)
	one.do(t, "GET /v1/secrets/view?repo="+v.repo+"&environment=staging&key=A", "").stands(c, 200, 100, 98, 900) // together

	two.pull(t, v, "staging", "").stands(c, 200, 30, 29, 900) // another key of the same user
	first, second := s.signIn(t, "ann"), s.signIn(t, "ann")
	first.do(t, validate, "").stands(c, 200, 100, 99, 900)
	second.do(t, validate, "").stands(c, 200, 100, 98, 900) // sessions of one user are one
	s.user(t, "bob")
	s.signIn(t, "bob").do(t, validate, "").stands(c, 200, 100, 99, 900)

	for range 27 {
		one.pull(t, v, "staging", "").ok(200)
	}
	one.push(t, v, "staging", `{"A":"1"}`, "").stands(c, 200, 30, 0, 900)
	one.pull(t, v, "staging", "").stands(c, 429, 30, 0, 900)
	one.do(t, validate, "").stands(c, 200, 100, 97, 900)
	two.push(t, v, "staging", `{"A":"1"}`, "").stands(c, 200, 30, 28, 900)
}

// TestWhatIsRefusedCounts: limits come after the credential and before all
// that depends on what it may do.
func TestWhatIsRefusedCounts(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	reader := s.key(t, "ann", "live", "read:secrets")
	reader.push(t, v, "staging", `{}`, "").stands(c, 403, 30, 29, 900)
	reader.do(t, postPush, "{").stands(c, 403, 30, 28, 900)
	reader.pull(t, v, "nowhere", "").stands(c, 404, 30, 27, 900)
	reader.pull(t, v, "staging", "&limit=0").stands(c, 422, 30, 26, 900)
	reader.do(t, "GET /v1/vaults?limit=1&limit=2", "").stands(c, 400, 100, 99, 900)
	reader.do(t, "GET "+v.at()+"/secrets/"+someID+"/value", "").stands(c, 404, 10, 9, 60)
	reader.do(t, "GET /v1/nowhere", "").uncounted()
	reader.do(t, "PUT /v1/secrets/push", "").uncounted()
	reader.do(t, postPush, strings.Repeat(" ", maxBody+1)).ok(413).uncounted()
	for range 26 {
		reader.pull(t, v, "staging", "").ok(200)
	}
	reader.do(t, postPush, "{").stands(c, 429, 30, 0, 900) // before the scope and the body
	reader.do(t, "PUT /v1/secrets/push", "").fails(405, "method-not-allowed")
}

func TestA304IsFree(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	key := ann.fresh(t)
	tag := key.pull(t, v, "staging", "").stands(c, 200, 30, 29, 900).header.Get("ETag")
	for range 40 {
		key.pull(t, v, "staging", "", "If-None-Match", tag).stands(c, 304, 30, 29, 900)
	}
	key.pull(t, v, "staging", "", "If-None-Match", `"other"`).stands(c, 200, 30, 28, 900)
	for range 28 {
		key.pull(t, v, "staging", "").ok(200)
	}
	key.pull(t, v, "staging", "", "If-None-Match", tag).stands(c, 429, 30, 0, 900)
}

func TestStrangersCountByAddressAndGuessesApart(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	ann, nobody := s.user(t, "ann"), s.nobody()
	const me = "GET /v1/users/me"
	for n := range 10 {
		token := fmt.Sprintf("coffer_live_%040d", n)
		if n%2 == 1 {
			token = fmt.Sprintf("eyJhbGciOiJub25lIn0.%d.", n)
		}
		nobody.do(t, me, "", "Authorization", "Bearer "+token).stands(c, 401, 10, 9-n, 60)
	}
	nobody.do(t, me, "", "Authorization", "Bearer another").stands(c, 429, 10, 0, 60)
	nobody.do(t, postPush, "{", "Authorization", "Bearer another").stands(c, 429, 10, 0, 60)
	nobody.do(t, me, "").stands(c, 401, 100, 99, 900)
	nobody.do(t, "GET /v1/sys/status", "").stands(c, 200, 100, 98, 900)
	ann.fresh(t).do(t, me, "").stands(c, 200, 100, 99, 900) // who is known is not kept out
	ann.do(t, me, "", "Authorization", "Bearer "+ann.token+"x").ok(429)
	c.forward(time.Minute)
	nobody.do(t, me, "", "Authorization", "Bearer another").stands(c, 401, 10, 9, 60)
	for range 98 {
		nobody.do(t, "GET /v1/sys/status", "").ok(200)
	}
	nobody.do(t, "GET /v1/sys/status", "").stands(c, 429, 100, 0, 840)
	ann.fresh(t).do(t, me, "").ok(200)
}

func TestExemptRoutesAreNeverCounted(t *testing.T) {
	t.Parallel()
	s, _ := limitedSite(t)
	ann, nobody := s.user(t, "ann"), s.nobody()
	for range 101 {
		nobody.do(t, "GET /v1/sys/status", "")
	}
	nobody.do(t, "GET /v1/sys/status", "").fails(429, "rate-limited")
	for _, call := range []string{"GET /health", "HEAD /health", "GET /v1/health", "HEAD /v1/health", "GET /ready", "GET /errors/rate-limited", "GET /errors/sealed"} {
		for range 3 {
			nobody.do(t, call, "").ok(200).uncounted()
		}
		ann.do(t, call, "").ok(200).uncounted()
		nobody.do(t, call, "", "Authorization", "Bearer nonsense").ok(200).uncounted()
	}
	nobody.do(t, "GET /errors/none", "").fails(404, "not-found").uncounted()
}

func TestAddressesBehindProxies(t *testing.T) {
	t.Parallel()
	const status, forwarded = "GET /v1/sys/status", "X-Forwarded-For"
	t.Run("the right-most entry that is no proxy counts", func(t *testing.T) {
		t.Parallel()
		s, c := limitedSite(t, behindProxy)
		nobody := s.nobody()
		for i, from := range []string{"203.0.113.7", "198.51.100.1, 203.0.113.7", "203.0.113.7, 127.0.0.1", "203.0.113.7, 127.0.0.9, 127.0.0.1", "203.0.113.7:4711"} {
			nobody.do(t, status, "", forwarded, from).stands(c, 200, 100, 99-i, 900)
		}
		nobody.do(t, status, "", forwarded, "203.0.113.7", forwarded, "203.0.113.8").stands(c, 200, 100, 99, 900)
		nobody.do(t, status, "", forwarded, "2001:db8::1").stands(c, 200, 100, 99, 900)
		for range 95 {
			nobody.do(t, status, "", forwarded, "203.0.113.7").ok(200)
		}
		nobody.do(t, status, "", forwarded, "203.0.113.7").stands(c, 429, 100, 0, 900)
		nobody.do(t, status, "", forwarded, "203.0.113.9").stands(c, 200, 100, 99, 900)
		for n := range 10 {
			nobody.do(t, "GET /v1/users/me", "", "Authorization", "Bearer guess", forwarded, "198.51.100.1").stands(c, 401, 10, 9-n, 60)
		}
		nobody.do(t, "GET /v1/users/me", "", "Authorization", "Bearer guess", forwarded, "198.51.100.1").stands(c, 429, 10, 0, 60)
		nobody.do(t, "GET /v1/users/me", "", "Authorization", "Bearer guess", forwarded, "198.51.100.2").stands(c, 401, 10, 9, 60)
	})
	t.Run("who only says so is who connects", func(t *testing.T) {
		t.Parallel()
		s, c := limitedSite(t)
		for n := range 5 {
			s.nobody().do(t, status, "", forwarded, fmt.Sprintf("203.0.113.%d", n), "X-Real-IP", fmt.Sprintf("203.0.113.%d", n),
				"Forwarded", fmt.Sprintf("for=203.0.113.%d", n)).stands(c, 200, 100, 99-n, 900)
		}
	})
	t.Run("a key is a key from everywhere", func(t *testing.T) {
		t.Parallel()
		s, c := limitedSite(t, behindProxy)
		key := s.user(t, "ann").fresh(t)
		for n := range 5 {
			key.do(t, "GET /v1/users/me", "", forwarded, fmt.Sprintf("203.0.113.%d", n)).stands(c, 200, 100, 99-n, 900)
		}
	})
}

func TestEachBucketIsConfiguredOrOff(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t, func(cfg *server.Config) {
		cfg.Limits = server.LimitsConfig{General: server.Rate{Off: true}, Bulk: server.Rate{Requests: 2, Window: time.Hour}, Login: server.Rate{Off: true}}
	})
	ann := s.user(t, "ann")
	v := ann.sample(t)
	key := ann.fresh(t)
	key.pull(t, v, "staging", "").stands(c, 200, 2, 1, 3600)
	key.pull(t, v, "staging", "").stands(c, 200, 2, 0, 3600)
	key.pull(t, v, "staging", "").stands(c, 429, 2, 0, 3600)
	key.do(t, "GET "+v.at()+"/secrets/"+v.secret+"/value", "").stands(c, 200, 10, 9, 60)
	for range 120 {
		key.do(t, "GET /v1/users/me", "").ok(200).uncounted()
	}
	for range 12 {
		s.nobody().do(t, "GET /v1/users/me", "", "Authorization", "Bearer guess").ok(401).uncounted()
	}
}
