package hostingtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

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

// TestVercelMakesAgainWhatItWas has somebody delete a record before it is changed.
func TestVercelMakesAgainWhatItWas(t *testing.T) {
	w := newVercel(t)
	p, c, at := w.scene(t, "production")
	id := w.AddRecord(w.project, vercelRecord{Key: "A", Value: "old", Type: "sensitive", Targets: []string{"production"}})
	listed := vercelList(t, p, c, at)["A"]
	w.RemoveRecord(w.project, id)
	codes := map[string]hosting.Code{}
	err := p.Write(t.Context(), c, at, []hosting.Write{{Key: "A", Value: api.NewSecret("new"), Was: &listed}}, vercelNote(codes))
	if err != nil || codes["A"] != "" {
		t.Fatal(codes, err)
	}
	w.hold(t, "A", "sensitive new production")
}
