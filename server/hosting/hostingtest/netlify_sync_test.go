package hostingtest_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

func splits() map[string]hostingtest.NetlifySplit {
	return map[string]hostingtest.NetlifySplit{
		"keeps": hostingtest.NetlifyKeeps, "expands": hostingtest.NetlifyExpands, "drops": hostingtest.NetlifyDrops,
	}
}

// TestNetlifyTakesOneContextOutOfAll holds whatever Netlify makes of a value for
// all contexts when one gets its own.
func TestNetlifyTakesOneContextOutOfAll(t *testing.T) {
	for name, split := range splits() {
		t.Run(name, func(t *testing.T) {
			h := newNetlify(t)
			h.fake.Splits = split
			for _, key := range []string{"WRITTEN", "DELETED"} {
				h.fake.Set(h.Project, "all", key, "for-all")
				h.fake.Set(h.Project, "branch:next", key, "for-next")
				h.fake.Set(h.Project, "local", key, "for-me")
			}
			r := h.run(t, "production")
			if v := r.list(t)["WRITTEN"]; !v.Shared || v.Value.Reveal() != "for-all" {
				t.Errorf("listed as %+v", v)
			}
			r.write(t, map[string]string{"WRITTEN": "for-production"})
			r.remove(t, "DELETED")
			others := map[string]string{
				"deploy-preview": "for-all", "branch-deploy": "for-all", "dev-server": "for-all", "dev": "for-me", "branch:next": "for-next",
			}
			h.values(t, "DELETED", others)
			others["production"] = "for-production"
			h.values(t, "WRITTEN", others)
			if v := r.list(t)["WRITTEN"]; v.Shared {
				t.Error("it is still listed as shared")
			}
		})
	}
}

// TestNetlifyLosesNothingWhenCutOff stops a client before each of its calls, and
// lets another one finish.
func TestNetlifyLosesNothingWhenCutOff(t *testing.T) {
	want := map[string]string{"deploy-preview": "for-all", "branch-deploy": "for-all", "dev-server": "for-all", "dev": "for-all"}
	for name, remove := range map[string]bool{"write": false, "delete": true} {
		t.Run(name, func(t *testing.T) {
			for calls := 0; ; calls++ {
				h := newNetlify(t)
				h.fake.Set(h.Project, "all", "KEY", "for-all")
				r := h.run(t, "production")
				listed := r.list(t)["KEY"]
				work := func() error {
					if remove {
						return r.p.Delete(t.Context(), r.c, r.t, []hosting.Variable{listed}, func(o hosting.Outcome) error { return o.Err })
					}
					told, err := r.try(t.Context(), map[string]string{"KEY": "mine-alone"})
					return errors.Join(err, told["KEY"])
				}
				h.Fake.Break("/api/v1/accounts/", standin.After(calls, standin.Status(http.StatusInternalServerError)))
				cut := work()
				for environment := range want {
					if got := h.fake.Held(h.Project, environment)["KEY"]; environment != "dev" && got != "for-all" {
						t.Errorf("after %d calls %s holds %q", calls, environment, got)
					}
				}
				if _, ok := h.fake.Held(h.Project, "production")["KEY"]; !ok && !remove {
					t.Errorf("after %d calls production holds nothing", calls)
				}
				h.Fake.Heal()
				if err := work(); err != nil {
					t.Fatal(err)
				}
				full := maps.Clone(want)
				if !remove {
					full["production"] = "mine-alone"
				}
				h.values(t, "KEY", full)
				if cut == nil {
					return
				}
			}
		})
	}
}

func TestNetlifyWritesNothingThatItDidNotRead(t *testing.T) {
	h := newNetlify(t)
	h.fake.Set(h.Project, "all", "OLD", "for-all-of-them")
	h.fake.Hide(h.Project, "all", "OLD", "for-all-of-them")
	r := h.run(t, "production")
	if v := r.list(t)["OLD"]; v.Readable {
		t.Errorf("listed as %+v", v)
	}
	told, err := r.try(t.Context(), map[string]string{"OLD": "for-production"})
	if f := (*hosting.Failure)(nil); err != nil || !errors.As(told["OLD"], &f) || f.Code != hosting.CodeRefused {
		t.Errorf("told of %v, error %v", told, err)
	}
	h.values(t, "OLD", map[string]string{"all": "for-all-of-them"})
}

