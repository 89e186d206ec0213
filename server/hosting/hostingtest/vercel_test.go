package hostingtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// vercelWorld is a Vercel with a project, and how it is asked.
type vercelWorld struct {
	*hostingtest.Vercel
	user, team, project string
	canary              string // id of an environment of the project's own
	token               hostingtest.VercelToken
	app                 hostingtest.VercelApp
	config              hosting.Config
	waited              atomic.Int64
}

// newVercel makes a project of a team's, and one of the same name elsewhere.
func newVercel(t *testing.T) *vercelWorld {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return start }
	w := &vercelWorld{Vercel: hostingtest.NewVercel(t, now)}
	w.user = w.AddUser("ada")
	w.team = w.AddTeam("Acme", w.user, w.AddUser("grace"))
	w.AddTeam("Empty", w.user)
	w.project = w.AddProject(w.team, "engine")
	w.AddProject(w.user, "engine")
	w.canary = w.AddEnvironment(w.project, "canary")
	w.token = hostingtest.VercelToken{User: w.user}
	w.app = hostingtest.VercelApp{Slug: "coffer", ClientID: "oac_1", Secret: "integration-secret", Redirect: "https://coffer.example/back"}
	w.AddApp(w.app)
	w.config = hosting.Config{
		Name: hosting.Vercel, APIURL: w.URL, WebURL: w.URL, Now: now, Sleep: func(d time.Duration) { w.waited.Add(int64(d)) },
		ClientID: w.app.ClientID, ClientSecret: w.app.Secret, Slug: w.app.Slug, RedirectURL: w.app.Redirect,
	}
	return w
}

func (w *vercelWorld) provider(t testing.TB) hosting.Provider {
	t.Helper()
	p, err := hosting.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *vercelWorld) credential() hosting.Credential {
	return hosting.Credential{Token: api.NewSecret(w.Token(w.token)), Team: w.team}
}

// place is the id of an environment by its name.
func (w *vercelWorld) target(t testing.TB, p hosting.Provider, c hosting.Credential, environment string) hosting.Target {
	t.Helper()
	project, err := p.Find(t.Context(), c, w.project, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range project.Environments {
		if e.Name == environment {
			return hosting.Target{Project: project, Environment: e}
		}
	}
	t.Fatalf("%v has no %s", project.Environments, environment)
	return hosting.Target{}
}

// scene is what most tests here begin with.
func (w *vercelWorld) scene(t testing.TB, environment string) (hosting.Provider, hosting.Credential, hosting.Target) {
	p, c := w.provider(t), w.credential()
	return p, c, w.target(t, p, c, environment)
}

func vercelList(t testing.TB, p hosting.Provider, c hosting.Credential, at hosting.Target) map[string]hosting.Variable {
	t.Helper()
	all, err := p.List(t.Context(), c, at)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]hosting.Variable{}
	for _, v := range all {
		byKey[v.Key] = v
	}
	return byKey
}

// vercelWrite writes over what is listed, and tells which code each key got.
func vercelWrite(t testing.TB, p hosting.Provider, c hosting.Credential, at hosting.Target, values map[string]string) (map[string]hosting.Code, error) {
	t.Helper()
	was := vercelList(t, p, c, at)
	var all []hosting.Write
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w := hosting.Write{Key: key, Value: api.NewSecret(values[key])}
		if v, ok := was[key]; ok {
			w.Was = &v
		}
		all = append(all, w)
	}
	codes := map[string]hosting.Code{}
	err := p.Write(t.Context(), c, at, all, vercelNote(codes))
	return codes, err
}

func vercelNote(codes map[string]hosting.Code) func(hosting.Outcome) error {
	return func(o hosting.Outcome) error {
		codes[o.Key] = ""
		if f, ok := errors.AsType[*hosting.Failure](o.Err); ok {
			codes[o.Key] = f.Code
		} else if o.Err != nil {
			codes[o.Key] = "no failure"
		}
		return nil
	}
}

func vercelRemove(t testing.TB, p hosting.Provider, c hosting.Credential, at hosting.Target, keys ...string) (map[string]hosting.Code, error) {
	t.Helper()
	was := vercelList(t, p, c, at)
	var all []hosting.Variable
	for _, key := range keys {
		all = append(all, was[key])
	}
	codes := map[string]hosting.Code{}
	err := p.Delete(t.Context(), c, at, all, vercelNote(codes))
	return codes, err
}

// records are a key's records, without what says nothing of it.
func (w *vercelWorld) records(key string) []string {
	var all []string
	for _, r := range w.Records(w.project) {
		if r.Key == key {
			all = append(all, fmt.Sprintf("%s %s %s%s%s", r.Type, r.Value, strings.Join(r.Targets, "+"), strings.Join(r.Custom, "+"), r.Branch))
		}
	}
	slices.Sort(all)
	return all
}

func (w *vercelWorld) hold(t testing.TB, key string, want ...string) {
	t.Helper()
	if got := w.records(key); !slices.Equal(got, want) {
		t.Errorf("records of %s are %q, want %q", key, got, want)
	}
}

var vercelBoth = []string{"production", "preview"}

// vercelOnPost has a fault at requests for new records only.
func vercelOnPost(fault standin.Fault) standin.Fault { return vercelOn("POST", fault) }

func vercelOn(method string, fault standin.Fault) standin.Fault {
	return func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == method {
			fault(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}
}

// vercelBodyOf reads a request's body and leaves it to be read again.
func vercelBodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return string(text)
}

type vercelRecord = hostingtest.VercelRecord
