package hostingtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// plain is a provider as simple as one can be that has everything the rules ask
// for: to see that the rules can be kept, and which client breaks which.
type plain struct {
	*standin.Fake

	mu       sync.Mutex
	counter  int
	projects []string
	records  map[int]*record
	tokens   map[string]*plainToken
	codes    map[string]string // challenge by code
	refresh  map[string]int    // grant by refresh token, the used ones too
	current  map[int]string    // refresh token by grant
	values   []string
}

// record is a variable in one environment or several.
type record struct {
	Key, Value string
	In         []string
	Hidden     bool
	Origin     hosting.Origin
	Mark       string
}

type plainToken struct {
	grant    int
	stranger bool
	dead     bool
}

const batch = 100 // variables in one call

func newPlain(t testing.TB) *plain {
	p := &plain{
		projects: []string{"p1"}, records: map[int]*record{}, tokens: map[string]*plainToken{},
		codes: map[string]string{}, refresh: map[string]int{}, current: map[int]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /account", p.asked(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("team") != "" {
			plainError(rw, http.StatusNotFound, "")
			return
		}
		standin.Answer(rw, http.StatusOK, map[string]any{"name": "ada"})
	}))
	mux.HandleFunc("GET /projects", p.asked(p.listProjects))
	mux.HandleFunc("GET /project", p.asked(p.findProject))
	mux.HandleFunc("GET /vars", p.asked(p.list))
	mux.HandleFunc("POST /vars", p.asked(p.write))
	mux.HandleFunc("POST /gone", p.asked(p.remove))
	mux.HandleFunc("POST /token", p.token)
	p.Fake = standin.New(t, p.secrets, mux)
	return p
}

func (p *plain) secrets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(p.tokens)), slices.Collect(maps.Keys(p.refresh)))
}

func plainError(rw http.ResponseWriter, status int, code string) {
	standin.Answer(rw, status, map[string]any{"error": code})
}

// asked lets only in who may ask, one at a time.
func (p *plain) asked(answer http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		token, ok := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		project := r.URL.Query().Get("project")
		switch {
		case !ok || token.dead:
			plainError(rw, http.StatusUnauthorized, "")
		case r.URL.Query().Has("project") && (!slices.Contains(p.projects, project) || token.stranger):
			plainError(rw, http.StatusNotFound, "")
		case token.stranger && r.URL.Path == "/projects":
			standin.Answer(rw, http.StatusOK, map[string]any{"items": []string{}})
		default:
			answer(rw, r)
		}
	}
}

func (p *plain) next() int { p.counter++; return p.counter }

func page[T any](p *plain, rw http.ResponseWriter, r *http.Request, all []T) {
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size := 0
	func() { p.mu.Unlock(); defer p.mu.Lock(); size = p.PageSize(0, 50, 50) }()
	items, last := standin.Page(all, n, size)
	standin.Answer(rw, http.StatusOK, map[string]any{"items": items, "more": n < last})
}

func (p *plain) listProjects(rw http.ResponseWriter, r *http.Request) { page(p, rw, r, p.projects) }

func (p *plain) findProject(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("service") != "" {
		plainError(rw, http.StatusNotFound, "")
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{"id": r.URL.Query().Get("project")})
}

type plainVar struct {
	Key    string         `json:"key"`
	Value  *string        `json:"value"` // nil is hidden
	Origin hosting.Origin `json:"origin"`
	Shared bool           `json:"shared"`
	Mark   string         `json:"mark"`
}

func (p *plain) in(environment string) map[string]*record {
	found := map[string]*record{}
	for _, rec := range p.records {
		if slices.Contains(rec.In, environment) {
			found[rec.Key] = rec
		}
	}
	return found
}

func (p *plain) list(rw http.ResponseWriter, r *http.Request) {
	all := []plainVar{}
	found := p.in(r.URL.Query().Get("environment"))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		rec := found[key]
		v := plainVar{Key: key, Value: &rec.Value, Origin: rec.Origin, Shared: len(rec.In) > 1, Mark: rec.Mark}
		if rec.Hidden {
			v.Value = nil
		}
		all = append(all, v)
	}
	page(p, rw, r, all)
}

// set gives a key a value in one environment only.
func (p *plain) set(environment, key, value string) string {
	rec := p.in(environment)[key]
	hidden := rec != nil && rec.Hidden
	p.unset(environment, key)
	p.values = append(p.values, value)
	mark := strconv.Itoa(p.next())
	p.records[p.next()] = &record{Key: key, Value: value, In: []string{environment}, Hidden: hidden, Origin: hosting.FromUser, Mark: mark}
	return mark
}

func (p *plain) unset(environment, key string) {
	for id, rec := range p.records {
		if rec.Key == key {
			rec.In = slices.DeleteFunc(slices.Clone(rec.In), func(in string) bool { return in == environment })
			if len(rec.In) == 0 {
				delete(p.records, id)
			}
		}
	}
}

func (p *plain) write(rw http.ResponseWriter, r *http.Request) {
	var body []struct{ Key, Value string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body) > batch {
		plainError(rw, http.StatusBadRequest, "")
		return
	}
	type result struct {
		Key  string `json:"key"`
		Code string `json:"code"`
		Mark string `json:"mark"`
	}
	var results []result
	for _, v := range body {
		if v.Key == "BAD" {
			results = append(results, result{Key: v.Key, Code: "invalid_key"})
			continue
		}
		results = append(results, result{Key: v.Key, Code: "ok", Mark: p.set(r.URL.Query().Get("environment"), v.Key, v.Value)})
	}
	standin.Answer(rw, http.StatusOK, map[string]any{"results": results})
}

