package hostingtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/hosting"
)

// railwayPost sends an operation, and reads the status and the code of the first
// error.
func railwayPost(t *testing.T, address, token, text string, variables map[string]any) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": text, "operationName": "o", "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var said struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&said); err != nil || len(said.Errors) == 0 {
		return res.StatusCode, ""
	}
	return res.StatusCode, said.Errors[0].Extensions.Code
}

// railwayRun is a client at work on a place.
type railwayRun struct {
	p hosting.Provider
	c hosting.Credential
	t hosting.Target
}

func (h *railwayHost) run(t *testing.T, environment string) railwayRun {
	t.Helper()
	c := h.Credential()
	return railwayRun{h.Provider(), c, h.find(t, c, h.Service, environment)}
}

func (r railwayRun) list(t *testing.T) map[string]hosting.Variable {
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

// write writes values in the order of their keys.
func (r railwayRun) write(t *testing.T, values map[string]string) (map[string]error, error) {
	t.Helper()
	var all []hosting.Write
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, hosting.Write{Key: key, Value: api.NewSecret(values[key])})
	}
	told := map[string]error{}
	err := r.p.Write(t.Context(), r.c, r.t, all, func(o hosting.Outcome) error { told[o.Key] = o.Err; return nil })
	return told, err
}

func TestRailwayValuesAreReadAsTheyWereWritten(t *testing.T) {
	h := newRailway(t)
	h.fake.Set(h.Project, "", "production", "HOST", "db.example")
	h.fake.Set(h.Project, h.other, "production", "PORT", "5432")
	h.Put("production", "NAME", "shop")
	written := map[string]string{
		"OWN": "${{NAME}}", "SHARED": "${{shared.HOST}}", "SERVICE": "${{worker.PORT}}", "URL": "postgres://${{ shared.HOST }}:${{worker.PORT}}/",
		"NOTHING": "${{worker.GONE}}",
	}
	for key, value := range written {
		h.Put("production", key, value)
	}
	h.fake.Seal(h.Project, h.Service, "production", "SEALED", "${{shared.HOST}}")
	listed := h.run(t, "production").list(t)
	for key, value := range written {
		if v := listed[key]; v.Value.Reveal() != value || !v.Readable || v.Origin != hosting.FromReference {
			t.Errorf("%s is %q, readable %v, of origin %q", key, v.Value.Reveal(), v.Readable, v.Origin)
		}
	}
	if v := listed["SEALED"]; v.Readable || v.Value.Len() > 0 || v.Origin != hosting.FromReference || v.Mark == "" {
		t.Errorf("a sealed reference is readable %v, of origin %q, with the mark %q", v.Readable, v.Origin, v.Mark)
	}
	if v := listed["NAME"]; v.Origin != hosting.FromUser {
		t.Errorf("a plain value is of origin %q", v.Origin)
	}
	if len(listed) != len(written)+2 {
		t.Errorf("listed are %v", slices.Sorted(maps.Keys(listed)))
	}
}

func TestRailwayMarksTellOfEveryWriting(t *testing.T) {
	h := newRailway(t)
	h.fake.Seal(h.Project, h.Service, "production", "SEALED", "one")
	run := h.run(t, "production")
	first := run.list(t)["SEALED"].Mark
	h.Put("production", "SEALED", "two")
	if second := run.list(t)["SEALED"].Mark; first == "" || second == first {
		t.Errorf("the marks are %q and %q", first, second)
	}
	if !h.Hidden("SEALED") {
		t.Error("the seal is broken")
	}
}

// Values come in one piece, and what else is told of variables in pages: without
// the last one, sealed variables would look absent, and be written over.
func TestRailwayVariablesAreToldOfToTheLastPage(t *testing.T) {
	h := newRailway(t)
	for i := range 5 {
		key := fmt.Sprintf("KEY_%d", i)
		h.fake.Set(h.Project, h.other, "production", key, "of the other")
		h.Put("production", key, "plain")
		h.fake.Seal(h.Project, h.Service, "production", "SEALED_"+key, "sealed")
	}
	for _, size := range []int{1, 3, 0} {
		h.Fake.SetPageSize(size)
		listed := h.run(t, "production").list(t)
		if len(listed) != 10 {
			t.Errorf("in pages of %d, listed are %v", size, slices.Sorted(maps.Keys(listed)))
		}
		for key, v := range listed {
			if sealed := strings.HasPrefix(key, "SEALED_"); v.Mark == "" || v.Readable == sealed {
				t.Errorf("in pages of %d, %s has the mark %q and is readable %v", size, key, v.Mark, v.Readable)
			}
		}
	}
}

func TestRailwayIsNotDeployedByWriting(t *testing.T) {
	for _, service := range []string{"web", ""} {
		h := newRailway(t)
		each := 1
		if service == "" {
			h.Service, each = "", 2 // what both services share
		}
		h.Put("production", "OLD", "old")
		run := h.run(t, "production")
		told, err := run.write(t, map[string]string{"OLD": "new", "A": "1", "B": "2"})
		if err != nil || len(told) != 3 || h.fake.Deploys() != 0 {
			t.Errorf("%q: told of %v, error %v, and deployed %d times", service, told, err, h.fake.Deploys())
		}
		listed := run.list(t)
		err = run.p.Delete(t.Context(), run.c, run.t, []hosting.Variable{listed["A"], listed["B"]}, func(o hosting.Outcome) error { return o.Err })
		if err != nil || h.fake.Deploys() != 2*each {
			t.Errorf("%q: error %v, and deployed %d times, want %d", service, err, h.fake.Deploys(), 2*each)
		}
		if got := h.Held("production"); !maps.Equal(got, map[string]string{"OLD": "new"}) {
			t.Errorf("%q: held are %v", service, got)
		}
	}
}

