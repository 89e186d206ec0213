package hostingtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

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
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		w.Break("/v1/projects/", standin.Status(status))
		if v := vercelList(t, p, c, at)["A"]; v.Key == "" || v.Readable || v.Value.Len() > 0 {
			t.Errorf("a value that is withheld is listed as %+v", v)
		}
		w.Heal()
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
