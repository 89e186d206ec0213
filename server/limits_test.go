package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// handClock is one that tests set.
type handClock struct{ now atomic.Pointer[time.Time] }

func newHandClock() *handClock {
	c := &handClock{}
	c.set(time.Now().Round(0).Truncate(time.Second))
	return c
}

func (c *handClock) set(t time.Time) { c.now.Store(&t) }

func (c *handClock) forward(d time.Duration) { c.set(c.now.Load().Add(d)) }

func (c *handClock) option(cfg *server.Config) {
	cfg.TestOnlyNow = func() time.Time { return *c.now.Load() }
}

// limited is an instance with the default limits, its clock, and ann, who has a
// vault.
func limited(t *testing.T, options ...func(*server.Config)) (*servertest.Instance, *handClock, *client.Client) {
	t.Helper()
	clock := newHandClock()
	in := servertest.New(t, append([]func(*server.Config){servertest.Limited, clock.option}, options...)...)
	ann := in.User("ann")
	in.Vault(ann, repo)
	return in, clock, ann
}

const pushOne = `POST /v1/secrets/push {"repoFullName":"ann/api","environment":"production","secrets":{"A":"1"}}`

// told is the status of an answer and what it says about limits: limit,
// remaining, seconds until the reset, and Retry-After.
func told(t *testing.T, c *client.Client, clock *handClock, call string, headers ...string) string {
	t.Helper()
	method, rest, _ := strings.Cut(call, " ")
	path, body, _ := strings.Cut(rest, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	text := fmt.Sprintf("%d %s %s", res.StatusCode, res.Header.Get("X-RateLimit-Limit"), res.Header.Get("X-RateLimit-Remaining"))
	var reset int64
	if _, err := fmt.Sscan(res.Header.Get("X-RateLimit-Reset"), &reset); err == nil {
		text += fmt.Sprintf(" %d", reset-clock.now.Load().Unix())
	}
	return strings.TrimRight(text+" "+res.Header.Get("Retry-After"), " ")
}

func expectTold(t *testing.T, c *client.Client, clock *handClock, call, want string, headers ...string) {
	t.Helper()
	if got := told(t, c, clock, call, headers...); got != want {
		t.Errorf("%s: got %q, want %q", call, got, want)
	}
}

func TestThe31stPushWithin15MinutesIsRefused(t *testing.T) {
	in, clock, ann := limited(t)
	for n := range 30 {
		expectTold(t, ann, clock, pushOne, fmt.Sprintf("200 30 %d %d", 29-n, 900-10*n))
		clock.forward(10 * time.Second)
	}
	expectTold(t, ann, clock, pushOne, "429 30 0 600 600")
	_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production"})
	if code := api.CodeOf(err); code != api.RateLimited {
		t.Errorf("the client says %v", err)
	}
	expectTold(t, in.Key("ann", "live", api.WriteSecrets), clock, pushOne, "200 30 29 900")
	clock.forward(10 * time.Minute)
	expectTold(t, ann, clock, pushOne, "200 30 29 900")
}

func TestEveryKeyHasItsOwnBuckets(t *testing.T) {
	in, clock, ann := limited(t)
	keys := []*client.Client{in.Key("ann", "live", servertest.AllScopes...), in.Key("ann", "test", servertest.AllScopes...), in.User("bob")}
	for n := range 10 {
		expectTold(t, ann, clock, "GET /v1/secrets/pull?repo=ann/api&environment=development", fmt.Sprintf("200 30 %d 900", 29-n))
	}
	for i, key := range keys {
		want := "200 30 29 900"
		if i == 2 {
			want = "404 30 29 900"
		}
		expectTold(t, key, clock, "GET /v1/secrets/pull?repo=ann/api&environment=development", want)
	}
}

func TestReadsOfValuesAndViewsAreCountedApart(t *testing.T) {
	in, clock, ann := limited(t)
	in.Push(ann, repo, "development", map[string]string{"A": "1"})
	list, err := ann.Secrets(t.Context(), repo, "development", api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	clock.forward(time.Hour)
	secret := "GET /v1/vaults/ann/api/secrets/" + list.Items[0].ID
	for n := range 10 {
		expectTold(t, ann, clock, secret+"/value", fmt.Sprintf("200 10 %d 60", 9-n))
	}
	expectTold(t, ann, clock, secret+"/value", "429 10 0 60 60")
	expectTold(t, ann, clock, secret+"/versions", "200 100 99 900")
	expectTold(t, ann, clock, "GET /v1/secrets/view?repo=ann/api&environment=development&key=A", "200 100 98 900")
	expectTold(t, ann, clock, "GET /v1/secrets/view?repo=ann/api&environment=development&key=B", "404 100 97 900")
	expectTold(t, ann, clock, "GET /v1/secrets/pull?repo=ann/api&environment=development", "200 30 29 900")
	clock.forward(time.Minute)
	expectTold(t, ann, clock, secret+"/value", "200 10 9 60")
}

func TestRefusalsAreCounted(t *testing.T) {
	in, clock, _ := limited(t)
	reader := in.Key("ann", "live", api.ReadSecrets)
	expectTold(t, reader, clock, pushOne, "403 30 29 900")
	expectTold(t, reader, clock, "POST /v1/operator/orgs {}", "403 100 99 900")
	expectTold(t, reader, clock, "GET /v1/users/me", "200 100 98 900")
	expectTold(t, reader, clock, "GET /v1/vaults?limit=0", "422 100 97 900")
}

func TestStrangersAreToldApartByTheirAddress(t *testing.T) {
	behindProxy := func(c *server.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	const status = "GET /v1/sys/status"
	t.Run("behind a proxy", func(t *testing.T) {
		in, clock, ann := limited(t, behindProxy)
		nobody := in.Client("")
		expectTold(t, nobody, clock, status, "200 100 99 900", "X-Forwarded-For", "203.0.113.7")
		expectTold(t, nobody, clock, status, "200 100 98 900", "X-Forwarded-For", "198.51.100.1, 203.0.113.7")
		expectTold(t, nobody, clock, status, "200 100 99 900", "X-Forwarded-For", "203.0.113.8")
		expectTold(t, ann, clock, "GET /v1/users/me", "200 100 98 900", "X-Forwarded-For", "203.0.113.7")
	})
	t.Run("who only says so", func(t *testing.T) {
		in, clock, _ := limited(t)
		nobody := in.Client("")
		for n := range 3 {
			expectTold(t, nobody, clock, status, fmt.Sprintf("200 100 %d 900", 99-n),
				"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", n), "X-Real-IP", fmt.Sprintf("203.0.113.%d", n))
		}
	})
}

func TestAGoodKeyWorksBesideGuesses(t *testing.T) {
	in, clock, ann := limited(t)
	for n := range 10 {
		guess := in.Client(fmt.Sprintf("coffer_live_%040d", n))
		expectTold(t, guess, clock, "GET /v1/users/me", fmt.Sprintf("401 10 %d 60", 9-n))
	}
	expectTold(t, in.Client("anything"), clock, "GET /v1/users/me", "429 10 0 60 60")
	expectTold(t, in.Client(""), clock, "GET /v1/users/me", "401 100 99 900")
	expectTold(t, ann, clock, "GET /v1/users/me", "200 100 98 900")
}

func TestLimitsThatAreOffSayNothing(t *testing.T) {
	_, clock, ann := limited(t, func(c *server.Config) {
		c.Limits.Bulk = server.Rate{Off: true}
		c.Limits.General = server.Rate{Requests: 2, Window: time.Hour}
	})
	for range 35 {
		expectTold(t, ann, clock, pushOne, "200")
	}
	expectTold(t, ann, clock, "GET /v1/users/me", "200 2 0 3600")
	expectTold(t, ann, clock, "GET /v1/users/me", "429 2 0 3600 3600")
}

func TestRequestsAtTheSameTimeAreCountedExactly(t *testing.T) {
	in, clock, _ := limited(t)
	ann := in.Key("ann", "live", api.ReadSecrets)
	var admitted, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				answer := told(t, ann, clock, "GET /v1/users/me")
				switch status, _, _ := strings.Cut(answer, " "); status {
				case "200":
					admitted.Add(1)
				case "429":
					refused.Add(1)
				default:
					t.Errorf("got %q", answer)
				}
			}
		})
	}
	all.Wait()
	if admitted.Load() != 100 || refused.Load() != 60 {
		t.Errorf("%d admitted and %d refused, want 100 and 60", admitted.Load(), refused.Load())
	}
}
