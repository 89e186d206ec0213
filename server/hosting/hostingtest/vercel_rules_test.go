package hostingtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

type vercelRecord = hostingtest.VercelRecord

// wrote are the bodies of the requests that changed variables.
func (w *vercelWorld) wrote() []string {
	var all []string
	for _, c := range w.Log() {
		if hostingtest.VercelWriting(c) {
			all = append(all, c.Method+" "+c.Body)
		}
	}
	return all
}

func TestVercelCreatesForOneTargetEach(t *testing.T) {
	for environment, where := range map[string]string{
		"production": `"target":["production"]`, "development": `"target":["development"]`, "canary": `"customEnvironmentIds":["env_`,
	} {
		w := newVercel(t)
		p, c, at := w.scene(t, environment)
		values := map[string]string{}
		for i := range 150 {
			values[fmt.Sprintf("KEY_%03d", i)] = fmt.Sprint(i)
		}
		values["NEXT_PUBLIC_EMPTY"] = ""
		codes, err := vercelWrite(t, p, c, at, values)
		if err != nil || len(codes) != len(values) {
			t.Fatal(len(codes), err)
		}
		wrote := w.wrote()
		if len(wrote) != 2 {
			t.Errorf("%d requests, want 2", len(wrote))
		}
		for _, text := range wrote {
			if n := strings.Count(text, `"key":`); strings.Count(text, where) != n || strings.Count(text, `"type":"encrypted"`) != n || n > 100 {
				t.Errorf("a request for %s has %d records, of which not all have a type and %s", environment, n, where)
			}
		}
		if len(w.Held(w.project, at.Environment.ID)) != len(values) {
			t.Errorf("%s holds other than what was written", environment)
		}
	}
}

func TestVercelChangesOnlyTheValue(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	for _, kind := range []string{"plain", "encrypted", "sensitive"} {
		w.AddRecord(w.project, vercelRecord{Key: strings.ToUpper(kind), Value: "old", Type: kind, Targets: []string{"production"}, Comment: "mine"})
	}
	w.AddRecord(w.project, vercelRecord{Key: "PLAIN", Value: "branch", Targets: []string{"preview"}, Branch: "feature"})
	if _, err := vercelWrite(t, p, c, at, map[string]string{"PLAIN": "new", "ENCRYPTED": "new", "SENSITIVE": "new"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range w.wrote() {
		if text != `PATCH {"value":"new"}` {
			t.Errorf("request %q", text)
		}
	}
	w.hold(t, "PLAIN", "encrypted branch previewfeature", "plain new production")
	w.hold(t, "ENCRYPTED", "encrypted new production")
	w.hold(t, "SENSITIVE", "sensitive new production")
}

func TestVercelLeavesBranchesAlone(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "preview")
	w.AddRecord(w.project, vercelRecord{Key: "A", Value: "branch", Targets: []string{"preview"}, Branch: "feature"})
	if all := vercelList(t, p, c, at); len(all) != 0 {
		t.Errorf("a branch's variable is listed: %v", all)
	}
	if codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "new"}); err != nil || codes["A"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "A", "encrypted branch previewfeature", "encrypted new preview")
	if _, err := vercelRemove(t, p, c, at, "A"); err != nil {
		t.Fatal(err)
	}
	w.hold(t, "A", "encrypted branch previewfeature")
}

func TestVercelListsInEveryForm(t *testing.T) {
	for _, form := range []hostingtest.VercelForm{hostingtest.VercelPages, hostingtest.VercelWhole, hostingtest.VercelBare} {
		for n := range 4 {
			w := newVercel(t)
			w.SetForm(form)
			w.SetPageSize(2)
			p, c, at := w.scene(t, "production")
			for i := range n {
				w.Put(w.project, "production", fmt.Sprintf("KEY_%d", i), "value")
			}
			all := vercelList(t, p, c, at)
			if len(all) != n {
				t.Errorf("form %d: %d are listed, want %d", form, len(all), n)
			}
			for _, v := range all {
				if !v.Readable || v.Value.Reveal() != "value" || v.Shared || v.Mark == "" {
					t.Errorf("form %d: listed as %+v", form, v)
				}
			}
		}
	}
}

