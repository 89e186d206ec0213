package hostingtest_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// netlifyHost is a fake Netlify with a site whose team and user are given too.
type netlifyHost struct {
	*hostingtest.Host
	fake       *hostingtest.Netlify
	team, user string

	transport http.RoundTripper // of clients made from now on
}

func newNetlify(t *testing.T) *netlifyHost {
	n := hostingtest.NewNetlify(t)
	team, other := n.AddTeam("acme", false), n.AddTeam("other", true)
	user, stranger := n.AddUser("ada", team), n.AddUser("eve", other)
	n.Rate = 5000 // the rules count calls, and what is refused is one
	site := n.AddSite(team, "shop")
	n.AddSite(other, "elsewhere")

	h := &netlifyHost{fake: n, team: team, user: user}
	var waited atomic.Int64
	h.Host = &hostingtest.Host{
		Fake: n.Fake,
		Provider: func() hosting.Provider {
			p, err := hosting.New(hosting.Config{
				Name: hosting.Netlify, APIURL: n.URL, WebURL: n.URL,
				ClientID: n.App.ClientID, ClientSecret: n.App.ClientSecret, RedirectURL: n.App.RedirectURL,
				Now:       n.Now,
				Sleep:     func(d time.Duration) { waited.Add(int64(d)); n.Pass(d) },
				Transport: h.transport,
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Waited:      func() time.Duration { return time.Duration(waited.Load()) },
		Credential:  func() hosting.Credential { return hosting.Credential{Token: api.NewSecret(n.Token(user))} },
		Revoke:      func(c hosting.Credential) { n.Revoke(c.Token.Reveal()) },
		Stranger:    func() hosting.Credential { return hosting.Credential{Token: api.NewSecret(n.Token(stranger))} },
		Project:     site,
		Here:        "production",
		There:       "deploy-preview",
		AddProjects: func(count int) { addSites(n, team, count) },
		Put:         func(environment, key, value string) { n.Set(site, environment, key, value) },
		Remove:      func(environment, key string) { n.Unset(site, environment, key) },
		Held:        func(environment string) map[string]string { return n.Held(site, environment) },
		Share:       func(key, value string) { n.Set(site, "all", key, value) },
		Hide:        func(key, value string) { n.Hide(site, "production", key, value) },
		Hidden:      func(key string) bool { return n.Secret(site, key) },
		Foreign: func() map[string]hosting.Origin {
			n.SetTeam(team, "FROM_THE_TEAM", "shared-by-the-team")
			return map[string]hosting.Origin{"FROM_THE_TEAM": hosting.FromAbove}
		},
		Refused:     "SITE_NAME",
		RefusedCode: hosting.CodeRefused,
		Writing:     func(c standin.Call) bool { return c.Method != http.MethodGet && strings.Contains(c.Path, "/env") },
		Limits: map[string]standin.Fault{
			"the time in X-RateLimit-Reset": netlifyLimit(n),
			"Retry-After":                   standin.TooMany("3"),
			"a page of the firewall": func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
				rw.Header().Set("Retry-After", "3")
				rw.Header().Set("Content-Type", "text/html")
				rw.WriteHeader(http.StatusForbidden)
				_, _ = rw.Write([]byte("<title>Blocked</title>"))
			},
		},
		Fewest: func(count int) (create, change, remove int) { return 1, count, count },
		OAuth: &hostingtest.OAuth{
			Authorize: func(address string) map[string][]string { return n.Authorize(user, address) },
			Expire:    func(g hosting.Grant) { n.Expire(g.Access.Reveal()) },
			Revoke:    func(hosting.Grant) { n.EndGrants(user) },
		},
	}
	return h
}

func addSites(n *hostingtest.Netlify, team string, count int) {
	for i := range count {
		n.AddSite(team, fmt.Sprintf("more-%d", i))
	}
}

func netlifyLimit(n *hostingtest.Netlify) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("X-RateLimit-Limit", "500")
		rw.Header().Set("X-RateLimit-Remaining", "0")
		rw.Header().Set("X-RateLimit-Reset", strconv.FormatInt(n.Now().Add(4*time.Second-time.Nanosecond).Unix(), 10))
		standin.Answer(rw, http.StatusTooManyRequests, map[string]any{"code": 429, "message": "API rate limit exceeded"})
	}
}

// netlifyRun is a client at work on an environment.
type netlifyRun struct {
	p hosting.Provider
	c hosting.Credential
	t hosting.Target
}

func (h *netlifyHost) run(t *testing.T, environment string) netlifyRun {
	t.Helper()
	r := netlifyRun{p: h.Provider(), c: h.Credential()}
	project, err := r.p.Find(t.Context(), r.c, h.Project, "")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(project.Environments, func(e hosting.Environment) bool { return e.Name == environment })
	r.t = hosting.Target{Project: project, Environment: project.Environments[i]}
	return r
}

func (r netlifyRun) list(t *testing.T) map[string]hosting.Variable {
	t.Helper()
	all, err := r.p.List(t.Context(), r.c, r.t)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]hosting.Variable{}
	for _, v := range all {
		listed[v.Key] = v
	}
	return listed
}

// try writes values in the order of their keys.
func (r netlifyRun) try(ctx context.Context, values map[string]string) (map[string]error, error) {
	var all []hosting.Write
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, hosting.Write{Key: key, Value: api.NewSecret(values[key])})
	}
	told := map[string]error{}
	err := r.p.Write(ctx, r.c, r.t, all, func(o hosting.Outcome) error { told[o.Key] = o.Err; return nil })
	return told, err
}

func (r netlifyRun) write(t *testing.T, values map[string]string) {
	t.Helper()
	told, err := r.try(t.Context(), values)
	if err != nil || len(told) != len(values) {
		t.Fatalf("told of %v, error %v", told, err)
	}
	for key, err := range told {
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func (r netlifyRun) remove(t *testing.T, keys ...string) {
	t.Helper()
	var all []hosting.Variable
	listed := r.list(t)
	for _, key := range keys {
		all = append(all, listed[key])
	}
	err := r.p.Delete(t.Context(), r.c, r.t, all, func(o hosting.Outcome) error { return o.Err })
	if err != nil {
		t.Fatal(err)
	}
}

func (h *netlifyHost) values(t *testing.T, key string, want map[string]string) {
	t.Helper()
	if got := h.fake.Values(h.Project, key); !maps.Equal(got, want) {
		t.Errorf("%s has the values %v, want %v", key, got, want)
	}
}