func (p *plain) remove(rw http.ResponseWriter, r *http.Request) {
	var keys []string
	if err := json.NewDecoder(r.Body).Decode(&keys); err != nil || len(keys) > batch {
		plainError(rw, http.StatusBadRequest, "")
		return
	}
	for _, key := range keys {
		p.unset(r.URL.Query().Get("environment"), key)
	}
	standin.Answer(rw, http.StatusOK, map[string]any{"gone": true})
}

// issue makes a token for a grant, 0 for a pasted one.
func (p *plain) issue(grant int, stranger bool) string {
	text := fmt.Sprintf("plain-token-%06d", p.next())
	p.tokens[text] = &plainToken{grant: grant, stranger: stranger}
	return text
}

func (p *plain) token(rw http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	grant := 0
	switch r.FormValue("grant_type") {
	case "authorization_code":
		challenge, ok := p.codes[r.FormValue("code")]
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		delete(p.codes, r.FormValue("code"))
		if !ok || challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			plainError(rw, http.StatusBadRequest, "invalid_grant")
			return
		}
		grant = p.next()
	case "refresh_token":
		old := r.FormValue("refresh_token")
		var ok bool
		if grant, ok = p.refresh[old]; !ok || p.current[grant] != old {
			delete(p.current, grant) // used twice: somebody has stolen it
			plainError(rw, http.StatusBadRequest, "invalid_grant")
			return
		}
	}
	refresh := fmt.Sprintf("plain-refresh-%06d", p.next())
	p.refresh[refresh], p.current[grant] = grant, refresh
	standin.Answer(rw, http.StatusOK, map[string]any{"access_token": p.issue(grant, false), "refresh_token": refresh, "expires_in": 3600})
}

// locked runs something while nobody else does.
func (p *plain) locked(run func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run()
}

func (p *plain) authorize(address string) map[string][]string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	code := ""
	p.locked(func() {
		code = fmt.Sprintf("plain-code-%06d", p.next())
		p.codes[code] = u.Query().Get("code_challenge")
	})
	return map[string][]string{"code": {code}, "state": {u.Query().Get("state")}}
}

func (p *plain) credential(stranger bool) hosting.Credential {
	var c hosting.Credential
	p.locked(func() { c.Token = api.NewSecret(p.issue(0, stranger)) })
	return c
}

func (p *plain) held(environment string) map[string]string {
	held := map[string]string{}
	p.locked(func() {
		for key, rec := range p.in(environment) {
			if rec.Origin == hosting.FromUser {
				held[key] = rec.Value
			}
		}
	})
	return held
}

// add makes a record of somebody else's.
func (p *plain) add(rec record) {
	p.locked(func() {
		rec.Mark = strconv.Itoa(p.next())
		p.records[p.next()] = &rec
	})
}

func plainHost(t *testing.T) *hostingtest.Host {
	p := newPlain(t)
	var waited waits
	kill := func(token string) { p.locked(func() { p.tokens[token].dead = true }) }
	return &hostingtest.Host{
		Fake:       p.Fake,
		Provider:   func() hosting.Provider { return newPlainClient(p.URL, &waited) },
		Waited:     waited.sum,
		Credential: func() hosting.Credential { return p.credential(false) },
		Revoke:     func(c hosting.Credential) { kill(c.Token.Reveal()) },
		Stranger:   func() hosting.Credential { return p.credential(true) },
		Project:    "p1", Here: "production", There: "staging",
		AddProjects: func(n int) {
			p.locked(func() {
				for range n {
					p.projects = append(p.projects, fmt.Sprintf("p%d", p.next()+1))
				}
			})
		},
		Put:    func(environment, key, value string) { p.locked(func() { p.set(environment, key, value) }) },
		Remove: func(environment, key string) { p.locked(func() { p.unset(environment, key) }) },
		Held:   p.held,
		Share: func(key, value string) {
			p.add(record{Key: key, Value: value, In: []string{"production", "staging"}, Origin: hosting.FromUser})
		},
		Hide: func(key, value string) {
			p.add(record{Key: key, Value: value, In: []string{"production"}, Origin: hosting.FromUser, Hidden: true})
		},
		Hidden: func(key string) (hidden bool) {
			p.locked(func() { hidden = p.in("production")[key].Hidden })
			return hidden
		},
		Foreign: func() map[string]hosting.Origin {
			all := map[string]hosting.Origin{"SYSTEM": hosting.FromSystem, "TEAM": hosting.FromAbove}
			for key, origin := range all {
				p.add(record{Key: key, Value: "theirs", In: []string{"production"}, Origin: origin})
			}
			return all
		},
		Refused: "BAD", RefusedCode: hosting.CodeInvalidKey,
		Writing: func(c standin.Call) bool {
			return c.Path == "/vars" && c.Method == http.MethodPost || c.Path == "/gone"
		},
		Limits: map[string]standin.Fault{"Retry-After": standin.TooMany("3"), "no time": standin.TooMany("")},
		Fewest: func(n int) (int, int, int) {
			calls := (n + batch - 1) / batch
			return calls, calls, calls
		},
		OAuth: &hostingtest.OAuth{
			Authorize: p.authorize, PKCE: true, Refreshes: true, Rotates: true, Secret: "plain-client-secret",
			Expire: func(g hosting.Grant) { kill(g.Access.Reveal()) },
			Revoke: func(g hosting.Grant) {
				kill(g.Access.Reveal())
				p.locked(func() { delete(p.current, p.refresh[g.Refresh.Reveal()]) })
			},
		},
	}
}

// waits adds up what clients would have waited.
type waits struct {
	mu    sync.Mutex
	total time.Duration
}

func (w *waits) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += d
}

func (w *waits) sum() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

func TestPlain(t *testing.T) { hostingtest.Run(t, plainHost) }