func TestNetlifyKeepsSecrets(t *testing.T) {
	h := newNetlify(t)
	h.fake.Hide(h.Project, "production", "SECRET", "a-long-secret-value")
	h.fake.Set(h.Project, "local", "SECRET", "for-developers")
	r := h.run(t, "production")
	v := r.list(t)["SECRET"]
	if v.Readable || v.Value.Len() > 0 || v.Mark == "" {
		t.Errorf("listed as %+v", v)
	}
	if v := h.run(t, "local").list(t)["SECRET"]; !v.Readable || v.Value.Reveal() != "for-developers" {
		t.Errorf("for developers listed as %+v", v)
	}
	r.write(t, map[string]string{"SECRET": "another-secret-value"})
	h.values(t, "SECRET", map[string]string{"production": "another-secret-value", "dev": "for-developers"})
	if !h.fake.Secret(h.Project, "SECRET") {
		t.Error("it is no secret any more")
	}
	if again := r.list(t)["SECRET"]; again.Mark == v.Mark {
		t.Error("its mark is the same")
	}
}

func TestNetlifyHasLocalAsDev(t *testing.T) {
	h := newNetlify(t)
	h.run(t, "local").write(t, map[string]string{"KEY": "for-developers"})
	h.values(t, "KEY", map[string]string{"dev": "for-developers"})
	r := h.run(t, "local")
	r.t.Environment.ID = "local"
	if _, err := r.p.List(t.Context(), r.c, r.t); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("the context local: %v", err)
	}
	d := r.p.Describe()
	if d.Synonyms["dev"] != "local" || d.Environments["staging"] != "deploy-preview" || d.Environments["development"] != "local" {
		t.Errorf("described as %+v", d)
	}
}

// TestNetlifyGivesAKnownKeyAnotherContext has a key that takes effect elsewhere
// only: to create it would be refused.
func TestNetlifyGivesAKnownKeyAnotherContext(t *testing.T) {
	h := newNetlify(t)
	h.fake.Set(h.Project, "deploy-preview", "KEY", "for-previews")
	r := h.run(t, "production")
	if _, ok := r.list(t)["KEY"]; ok {
		t.Error("it is listed for production")
	}
	r.write(t, map[string]string{"KEY": "for-production", "NEW": ""})
	h.values(t, "KEY", map[string]string{"production": "for-production", "deploy-preview": "for-previews"})
	h.values(t, "NEW", map[string]string{"production": ""})
	r.remove(t, "KEY", "NEW")
	h.values(t, "KEY", map[string]string{"deploy-preview": "for-previews"})
	h.values(t, "NEW", nil)
}

// TestNetlifyReadsBeforeItCreatesAgain loses the answer of a POST, before and
// after the server took it, and lets somebody else be quicker.
func TestNetlifyReadsBeforeItCreatesAgain(t *testing.T) {
	lost := func(_ *standin.Fake, _ http.ResponseWriter, _ *http.Request, _ http.Handler) {
		panic(http.ErrAbortHandler)
	}
	empty := func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		standin.Answer(rw, http.StatusCreated, []any{})
	}
	for name, fault := range map[string]standin.Fault{
		"before": lost, "with nothing": empty, "after": standin.CutOff, "half": standin.Truncated, "hollow": standin.Hollow, "502": standin.Status(http.StatusBadGateway), "500": standin.Status(http.StatusInternalServerError),
	} {
		t.Run(name, func(t *testing.T) {
			h := newNetlify(t)
			posted := false
			h.Fake.Break("/", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPost && !posted {
					posted = true
					h.fake.Set(h.Project, "production", "C", "from-somebody-else")
					h.fake.Set(h.Project, "deploy-preview", "D", "from-somebody-else")
					fault(f, rw, r, next)
					return
				}
				next.ServeHTTP(rw, r)
			})
			r := h.run(t, "production")
			r.write(t, map[string]string{"A": "value-of-a", "B": "value-of-b", "C": "value-of-c", "D": "value-of-d"})
			for key, want := range map[string]string{"A": "value-of-a", "B": "value-of-b", "C": "value-of-c", "D": "value-of-d"} {
				if got := h.Held("production")[key]; got != want {
					t.Errorf("%s holds %q, want %q", key, got, want)
				}
			}
			if got := h.Held("deploy-preview")["D"]; got != "from-somebody-else" {
				t.Errorf("somebody else's D holds %q", got)
			}
		})
	}
}