func TestVercelAsksForValuesThatTheListWithholds(t *testing.T) {
	w := newVercel(t)
	w.token.Integration = true
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, vercelRecord{Key: "A", Value: "a", Targets: vercelBoth})
	w.AddRecord(w.project, vercelRecord{Key: "P", Value: "p", Type: "plain", Targets: vercelBoth})
	w.AddRecord(w.project, vercelRecord{Key: "S", Value: "s", Type: "sensitive", Targets: vercelBoth})
	w.AddRecord(w.project, vercelRecord{Key: "I", Value: "i", Targets: vercelBoth, Integration: "icfg_2"})
	w.AddRecord(w.project, vercelRecord{Key: "THERE", Value: "a", Targets: []string{"preview"}})
	all := vercelList(t, p, c, at)
	for key, want := range map[string]string{"A": "a", "P": "p"} {
		if v := all[key]; !v.Readable || v.Value.Reveal() != want || !v.Shared {
			t.Errorf("%s is listed as %+v", key, v)
		}
	}
	for _, key := range []string{"S", "I"} {
		if v := all[key]; v.Readable || v.Value.Len() > 0 || v.Mark == "" {
			t.Errorf("%s is listed as %+v", key, v)
		}
	}
	if n := w.Calls("GET /v1/projects/"); n != 2 {
		t.Errorf("%d values were asked for, want 2", n)
	}
	w.Break("/v1/projects/", standin.Status(http.StatusForbidden))
	if v := vercelList(t, p, c, at)["A"]; v.Readable || v.Value.Len() > 0 {
		t.Errorf("a value that is withheld is listed as %+v", v)
	}
}

func TestVercelWantsTheUserToConfirm(t *testing.T) {
	w := newVercel(t)
	w.token.StepUp = true
	p, c, at := w.scene(t, "production")
	if _, err := p.List(t.Context(), c, at); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("error %v", err)
	}
}

func TestVercelTellsWhatIsHidden(t *testing.T) {
	w := newVercel(t)
	w.token.Blind = true
	p, c, at := w.scene(t, "production")
	w.Put(w.project, "preview", "A", "a")
	if all := vercelList(t, p, c, at); len(all) != 0 {
		t.Errorf("listed are %v", all)
	}
	w.Put(w.project, "production", "A", "a")
	_, err := p.List(t.Context(), c, at)
	if f, ok := errors.AsType[*hosting.Failure](err); !ok || f.Code != hosting.CodeForbidden {
		t.Errorf("error %v, want that it is forbidden", err)
	}
	if all := vercelList(t, p, c, w.target(t, p, c, "preview")); len(all) != 1 {
		t.Errorf("listed of preview are %v", all)
	}
}

