package hostingtest_test

import (
	"encoding/json"
	"fmt"
	"io"
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

// railwayHost is a fake Railway with a project and two services in a workspace,
// and one of its users.
type railwayHost struct {
	*hostingtest.Host
	fake            *hostingtest.Railway
	workspace, user string
	other           string // service

	transport http.RoundTripper // of clients made from now on
}

func newRailway(t *testing.T) *railwayHost {
	r := hostingtest.NewRailway(t)
	h := &railwayHost{fake: r, workspace: r.AddWorkspace("acme")}
	elsewhere := r.AddWorkspace("other")
	h.user = r.AddUser("ada", h.workspace)
	stranger := r.AddUser("eve", elsewhere)
	project := r.AddProject(h.workspace, "shop", "production", "staging")
	service := r.AddService(project, "web", "acme/shop")
	h.other = r.AddService(project, "worker", "")
	r.AddProject(elsewhere, "elsewhere", "production")

	var waited atomic.Int64
	h.Host = &hostingtest.Host{
		Fake: r.Fake,
		Provider: func() hosting.Provider {
			p, err := hosting.New(hosting.Config{
				Name: hosting.Railway, APIURL: r.URL, WebURL: r.URL,
				ClientID: r.App.ClientID, ClientSecret: r.App.ClientSecret, RedirectURL: r.App.RedirectURL,
				Now: r.Now, Sleep: func(d time.Duration) { waited.Add(int64(d)); r.Pass(d) }, Transport: h.transport,
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Waited: func() time.Duration { return time.Duration(waited.Load()) },
		Credential: func() hosting.Credential {
			return hosting.Credential{Token: api.NewSecret(r.AccountToken(h.user, false))}
		},
		Revoke: func(c hosting.Credential) { r.Revoke(c.Token.Reveal()) },
		Stranger: func() hosting.Credential {
			return hosting.Credential{Token: api.NewSecret(r.AccountToken(stranger, false))}
		},
		Project: project, Service: service, Here: "production", There: "staging",
		AddProjects: func(n int) { h.addProjects(n) },
		Limits:      railwayLimits(r),
		Refused:     "NO NAME", RefusedCode: hosting.CodeRefused,
		Writing: func(c standin.Call) bool { return strings.HasPrefix(operation(c.Body), "mutation") },
		Fewest:  func(n int) (create, change, remove int) { return 1, 1, n },
		OAuth: &hostingtest.OAuth{
			Authorize: func(address string) map[string][]string { return r.Authorize(h.user, address) },
			Secret:    r.App.ClientSecret, PKCE: true, Refreshes: true, Rotates: true,
			Expire: func(g hosting.Grant) { r.Revoke(g.Access.Reveal()) },
			Revoke: func(g hosting.Grant) { r.EndGrant(g.Refresh.Reveal()) },
		},
	}
	h.holding()
	return h
}

// holding says how somebody else changes the variables of the host's service.
func (h *railwayHost) holding() {
	r := h.fake
	h.Put = func(environment, key, value string) { r.Set(h.Project, h.Service, environment, key, value) }
	h.Remove = func(environment, key string) { r.Unset(h.Project, h.Service, environment, key) }
	h.Held = func(environment string) map[string]string {
		held := r.Held(h.Project, h.Service, environment)
		delete(held, "REFERENCE")
		return held
	}
	h.Hide = func(key, value string) { r.Seal(h.Project, h.Service, h.Here, key, value) }
	h.Hidden = func(key string) bool { return r.Sealed(h.Project, h.Service, h.Here, key) }
	h.Foreign = func() map[string]hosting.Origin {
		r.Set(h.Project, h.other, h.Here, "OTHER", "of the other service")
		r.Set(h.Project, h.Service, h.Here, "REFERENCE", "${{worker.OTHER}}/path")
		all := map[string]hosting.Origin{"REFERENCE": hosting.FromReference}
		if h.Service != "" {
			r.OwnVariables = true
			all["RAILWAY_PROJECT_ID"], all["RAILWAY_ENVIRONMENT_NAME"] = hosting.FromSystem, hosting.FromSystem
		}
		return all
	}
}

// addProjects adds projects with more services and environments than a small page
// has.
func (h *railwayHost) addProjects(n int) {
	for i := range n {
		p := h.fake.AddProject(h.workspace, fmt.Sprintf("more-%d", i), "production", "staging", "development", "preview")
		for s := range 3 {
			h.fake.AddService(p, fmt.Sprintf("service-%d", s), "")
		}
	}
}

// operation is the text of the operation in a request.
func operation(body string) string {
	var said struct{ Query string }
	_ = json.Unmarshal([]byte(body), &said) // "" is no operation
	return said.Query
}

func railwayLimits(r *hostingtest.Railway) map[string]standin.Fault {
	return map[string]standin.Fault{
		"Retry-After":  standin.TooMany("3"),
		"no time":      standin.TooMany(""),
		"the firewall": firewall,
		"X-RateLimit-Reset": func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.Header().Set("X-RateLimit-Limit", "100")
			rw.Header().Set("X-RateLimit-Remaining", "0")
			rw.Header().Set("X-RateLimit-Reset", strconv.FormatInt(r.Now().Add(4*time.Second-time.Nanosecond).Unix(), 10))
			standin.Answer(rw, http.StatusTooManyRequests, map[string]any{"errors": []any{map[string]any{"message": "Too many requests"}}})
		},
	}
}

func firewall(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "text/html")
	rw.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(rw, "<title>You are being rate limited</title>") // a client that left is no concern of ours
}

func TestRailwayKeepsTheRules(t *testing.T) {
	hostingtest.Run(t, func(t *testing.T) *hostingtest.Host { return newRailway(t).Host })
}

func TestRailwayKeepsTheRulesForWhatServicesShare(t *testing.T) {
	hostingtest.Run(t, func(t *testing.T) *hostingtest.Host {
		h := newRailway(t)
		h.Service = ""
		return h.Host
	})
}

func TestRailwayKeepsTheRulesWithAWorkspacesToken(t *testing.T) {
	hostingtest.Run(t, func(t *testing.T) *hostingtest.Host {
		h := newRailway(t)
		h.fake.Forgiving = true
		h.Credential = func() hosting.Credential { return h.known(t, h.fake.WorkspaceToken(h.workspace), "") }
		return h.Host
	})
}

// known is a credential as it is kept after a check.
func (h *railwayHost) known(t *testing.T, token, team string) hosting.Credential {
	t.Helper()
	c := hosting.Credential{Token: api.NewSecret(token), Team: team}
	a, err := h.Provider().Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Team, c.Kind = a.TeamID, a.Kind
	return c
}

// find is a place of the host's project.
func (h *railwayHost) find(t *testing.T, c hosting.Credential, service, environment string) hosting.Target {
	t.Helper()
	p, err := h.Provider().Find(t.Context(), c, h.Project, service)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Environments, func(e hosting.Environment) bool { return e.Name == environment })
	return hosting.Target{Project: p, Environment: p.Environments[i]}
}
