package hostingtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
)

// vercelMutant is a client that is broken on purpose: by what happens to its
// requests and answers on the way, or by what is around it.
type vercelMutant struct {
	host   string // one of vercelHosts
	via    func(next http.RoundTripper, r *http.Request) (*http.Response, error)
	around func(hosting.Provider) hosting.Provider
	rules  []string // that do not hold for it, among others
}

var vercelMutants = map[string]vercelMutant{
	"takes every record for the target's own": {host: "pasted token", via: vercelAnswers("/env", vercelOwn), rules: []string{
		"a shared record is listed in both places", "deleting a shared record leaves the others theirs",
		"writing a shared record leaves the others theirs",
	}},
	"creates for every target": {host: "pasted token", via: vercelRequests(http.MethodPost, "target", []string{"production", "preview", "development"}), rules: []string{
		"what is written takes effect here and nowhere else", "writing a shared record leaves the others theirs",
	}},
	"leaves half a change": {host: "pasted token", via: vercelMendless, rules: []string{
		"a call that fails is told of truthfully, and a second run mends it",
	}},
	"changes types": {host: "pasted token", via: vercelRequests(http.MethodPatch, "type", "plain"), rules: []string{
		"writing a hidden value keeps it hidden",
	}},
	"believes every 201": {host: "pasted token", via: vercelAnswers("/env", vercelAllWell), rules: []string{
		"one refused key does not keep the others from being done",
	}},
	"takes ciphertext for values": {host: "token of an installation", via: vercelAnswers("/env", vercelOpen), rules: []string{
		"variables are listed over all pages", "what is written takes effect here and nowhere else",
	}},
	"reads one page": {host: "pasted token", via: vercelAnswers("", vercelOnePage), rules: []string{
		"projects are listed over all pages", "variables are listed over all pages",
	}},
	"takes targets for custom environments": {host: "custom environment", via: vercelAnswers("/custom-environments", vercelNoCustom), rules: []string{
		"a project is found with its environments",
	}},
	"forgets the team": {host: "token of an installation", via: vercelNoTeam, rules: []string{
		"a project is found with its environments", "projects are listed over all pages",
	}},
	"writes one by one": {host: "pasted token", around: func(p hosting.Provider) hosting.Provider { return vercelOneByOne{p} }, rules: []string{
		"many variables take the fewest calls",
	}},
	"takes what integrations made for the user's": {host: "pasted token", via: vercelAnswers("/env", vercelMine), rules: []string{
		"who made a variable is told",
	}},
}

func TestTheRulesSeeEveryVercelMutant(t *testing.T) {
	for name, m := range vercelMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hostingtest.Broken(t, func(t *testing.T) *hostingtest.Host {
				w := newVercel(t)
				if m.via != nil {
					w.config.Transport = vercelVia(m.via)
				}
				h := vercelHost(t, w, vercelHosts[m.host])
				if m.around != nil {
					h.Wrap(m.around)
				}
				return h
			}, m.rules...)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(m.rules)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}

type vercelVia func(next http.RoundTripper, r *http.Request) (*http.Response, error)

func (v vercelVia) RoundTrip(r *http.Request) (*http.Response, error) {
	return v(http.DefaultTransport, r)
}

// vercelAnswers changes every answer, under addresses that hold path, that is a
// JSON object.
func vercelAnswers(path string, change func(map[string]any)) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(r)
		if err != nil || !strings.Contains(r.URL.Path, path) {
			return res, err
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		var said map[string]any
		if json.Unmarshal(text, &said) == nil {
			change(said)
			text, _ = json.Marshal(said)
		}
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		return res, nil
	}
}

// vercelRequests sets a field in every record that is sent in this way, unless it
// is only taken out of places.
func vercelRequests(method, field string, value any) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		text := vercelBodyOf(r)
		var one map[string]any
		var many []map[string]any
		if r.Method == method && json.Unmarshal([]byte(text), &one) == nil && one["value"] != nil {
			one[field] = value
			return next.RoundTrip(vercelResend(r, one))
		}
		if r.Method == method && json.Unmarshal([]byte(text), &many) == nil {
			for _, x := range many {
				x[field] = value
			}
			return next.RoundTrip(vercelResend(r, many))
		}
		return next.RoundTrip(r)
	}
}

func vercelResend(r *http.Request, body any) *http.Request {
	text, _ := json.Marshal(body)
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return r
}

// vercelEachEnv goes over the records of a list.
func vercelEachEnv(said map[string]any, change func(map[string]any)) {
	envs, _ := said["envs"].([]any)
	for _, x := range envs {
		change(x.(map[string]any))
	}
}

func vercelOwn(said map[string]any) {
	vercelEachEnv(said, func(x map[string]any) {
		if targets, many := x["target"].([]any); many && len(targets) > 1 {
			x["target"] = []string{"production"}
		}
	})
}

func vercelOpen(said map[string]any) {
	vercelEachEnv(said, func(x map[string]any) { x["decrypted"] = true })
}

func vercelMine(said map[string]any) {
	vercelEachEnv(said, func(x map[string]any) { delete(x, "configurationId") })
}

func vercelAllWell(said map[string]any) {
	failed, _ := said["failed"].([]any)
	created, _ := said["created"].([]any)
	for _, f := range failed {
		created = append(created, map[string]any{"key": f.(map[string]any)["error"].(map[string]any)["envVarKey"], "id": "env-0", "updatedAt": 1})
	}
	if said["created"] != nil {
		said["created"], said["failed"] = created, []any{}
	}
}

func vercelOnePage(said map[string]any) {
	if about, ok := said["pagination"].(map[string]any); ok {
		about["next"] = nil
	}
}

func vercelNoCustom(said map[string]any) { said["environments"] = []any{} }

// vercelMendless says that a record got its targets back, which it did not.
func vercelMendless(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	var body struct{ Target []string }
	if json.Unmarshal([]byte(vercelBodyOf(r)), &body) == nil && r.Method == http.MethodPatch && len(body.Target) > 1 {
		return next.RoundTrip(vercelResend(r, map[string]any{}))
	}
	return next.RoundTrip(r)
}

func vercelNoTeam(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	q := r.URL.Query()
	q.Del("teamId")
	r.URL.RawQuery = q.Encode()
	return next.RoundTrip(r)
}

// vercelOneByOne writes variables one at a time.
type vercelOneByOne struct{ hosting.Provider }

func (p vercelOneByOne) Write(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done func(hosting.Outcome) error) error {
	for _, w := range all {
		if err := p.Provider.Write(ctx, c, t, []hosting.Write{w}, done); err != nil {
			return err
		}
	}
	return nil
}