func TestRailwayServicesAreLeftAlone(t *testing.T) {
	h := newRailway(t)
	h.fake.Set(h.Project, h.other, "production", "KEY", "of the other")
	h.fake.Set(h.Project, "", "production", "KEY", "of both")
	h.Put("production", "KEY", "own")
	run := h.run(t, "production")
	if listed := run.list(t); len(listed) != 1 || listed["KEY"].Value.Reveal() != "own" {
		t.Errorf("listed are %v", listed)
	}
	if _, err := run.write(t, map[string]string{"KEY": "new"}); err != nil {
		t.Error(err)
	}
	err := run.p.Delete(t.Context(), run.c, run.t, []hosting.Variable{{Key: "KEY"}}, func(o hosting.Outcome) error { return o.Err })
	if err != nil || h.fake.Held(h.Project, h.other, "production")["KEY"] != "of the other" || h.fake.Held(h.Project, "", "production")["KEY"] != "of both" {
		t.Errorf("error %v, and what others have was touched", err)
	}
}

func TestRailwayRefusalsAreNoSuccess(t *testing.T) {
	h := newRailway(t)
	h.Put("production", "OLD", "old")
	run := h.run(t, "production")
	run.c.Token = api.NewSecret(h.fake.AccountToken(h.user, true))
	listed := run.list(t)
	told, err := run.write(t, map[string]string{"OLD": "new", "NEW": "new"})
	f, ok := errors.AsType[*hosting.Failure](err)
	if !ok || f.Code != hosting.CodeForbidden || !strings.HasPrefix(f.RequestID, "trace-") || len(told) > 0 {
		t.Errorf("who may only look writes: told of %v, error %v", told, err)
	}
	err = run.p.Delete(t.Context(), run.c, run.t, []hosting.Variable{listed["OLD"]}, func(o hosting.Outcome) error { return o.Err })
	if f := hosting.FailureOf(err); err == nil || f.Code != hosting.CodeForbidden {
		t.Errorf("who may only look deletes: error %v", err)
	}
	if got := h.Held("production"); !maps.Equal(got, map[string]string{"OLD": "old"}) {
		t.Errorf("held are %v", got)
	}
}

func TestRailwayRefusedNamesAreFound(t *testing.T) {
	h := newRailway(t)
	values, bad := map[string]string{"RAILWAY_TOKEN": "reserved"}, []string{"A B", "K 07", "Z Z"}
	for i := range 40 {
		values[fmt.Sprintf("K%02d", i)] = "value"
	}
	for _, key := range bad {
		values[key] = "value"
	}
	run := h.run(t, "production")
	before := len(h.Fake.Log())
	told, err := run.write(t, values)
	if err != nil || len(told) != len(values) || len(h.Held("production")) != 40 {
		t.Errorf("told of %d, held are %d, error %v", len(told), len(h.Held("production")), err)
	}
	for _, key := range bad {
		if f := hosting.FailureOf(told[key]); told[key] == nil || f.Code != hosting.CodeRefused {
			t.Errorf("%s: %v, want %s", key, told[key], hosting.CodeRefused)
		}
	}
	if f := hosting.FailureOf(told["RAILWAY_TOKEN"]); told["RAILWAY_TOKEN"] == nil || f.Code != hosting.CodeReserved {
		t.Errorf("RAILWAY_TOKEN: %v, want %s", told["RAILWAY_TOKEN"], hosting.CodeReserved)
	}
	for _, call := range h.Fake.Log()[before:] {
		if strings.Contains(call.Body, "RAILWAY_TOKEN") {
			t.Error("a reserved name was sent")
		}
	}
	if n := len(h.Fake.Log()) - before; n > 35 {
		t.Errorf("it took %d requests", n)
	}
}

// What is in a project that is gone is not deleted, it is not found.
func TestRailwayProjectThatIsGoneIsNotFound(t *testing.T) {
	for _, forgiving := range []bool{false, true} {
		h := newRailway(t)
		h.fake.Forgiving = forgiving
		h.Put("production", "KEY", "value")
		run := h.run(t, "production")
		listed := run.list(t)
		h.fake.RemoveProject(h.Project)
		told, err := run.write(t, map[string]string{"KEY": "new"})
		if !errors.Is(err, hosting.ErrNotFound) || len(told) > 0 {
			t.Errorf("writing: told of %v, error %v", told, err)
		}
		n := 0
		err = run.p.Delete(t.Context(), run.c, run.t, []hosting.Variable{listed["KEY"]}, func(hosting.Outcome) error { n++; return nil })
		if !errors.Is(err, hosting.ErrNotFound) || n > 0 {
			t.Errorf("deleting: told of %d, error %v", n, err)
		}
	}
}

// An API that has changed is said to be one, and is no answer.
func TestRailwayApiThatHasChangedIsUnavailable(t *testing.T) {
	h := newRailway(t)
	h.Put("production", "KEY", "value")
	run := h.run(t, "production")
	h.transport = railwayTamper{request: func(text string) string { return strings.ReplaceAll(text, "isSealed", "isHidden") }}
	_, err := h.Provider().List(t.Context(), run.c, run.t)
	if _, silent := errors.AsType[*hosting.Unavailable](err); !silent || !strings.Contains(err.Error(), "does not understand") {
		t.Errorf("error %v", err)
	}
}