func TestNetlifyFindsOutWhichKeyIsRefused(t *testing.T) {
	h := newNetlify(t)
	values := map[string]string{"SITE_NAME": "refused-by-name"}
	for i := range 20 {
		values[fmt.Sprintf("KEY_%d", i)] = fmt.Sprintf("value-of-%d", i)
	}
	r := h.run(t, "production")
	told, err := r.try(t.Context(), values)
	if err != nil || len(told) != len(values) {
		t.Fatalf("told of %d, error %v", len(told), err)
	}
	for key, err := range told {
		if (err != nil) != (key == "SITE_NAME") {
			t.Errorf("%s: %v", key, err)
		}
	}
	delete(values, "SITE_NAME")
	if got := h.Held("production"); !maps.Equal(got, values) {
		t.Errorf("production holds %v", got)
	}
}

// TestNetlifyShowsTheTeamsVariablesToItsMembers lets others work on a site who
// must not see them.
func TestNetlifyShowsTheTeamsVariablesToItsMembers(t *testing.T) {
	h := newNetlify(t)
	h.Foreign()
	h.fake.SetTeam(h.team, "BOTH", "from-the-team")
	h.fake.Set(h.Project, "production", "BOTH", "of-the-site")
	r := h.run(t, "production")
	listed := r.list(t)
	if v := listed["FROM_THE_TEAM"]; v.Origin != hosting.FromAbove || v.Value.Reveal() != "shared-by-the-team" {
		t.Errorf("listed as %+v", v)
	}
	if v := listed["BOTH"]; v.Origin != hosting.FromUser || v.Value.Reveal() != "of-the-site" {
		t.Errorf("listed as %+v", v)
	}
	err := r.p.Delete(t.Context(), r.c, r.t, []hosting.Variable{listed["FROM_THE_TEAM"]}, func(o hosting.Outcome) error { return o.Err })
	if err == nil {
		t.Error("the team's variable counts as deleted")
	}

	guest := h.fake.AddUser("guest")
	h.fake.Invite(guest, h.Project)
	r.c = hosting.Credential{Token: api.NewSecret(h.fake.Token(guest))}
	listed = r.list(t)
	if _, ok := listed["FROM_THE_TEAM"]; ok || len(listed) != 1 {
		t.Errorf("a guest sees %v", slices.Sorted(maps.Keys(listed)))
	}
	r.write(t, map[string]string{"GUEST": "from-a-guest"})
	h.values(t, "GUEST", map[string]string{"production": "from-a-guest"})
	all, err := r.p.Projects(t.Context(), r.c)
	if err != nil || len(all) != 1 || all[0].ID != h.Project {
		t.Errorf("a guest's projects: %v, %v", all, err)
	}
}

func TestNetlifyChecksTokensAndTeams(t *testing.T) {
	h := newNetlify(t)
	p, c := h.Provider(), h.Credential()
	a, err := p.Check(t.Context(), c)
	if want := (hosting.Account{UserID: h.user, UserName: "ada"}); err != nil || a != want {
		t.Errorf("checked as %+v, %v", a, err)
	}
	for _, team := range []string{h.team, "acme-slug"} {
		c.Team = team
		a, err = p.Check(t.Context(), c)
		if want := (hosting.Account{UserID: h.user, UserName: "ada", TeamID: h.team, TeamName: "acme"}); err != nil || a != want {
			t.Errorf("in the team %s checked as %+v, %v", team, a, err)
		}
	}
	c.Team = "other-slug"
	if _, err = p.Check(t.Context(), c); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("in another team: %v", err)
	}
	if _, err := p.Find(t.Context(), h.Credential(), "shop.netlify.app", ""); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("by its domain: %v", err)
	}
	h.fake.ReadOnly(c.Token.Reveal())
	r := h.run(t, "production")
	r.c.Token = c.Token
	told, err := r.try(t.Context(), map[string]string{"A": "value-of-a", "B": "value-of-b"})
	for _, key := range []string{"A", "B"} {
		if f := (*hosting.Failure)(nil); !errors.As(told[key], &f) || f.Code != hosting.CodeForbidden {
			t.Errorf("%s with a token that only reads: %v, %v", key, told[key], err)
		}
	}
}

// TestNetlifyIsNotAskedTooOften has more to write than a minute allows.
func TestNetlifyIsNotAskedTooOften(t *testing.T) {
	h := newNetlify(t)
	h.fake.Rate = 500
	values := map[string]string{}
	for i := range 600 {
		key := fmt.Sprintf("KEY_%03d", i)
		h.fake.Set(h.Project, "production", key, "old-value")
		values[key] = fmt.Sprintf("new-value-%d", i)
	}
	r := h.run(t, "production")
	r.write(t, values)
	if got := h.Held("production"); !maps.Equal(got, values) {
		t.Error("production does not hold the new values")
	}
	if w := h.Waited(); w < 30*time.Second || w > 61*time.Second {
		t.Errorf("waited %v", w)
	}
}