func TestVercelTellsWhyEachKeyFailed(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	long := strings.Repeat("x", 64<<10+1)
	values := map[string]string{"GOOD": "1", "TZ": "UTC", "LONG": long, "VERCEL_URL": "x", "BETTER": "2"}
	want := map[string]hosting.Code{
		"GOOD": "", "BETTER": "", "TZ": hosting.CodeReserved, "VERCEL_URL": hosting.CodeReserved, "LONG": hosting.CodeTooLarge,
	}
	if codes, err := vercelWrite(t, p, c, at, values); err != nil || fmt.Sprint(codes) != fmt.Sprint(want) {
		t.Errorf("codes %v, want %v, error %v", codes, want, err)
	}
	if n := len(w.wrote()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	// All of a request may be turned down as well.
	w.Break("/v10/projects/", vercelOnPost(vercelAllOrNothing))
	values["GOOD2"], values["BETTER2"] = "1", "2"
	delete(values, "GOOD")
	delete(values, "BETTER")
	codes, err := vercelWrite(t, p, c, at, values)
	if err != nil || codes["GOOD2"] != "" || codes["BETTER2"] != "" || codes["TZ"] != hosting.CodeReserved || codes["LONG"] != hosting.CodeTooLarge {
		t.Errorf("codes %v, error %v", codes, err)
	}
}

// vercelAllOrNothing turns a request down as soon as one of its records is reserved or
// too large.
func vercelAllOrNothing(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	text := vercelBodyOf(r)
	for part, code := range map[string]string{`"TZ"`: "RESERVED_ENV_VARIABLE", `"VERCEL_`: "KEY_RESERVED", strings.Repeat("x", 64<<10+1): "VALUE_INVALID_LENGTH"} {
		if strings.Contains(text, part) {
			standin.Answer(rw, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": code, "message": "no: " + text}})
			return
		}
	}
	next.ServeHTTP(rw, r)
}

func TestVercelReportsWhatSomebodyElseDid(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	gone := w.AddRecord(w.project, vercelRecord{Key: "GONE", Value: "old", Targets: []string{"production"}})
	shared := w.AddRecord(w.project, vercelRecord{Key: "SHARED", Value: "old", Targets: vercelBoth})
	was := vercelList(t, p, c, at)
	w.RemoveRecord(w.project, gone)
	w.RemoveRecord(w.project, shared)
	w.AddRecord(w.project, vercelRecord{Key: "NEW", Value: "theirs", Targets: vercelBoth})
	var all []hosting.Write
	for _, key := range []string{"GONE", "SHARED", "NEW"} {
		x := hosting.Write{Key: key, Value: api.NewSecret("ours")}
		if v, ok := was[key]; ok {
			x.Was = &v
		}
		all = append(all, x)
	}
	codes := map[string]hosting.Code{}
	if err := p.Write(t.Context(), c, at, all, vercelNote(codes)); err != nil {
		t.Fatal(err)
	}
	if codes["GONE"] != "" || codes["SHARED"] != "" || codes["NEW"] != hosting.CodeConflict {
		t.Errorf("codes %v", codes)
	}
	w.hold(t, "GONE", "encrypted ours production")
	w.hold(t, "SHARED", "encrypted ours production")
	w.hold(t, "NEW", "encrypted theirs production+preview")
}

func TestVercelDeletesAtOnce(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	var keys []string
	for i := range 120 {
		keys = append(keys, fmt.Sprintf("KEY_%03d", i))
		w.Put(w.project, "production", keys[i], "x")
	}
	if codes, err := vercelRemove(t, p, c, at, keys...); err != nil || len(codes) != 120 || len(w.wrote()) != 1 {
		t.Errorf("%d told, %d requests, error %v", len(codes), len(w.wrote()), err)
	}
	if left := w.Held(w.project, "production"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestVercelDeletesWhatAnotherKept has the first request fail because one of its
// records is gone.
func TestVercelDeletesWhatAnotherKept(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	w.Put(w.project, "production", "A", "x")
	w.Put(w.project, "production", "B", "x")
	w.Break("/v1/projects/", vercelOn("DELETE", standin.Once(func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Remove(w.project, "production", "A")
		standin.Answer(rw, http.StatusNotFound, map[string]any{"error": map[string]any{"code": "not_found", "message": "x"}})
	})))
	codes, err := vercelRemove(t, p, c, at, "A", "B")
	if err != nil || codes["A"] != "" || codes["B"] != "" || len(codes) != 2 || len(w.Held(w.project, "production")) > 0 {
		t.Errorf("codes %v, error %v, held %v", codes, err, w.Held(w.project, "production"))
	}
}

func TestVercelTouchesOnlyWhatUsersMade(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, vercelRecord{Key: "STORE", Value: "x", Targets: vercelBoth, Hint: true})
	w.AddRecord(w.project, vercelRecord{Key: "INTEGRATION", Value: "x", Targets: []string{"production"}, Integration: "icfg_2"})
	w.AddRecord(w.project, vercelRecord{Key: "SYSTEM", Value: "VERCEL_URL", Targets: []string{"production"}, Type: "system"})
	origins := map[string]hosting.Origin{"STORE": hosting.FromIntegration, "INTEGRATION": hosting.FromIntegration, "SYSTEM": hosting.FromSystem}
	was := vercelList(t, p, c, at)
	for key, want := range origins {
		if was[key].Origin != want {
			t.Errorf("%s has origin %q, want %q", key, was[key].Origin, want)
		}
	}
	written, err := vercelWrite(t, p, c, at, map[string]string{"STORE": "y", "INTEGRATION": "y", "SYSTEM": "y"})
	deleted, err2 := vercelRemove(t, p, c, at, "STORE", "INTEGRATION", "SYSTEM")
	if err != nil || err2 != nil || len(w.wrote()) > 0 {
		t.Errorf("errors %v, %v; requests %q", err, err2, w.wrote())
	}
	for key := range origins {
		if written[key] != hosting.CodeForbidden || deleted[key] != hosting.CodeForbidden {
			t.Errorf("%s: codes %q and %q", key, written[key], deleted[key])
		}
	}
}

func TestVercelKeepsWithThePolicyOfATeam(t *testing.T) {
	w := newVercel(t)
	w.MakeSensitive(w.team)
	p, c, at := w.scene(t, "production")
	w.AddRecord(w.project, vercelRecord{Key: "OLD", Value: "old", Targets: []string{"production", "preview", "development"}})
	for range 2 {
		if codes, err := vercelWrite(t, p, c, at, map[string]string{"A": "1", "NEXT_PUBLIC_B": "2"}); err != nil || codes["A"] != "" || codes["NEXT_PUBLIC_B"] != "" {
			t.Fatal(codes, err)
		}
	}
	w.hold(t, "A", "sensitive 1 production")
	w.hold(t, "NEXT_PUBLIC_B", "encrypted 2 production")
	// Such a record may not be changed while it serves development.
	if codes, err := vercelWrite(t, p, c, at, map[string]string{"OLD": "new"}); err != nil || codes["OLD"] != hosting.CodeRefused {
		t.Fatal(codes, err)
	}
	w.hold(t, "OLD", "encrypted old production+preview+development")
}

func TestVercelProjectsOfAllTeams(t *testing.T) {
	w := newVercel(t)
	w.SetPageSize(1)
	w.Link(w.project, map[string]any{"type": "github", "org": "acme", "repo": "engine"})
	p := w.provider(t)
	c := hosting.Credential{Token: api.NewSecret(w.Token(w.token))}
	all, err := p.Projects(t.Context(), c)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if x := all[0]; x.ID != w.project || x.Team != w.team || x.TeamName != "Acme" || x.Repository != "acme/engine" || x.Framework != "nextjs" || x.Created.IsZero() {
		t.Errorf("the team's project is %+v", x)
	}
	if x := all[1]; x.Team != "" || x.TeamName != "" {
		t.Errorf("the user's project is %+v", x)
	}
	if names := vercelEnvironments(all[0]); names != "production preview development canary" {
		t.Errorf("environments %q", names)
	}
	for _, x := range all {
		found, err := p.Find(t.Context(), c, x.ID, "")
		if err != nil || found.Team != x.Team || vercelEnvironments(found) != vercelEnvironments(x) {
			t.Errorf("%s is found as %+v, error %v", x.ID, found, err)
		}
		w.Put(x.ID, "production", "A", x.ID)
		at := hosting.Target{Project: found, Environment: found.Environments[0]}
		if v := vercelList(t, p, c, at)["A"]; v.Value.Reveal() != x.ID {
			t.Errorf("%s holds %q", x.ID, v.Value.Reveal())
		}
	}
	// A token that is limited to a team sees what is that team's.
	c = hosting.Credential{Token: api.NewSecret(w.Token(hostingtest.VercelToken{User: w.user, Team: w.team}))}
	if all, err := p.Projects(t.Context(), c); err != nil || len(all) != 1 || all[0].ID != w.project {
		t.Errorf("projects %v, error %v", all, err)
	}
	if found, err := p.Find(t.Context(), c, w.project, ""); err != nil || found.Team != w.team {
		t.Errorf("found %+v, error %v", found, err)
	}
}

func vercelEnvironments(p hosting.Project) string {
	var names []string
	for _, e := range p.Environments {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

func TestVercelNamesRepositories(t *testing.T) {
	w := newVercel(t)
	p, c := w.provider(t), w.credential()
	for want, link := range map[string]map[string]any{
		"a/b":   {"type": "github", "org": "a", "repo": "b"},
		"c/d/e": {"type": "gitlab", "projectNamespace": "c/d", "projectName": "e"},
		"f/g":   {"type": "bitbucket", "owner": "f", "slug": "g", "name": "G G"},
		"":      {"type": "github", "org": "h"},
	} {
		w.Link(w.project, link)
		if x, err := p.Find(t.Context(), c, w.project, ""); err != nil || x.Repository != want {
			t.Errorf("%v is %q, want %q, error %v", link, x.Repository, want, err)
		}
	}
}

func TestVercelFindsByIDOnly(t *testing.T) {
	w := newVercel(t)
	w.Terse(w.project)
	p, c := w.provider(t), w.credential()
	if x, err := p.Find(t.Context(), c, w.project, ""); err != nil || !strings.HasSuffix(vercelEnvironments(x), "canary") {
		t.Errorf("%+v, error %v", x, err)
	}
	for _, names := range [][2]string{{"engine", ""}, {"prj_0", ""}, {"", ""}, {"..", ""}, {w.project, "service"}} {
		if x, err := p.Find(t.Context(), c, names[0], names[1]); !errors.Is(err, hosting.ErrNotFound) {
			t.Errorf("%q is found as %+v, error %v", names, x, err)
		}
	}
}

func TestVercelChecksTokens(t *testing.T) {
	w := newVercel(t)
	p, c := w.provider(t), w.credential()
	if a, err := p.Check(t.Context(), c); err != nil || a.UserID != w.user || a.UserName != "ada" || a.TeamID != w.team || a.TeamName != "Acme" {
		t.Errorf("%+v, error %v", a, err)
	}
	c.Team = ""
	if a, err := p.Check(t.Context(), c); err != nil || a.TeamID != "" {
		t.Errorf("%+v, error %v", a, err)
	}
	for _, team := range []string{"team_0", w.AddTeam("Others", w.AddUser("eve"))} {
		c.Team = team
		if a, err := p.Check(t.Context(), c); !errors.Is(err, hosting.ErrNotFound) {
			t.Errorf("%+v, error %v", a, err)
		}
	}
	c = hosting.Credential{Token: api.NewSecret(w.Token(hostingtest.VercelToken{User: w.user, Expires: w.config.Now().Add(-time.Hour)}))}
	if a, err := p.Check(t.Context(), c); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("%+v, error %v", a, err)
	}
}

func TestVercelAuthorizes(t *testing.T) {
	w := newVercel(t)
	p, ok := w.provider(t).(hosting.Authorizer)
	if !ok || !p.Describe().OAuth || p.Describe().PKCE {
		t.Fatalf("with an integration it is %T, which says %+v", p, p.Describe())
	}
	for _, team := range []string{w.team, ""} {
		back := w.Install(p.AuthorizeURL("the state", "a challenge"), w.user, team)
		if back.Get("state") != "the state" {
			t.Fatalf("the browser came back with %v", back)
		}
		g, err := p.Exchange(t.Context(), back, "")
		if err != nil || g.Team != team || g.Refresh.Len() > 0 || !g.Expires.IsZero() {
			t.Fatalf("%+v, error %v", g, err)
		}
		if a, err := p.Check(t.Context(), hosting.Credential{Token: g.Access, Team: g.Team}); err != nil || a.UserID != w.user || a.TeamID != team {
			t.Errorf("%+v, error %v", a, err)
		}
		for _, again := range []map[string][]string{back, {"code": {"wrong"}}, {}} {
			if g, err := p.Exchange(t.Context(), again, ""); !errors.Is(err, hosting.ErrCredential) {
				t.Errorf("%v: %+v, error %v", again, g, err)
			}
		}
	}
	w.config.Slug = ""
	if q := w.provider(t); q.Describe().OAuth {
		t.Error("without a slug it can be authorized at")
	} else if _, ok := q.(hosting.Authorizer); ok {
		t.Error("without a slug it is an Authorizer")
	}
}

// TestVercelStandInIsStrict asks for what the client never asks for.
func TestVercelStandInIsStrict(t *testing.T) {
	w := newVercel(t)
	token := w.Token(w.token)
	id := w.AddRecord(w.project, vercelRecord{Key: "S", Value: "s", Type: "sensitive", Targets: vercelBoth})
	env := "/projects/" + w.project + "/env"
	for _, x := range []struct {
		request, body string
		status        int
		code          string
	}{
		{"GET /v10" + env, "", 404, "not_found"}, // without its team
		{"GET /v10" + env + "?teamId=" + w.team + "&page=2", "", 400, "bad_request"},
		{"GET /v10" + env + "?teamId=" + w.team + "&decrypt=yes", "", 400, "bad_request"},
		{"GET /v10" + env + "?slug=acme", "", 200, ""},
		{"GET /v11" + env + "?teamId=" + w.team, "", 404, "not_found"},
		{"PATCH /v9" + env + "/" + id + "?teamId=" + w.team, `{"value":"x","id":"1"}`, 400, "bad_request"},
		{"PATCH /v9" + env + "/" + id + "?teamId=" + w.team, `{"value":1}`, 400, "bad_request"},
		{"PATCH /v9" + env + "/" + id + "?teamId=" + w.team, `{"type":"plain"}`, 400, "bad_request"},
		{"PATCH /v9" + env + "/" + id + "?teamId=" + w.team, `{"target":["production","development"]}`, 400, "bad_request"},
		{"PATCH /v9" + env + "/" + id + "?teamId=" + w.team, `{"target":[]}`, 400, "bad_request"},
		{"POST /v10" + env + "?teamId=" + w.team, `{"key":"S","value":"x","type":"sensitive","target":["production"]}`, 400, "ENV_ALREADY_EXISTS"},
		{"POST /v10" + env + "?upsert=true&teamId=" + w.team, `{"key":"S","value":"x","type":"sensitive","target":["production"]}`, 400, "ENV_CONFLICT"},
		{"POST /v10" + env + "?upsert=true&teamId=" + w.team, `{"key":"S","value":"x","type":"plain","target":["preview","production"]}`, 400, "bad_request"},
		{"POST /v10" + env + "?upsert=true&teamId=" + w.team, `{"key":"T","value":"x","type":"plain","target":["staging"]}`, 400, "bad_request"},
		{"POST /v10" + env + "?upsert=true&teamId=" + w.team, `{"key":"T","value":"x","target":["production"]}`, 400, "bad_request"},
		{"DELETE /v1" + env + "?teamId=" + w.team, `{"ids":[]}`, 400, "bad_request"},
		{"DELETE /v9" + env + "/none?teamId=" + w.team, "", 404, "not_found"},
		{"DELETE /v9" + env + "/" + id + "?teamId=" + w.team, "", 200, ""},
	} {
		method, path, _ := strings.Cut(x.request, " ")
		req, err := http.NewRequest(method, w.URL+path, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Error struct{ Code string } }
		err = json.NewDecoder(res.Body).Decode(&said)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != x.status || said.Error.Code != x.code {
			t.Errorf("%s %s: %d %s, want %d %s", x.request, x.body, res.StatusCode, said.Error.Code, x.status, x.code)
		}
	}
	if !slices.Equal(w.records("S"), nil) {
		t.Errorf("left is %q", w.records("S"))
	}
}
