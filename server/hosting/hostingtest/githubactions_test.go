package hostingtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

func TestGitHubActions(t *testing.T) {
	for _, environment := range []string{"production", "repository"} {
		t.Run(environment, func(t *testing.T) {
			hostingtest.Run(t, func(t *testing.T) *hostingtest.Host {
				h, _ := githubActions(t, nil)
				if h.Here = environment; environment == "repository" {
					h.There = "production"
				}
				return h
			})
		})
	}
}

// githubActions is a repository with an environment whose name wants escaping.
// The clients go through via unless it is nil.
func githubActions(t *testing.T, via hostingtest.Via) (*hostingtest.Host, *hostingtest.GitHubActions) {
	g := hostingtest.NewGitHubActions(t)
	repo := g.AddRepo("acme/engine", "production", "review/a b?#", "staging")
	other := g.AddRepo("stranger/things", "production")
	known := []int64{repo}
	var waited waits
	place := func(environment string) string {
		if environment == "repository" {
			return ""
		}
		return environment
	}
	return &hostingtest.Host{
		Fake: g.Fake,
		Provider: func() hosting.Provider {
			c := hosting.Config{Name: hosting.GitHubActions, APIURL: g.URL + "/api/v3", Sleep: waited.sleep}
			if via != nil {
				c.Transport = via(http.DefaultTransport.(*http.Transport).Clone())
			}
			p, err := hosting.New(c)
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Waited: waited.sum,
		Credential: func() hosting.Credential {
			return hosting.Credential{Token: api.NewSecret(g.Token("ada", len(known)%2 == 0, known...).Text)}
		},
		Revoke: func(c hosting.Credential) { g.Kill(c.Token.Reveal()) },
		Stranger: func() hosting.Credential {
			return hosting.Credential{Token: api.NewSecret(g.Token("eve", true, other).Text)}
		},
		Project: strconv.FormatInt(repo, 10), Here: "production", There: "review/a b?#",
		AddProjects: func(n int) {
			for i := range n {
				id := g.AddRepo(fmt.Sprintf("acme/more-%d", i), "staging")
				known = append(known, id)
				g.GrantAll(repo, id)
			}
		},
		Put:         func(environment, key, value string) { g.Set(repo, place(environment), key, value) },
		Remove:      func(environment, key string) { g.Unset(repo, place(environment), key) },
		Held:        func(environment string) map[string]string { return g.Held(repo, place(environment)) },
		Refused:     "lower",
		RefusedCode: hosting.CodeInvalidKey,
		Writing: func(c standin.Call) bool {
			return (c.Method == http.MethodPut || c.Method == http.MethodDelete) && strings.Contains(c.Path, "/secrets/")
		},
		Limits: hostingtest.GitHubLimits(),
		Fewest: func(n int) (create, change, remove int) { return n, n, n },
	}, g
}

// on makes a client of a provider, and finds one of its places.
func on(t *testing.T, h *hostingtest.Host, environment string) (hosting.Provider, hosting.Credential, hosting.Target) {
	t.Helper()
	p, c := h.Provider(), h.Credential()
	project, err := p.Find(t.Context(), c, h.Project, h.Service)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range project.Environments {
		if e.Name == environment {
			return p, c, hosting.Target{Project: project, Environment: e}
		}
	}
	t.Fatalf("the environments are %v, want %s", project.Environments, environment)
	return nil, hosting.Credential{}, hosting.Target{}
}

// codes are what became of keys: "" is done.
type codes map[string]hosting.Code

func (c codes) note(out hosting.Outcome) error {
	if c[out.Key] = ""; out.Err != nil {
		c[out.Key] = hosting.FailureOf(out.Err).Code
	}
	return nil
}

func TestGitHubActionsTakesOnlyNamesThatItKeeps(t *testing.T) {
	h, _ := githubActions(t, nil)
	p, c, at := on(t, h, "production")
	h.Put("production", "TOKEN", "theirs")
	var all []hosting.Write
	for _, key := range []string{"token", "Token", "GITHUB_TOKEN", "1ST", "A-B", "A.B", "A B", "Ä", "", "../TOKEN", "_OK"} {
		all = append(all, hosting.Write{Key: key, Value: api.NewSecret("ours")})
	}
	all = append(all, hosting.Write{Key: "LONG", Value: api.NewSecret(strings.Repeat("x", 48<<10+1))},
		hosting.Write{Key: "LONGEST", Value: api.NewSecret(strings.Repeat("x", 48<<10))})
	got := codes{}
	if err := p.Write(t.Context(), c, at, all, got.note); err != nil {
		t.Fatal(err)
	}
	bad := hosting.CodeInvalidKey
	want := codes{
		"token": bad, "Token": bad, "GITHUB_TOKEN": hosting.CodeReserved, "1ST": bad, "A-B": bad, "A.B": bad, "A B": bad, "Ä": bad, "": bad,
		"../TOKEN": bad, "_OK": "", "LONG": hosting.CodeTooLarge, "LONGEST": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if held := h.Held("production"); len(held) != 3 || held["TOKEN"] != "theirs" || held["_OK"] != "ours" {
		t.Errorf("held are %d secrets, and TOKEN is %q", len(held), held["TOKEN"])
	}
	if valid := p.Describe().ValidKey; valid("token") || !valid("_OK") {
		t.Error("names that would be stored as others are called valid")
	}
}

func TestGitHubActionsSealsWithOneKeyForEachRun(t *testing.T) {
	h, _ := githubActions(t, nil)
	p, c, at := on(t, h, "production")
	h.Fake.Forget()
	got := codes{}
	all := []hosting.Write{{Key: "A", Value: api.NewSecret("first value")}, {Key: "B", Value: api.NewSecret("first value")}}
	if err := p.Write(t.Context(), c, at, all, got.note); err != nil {
		t.Fatal(err)
	}
	if n := h.Fake.Calls("GET /"); n != 1 {
		t.Errorf("%d questions were asked, want the public key", n)
	}
	sealed := map[string]bool{}
	for _, call := range h.Fake.Log() {
		if strings.Contains(call.Body, "first value") {
			t.Errorf("%s %s holds the value", call.Method, call.Path)
		}
		sealed[call.Body] = true
	}
	if len(sealed) != 3 { // with the empty one
		t.Error("the same value is sealed in the same way twice")
	}
}

func TestGitHubActionsListsWhatItsUserMayWrite(t *testing.T) {
	h, g := githubActions(t, nil)
	project := func(name string, change func(int64)) {
		id := g.AddRepo(name)
		g.GrantAll(number(t, h), id)
		change(id)
	}
	c := h.Credential()
	project("acme/archived", g.Archive)
	project("acme/readable", g.ReadOnly)
	project("acme/plain", func(int64) {})
	all, err := h.Provider().Projects(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	if want := []string{"acme/engine", "acme/plain"}; !slices.Equal(names, want) {
		t.Errorf("listed are %v, want %v", names, want)
	}
	g.Blind(c.Token.Reveal())
	all, err = h.Provider().Projects(t.Context(), c)
	if err != nil || len(all[0].Environments) != 1 || all[0].Environments[0].Name != "repository" {
		t.Errorf("a token that may see no environments is shown %v, error %v", all, err)
	}
}

// number is the repository of a host.
func number(t *testing.T, h *hostingtest.Host) int64 {
	t.Helper()
	id, err := strconv.ParseInt(h.Project, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestGitHubActionsWhenThePlaceIsGone has it change after it was found: nothing
// is told of as done, and a renamed repository is found again.
func TestGitHubActionsWhenThePlaceIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hostingtest.GitHubActions, int64)
		want   hosting.Code
	}{
		"environment removed": {func(g *hostingtest.GitHubActions, repo int64) { g.RemoveEnvironment(repo, "production") }, hosting.CodeNotFound},
		"repository renamed":  {func(g *hostingtest.GitHubActions, repo int64) { g.Rename(repo, "acme/motor") }, hosting.CodeUnavailable},
	} {
		h, g := githubActions(t, nil)
		p, as, at := on(t, h, "production")
		h.Put("production", "KEY", "value")
		c.change(g, number(t, h))
		got := codes{}
		if err := p.Write(t.Context(), as, at, []hosting.Write{{Key: "KEY"}}, got.note); err == nil || hosting.FailureOf(err).Code != c.want {
			t.Errorf("%s: writing ends with %v, want %v", name, err, c.want)
		}
		if err := p.Delete(t.Context(), as, at, []hosting.Variable{{Key: "KEY"}}, got.note); err == nil || hosting.FailureOf(err).Code != c.want {
			t.Errorf("%s: deleting ends with %v, want %v", name, err, c.want)
		}
		if len(got) > 0 {
			t.Errorf("%s: %v is told of", name, got)
		}
		if one, err := p.Find(t.Context(), as, h.Project, ""); err != nil || c.want == hosting.CodeUnavailable && one.Name != "acme/motor" {
			t.Errorf("%s: found is %+v, error %v", name, one, err)
		}
	}
}

func TestGitHubActionsStopsWhereItMayNotWrite(t *testing.T) {
	h, g := githubActions(t, nil)
	p, c, at := on(t, h, "repository")
	g.Archive(number(t, h))
	got := codes{}
	err := p.Write(t.Context(), c, at, []hosting.Write{{Key: "A"}, {Key: "B"}}, got.note)
	if f := hosting.FailureOf(err); err == nil || f.Code != hosting.CodeForbidden || f.RequestID == "" || len(got) > 0 {
		t.Errorf("writing ends with %v, told are %v", err, got)
	}
}

func TestGitHubActionsTakesNoKeyThatIsNone(t *testing.T) {
	for _, answer := range []string{`{}`, `{"key_id":"1","key":"aGk="}`, `{"key_id":"","key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`, `{"key_id":"1","key":"%"}`, `[]`, `null`} {
		h, _ := githubActions(t, nil)
		p, c, at := on(t, h, "production")
		h.Fake.Break("", func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			standin.Answer(rw, http.StatusOK, json.RawMessage(answer))
		})
		got := codes{}
		err := p.Write(t.Context(), c, at, []hosting.Write{{Key: "A"}}, got.note)
		if u, ok := errors.AsType[*hosting.Unavailable](err); !ok || u.Limited || len(got) > 0 {
			t.Errorf("%s: error %v, told are %v", answer, err, got)
		}
	}
}

// TestGitHubActionsWaits is for limits that name no time; and a count that
// begins anew in an hour is nothing to wait for while something is left.
func TestGitHubActionsWaits(t *testing.T) {
	limits := hostingtest.GitHubLimits()
	for name, want := range map[string]time.Duration{
		"too often, without a time": time.Minute, "too often, 429 and no time": time.Minute, "too often, as forbidden": 3 * time.Second, "too often, as 429": 3 * time.Second,
	} {
		h, _ := githubActions(t, nil)
		p, c, at := on(t, h, "production")
		h.Fake.Break("", standin.Once(limits[name]))
		if _, err := p.List(t.Context(), c, at); err != nil || h.Waited().Round(time.Millisecond) != want {
			t.Errorf("%s: it waited %v, want %v; error %v", name, h.Waited(), want, err)
		}
	}
}

func TestGitHubActionsTellsKindsOfTokens(t *testing.T) {
	h, g := githubActions(t, nil)
	for classic, want := range map[bool]string{true: "classic", false: "fine-grained"} {
		c := hosting.Credential{Token: api.NewSecret(g.Token("ada", classic).Text)}
		got, err := h.Provider().Check(t.Context(), c)
		if want := (hosting.Account{UserID: "7", UserName: "ada", Kind: want}); err != nil || got != want {
			t.Errorf("the account is %+v, error %v, want %+v", got, err, want)
		}
	}
}

func TestGitHubActionsIsFullAtAHundred(t *testing.T) {
	h, _ := githubActions(t, nil)
	p, c, at := on(t, h, "production")
	for i := range 100 {
		h.Put("production", fmt.Sprintf("KEY_%d", i), "value")
	}
	got := codes{}
	if err := p.Write(t.Context(), c, at, []hosting.Write{{Key: "MORE"}, {Key: "KEY_7"}}, got.note); err != nil {
		t.Fatal(err)
	}
	if want := (codes{"MORE": hosting.CodeRefused, "KEY_7": ""}); !maps.Equal(got, want) {
		t.Errorf("told are %v, want %v", got, want)
	}
}

func TestTheRulesSeeBrokenClientsOfGitHubActions(t *testing.T) {
	status := func(when func(*http.Request, int) bool, then int) hostingtest.Via {
		return hostingtest.Answers(func(r *http.Request, res *http.Response) {
			if when(r, res.StatusCode) {
				res.StatusCode = then
			}
		})
	}
	hostingtest.See(t, func(t *testing.T, via hostingtest.Via) *hostingtest.Host {
		h, _ := githubActions(t, via)
		return h
	}, map[string]hostingtest.Mutant{
		"writes to the whole repository": {Via: hostingtest.Requests(func(r *http.Request) {
			before, name, ok := strings.Cut(r.URL.Path, "/environments/production/secrets")
			if ok && r.Method != http.MethodGet || strings.HasSuffix(name, "/public-key") {
				r.URL.Path, r.URL.RawPath = before+"/actions/secrets"+name, ""
			}
		}), Breaks: []string{"what is written takes effect here and nowhere else", "a delete takes what it was told to and nothing else"}},
		"sends values as they are": {Via: hostingtest.Requests(func(r *http.Request) {
			if r.Method == http.MethodPut {
				const body = `{"encrypted_value":"cGxhaW4=","key_id":"1"}`
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			}
		}), Breaks: []string{"what is written takes effect here and nowhere else", "every value arrives bit for bit", "an empty value is a value"}},
		"reads the first page only": {Via: hostingtest.Answers(func(_ *http.Request, res *http.Response) { res.Header.Del("Link") }), Breaks: []string{
			"variables are listed over all pages", "projects are listed over all pages",
		}},
		"takes any answer for success": {Via: status(func(r *http.Request, _ int) bool { return r.Method != http.MethodGet }, http.StatusNoContent), Breaks: []string{
			"an answer that makes no sense is no success", "a call that fails is told of truthfully, and a second run mends it",
			"a credential that ends in the middle ends the run", "a limit in the middle of a run ends it with the truth",
		}},
		"takes limits for refusals": {Via: hostingtest.Answers(func(_ *http.Request, res *http.Response) {
			if res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusTooManyRequests {
				res.StatusCode = http.StatusUnprocessableEntity
			}
		}), Breaks: []string{"a provider that was asked too often is asked again when it says", "a limit that never ends is told as one"}},
		"takes outages for absence": {Via: status(func(_ *http.Request, got int) bool { return got >= 500 }, http.StatusNotFound), Breaks: []string{
			"a question that fails once is asked again", "a provider that is down is unavailable", "what is spoiled is no answer, at whichever request",
			"a call that fails is told of truthfully, and a second run mends it",
		}},
		"remembers one mark": {Via: hostingtest.Answers(func(r *http.Request, res *http.Response) {
			if strings.HasSuffix(r.URL.Path, "/secrets") {
				res.Body = replaced(replaced(res.Body, `"updated_at"`, `"other_at"`), `"created_at"`, `"updated_at"`)
			}
		}), Breaks: []string{"a mark changes when somebody else writes"}},
		"puts the token into addresses": {Via: hostingtest.Requests(func(r *http.Request) {
			r.URL.RawQuery += "&access_token=" + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}), Breaks: []string{"a token tells whose it is", "a delete takes what it was told to and nothing else"}},
	})
}