func TestNetlifyPlansAreTold(t *testing.T) {
	h := newNetlify(t)
	h.Fake.Break("/", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(rw, r)
			return
		}
		standin.Answer(rw, http.StatusForbidden, map[string]any{"code": 403, "message": "Upgrade your Netlify account to set specific scopes"})
	})
	told, err := h.run(t, "production").try(t.Context(), map[string]string{"KEY": "some-value"})
	if f := (*hosting.Failure)(nil); err != nil || !errors.As(told["KEY"], &f) || f.Code != hosting.CodePlan || f.RequestID != "" {
		t.Errorf("told of %v, error %v", told, err)
	}
}

func TestNetlifyGrants(t *testing.T) {
	h := newNetlify(t)
	h.fake.App.Refreshes = true
	p := h.Provider().(hosting.Authorizer)
	grant := func() (hosting.Grant, error) {
		return p.Exchange(t.Context(), h.OAuth.Authorize(p.AuthorizeURL("state-1", "challenge")), "verifier")
	}
	g, err := grant()
	if err != nil {
		t.Fatal(err)
	}
	if d := g.Expires.Sub(h.fake.Now()); d < 50*time.Minute || d > time.Hour {
		t.Errorf("it ends in %v", d)
	}
	h.OAuth.Expire(g)
	if _, err := p.Check(t.Context(), hosting.Credential{Token: g.Access}); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("with a token that ended: %v", err)
	}
	next, err := p.Refresh(t.Context(), g.Refresh)
	if err != nil || next.Access == g.Access {
		t.Fatalf("renewed with %v", err)
	}
	if a, err := p.Check(t.Context(), hosting.Credential{Token: next.Access}); err != nil || a.UserName != "ada" {
		t.Errorf("renewed for %+v, %v", a, err)
	}

	h.fake.App.ClientSecret = "another-client-secret"
	if _, err := p.Refresh(t.Context(), next.Refresh); err == nil || errors.Is(err, hosting.ErrCredential) {
		t.Errorf("with the wrong secret of the application: %v", err)
	}
	h.fake.App.ClientSecret = "netlify-client-secret"
	h.OAuth.Revoke(next)
	if _, err := p.Refresh(t.Context(), next.Refresh); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("after its end: %v", err)
	}
	for name, callback := range map[string]map[string][]string{"said no": {"error": {"access_denied"}}, "made up": {"code": {"made-up"}}} {
		if _, err := p.Exchange(t.Context(), callback, ""); !errors.Is(err, hosting.ErrCredential) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if leaks := h.Fake.Leaks(); len(leaks) > 0 {
		t.Errorf("secrets are in %q", leaks)
	}
}

func TestNetlifyWithoutAnApplicationTakesTokensOnly(t *testing.T) {
	p, err := hosting.New(hosting.Config{Name: hosting.Netlify})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.(hosting.Authorizer); ok || p.Describe().OAuth {
		t.Error("it offers to authorize")
	}
}

// TestNetlifyLooksAgainAtWhatItShares has somebody else at work in the middle of
// a run, in a context that is none of ours.
func TestNetlifyLooksAgainAtWhatItShares(t *testing.T) {
	h := newNetlify(t)
	meanwhile := func(method, key string) {
		h.Fake.Heal()
		h.Fake.Break("/", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(rw, r)
			if r.Method == method && h.fake.Values(h.Project, key)["deploy-preview"] == "" {
				h.fake.Set(h.Project, "deploy-preview", key, "from-somebody-else")
			}
		})
	}
	h.fake.Set(h.Project, "production", "A", "first-value")
	h.fake.Set(h.Project, "all", "B", "for-all-of-them")
	r := h.run(t, "production")
	meanwhile(http.MethodPatch, "B")
	r.write(t, map[string]string{"A": "value-of-a", "B": "value-of-b"})
	h.values(t, "B", map[string]string{
		"production": "value-of-b", "deploy-preview": "from-somebody-else", "branch-deploy": "for-all-of-them", "dev": "for-all-of-them", "dev-server": "for-all-of-them",
	})

	h.fake.Set(h.Project, "production", "C", "value-of-c")
	meanwhile(http.MethodDelete, "C")
	r.remove(t, "A", "C")
	h.values(t, "A", nil)
	h.values(t, "C", map[string]string{"deploy-preview": "from-somebody-else"})
}
