package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/access"
	"coffer/server/api"
)

// address is the route's path with something well-formed in each segment.
func (r route) address() string {
	return strings.NewReplacer(":owner", "acme", ":repo", "api", ":secretId", anID, ":versionId", anID, ":id", anID,
		":name", "production", ":slug", "sealed", ":provider", "vercel").Replace(r.path)
}

// gatedRoutes are those that need a credential.
func gatedRoutes() []route { return routes()[:len(routes())-len(open)] }

func TestEveryRouteIsSealed(t *testing.T) {
	for _, state := range []string{api.StateSealed, api.StateUninitialized} {
		h := testFace(&doorman{state: state})
		for _, r := range append(gatedRoutes(), route{method: get, path: "/v1/unknown"}, route{method: put, path: "/v1/secrets/push"}, route{method: get, path: "/v1"}) {
			if strings.HasPrefix(r.path, "/v1/sys/") {
				continue
			}
			w := call(h, r.method, r.address(), strings.Repeat("x", api.MaxBody+1))
			expectStatus(t, w, 503)
			if w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), "/errors/sealed") {
				t.Errorf("%s %s: %v %s", r.method, r.path, w.Header(), w.Body)
			}
		}
		for _, path := range []string{"/v1/sys/unknown", "/unknown"} {
			expectStatus(t, call(h, "GET", path, ""), 404)
		}
	}
}

func TestEveryRouteLooksAtTheBodyThenTheCredentialThenItsScope(t *testing.T) {
	for _, r := range gatedRoutes() {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			big := strings.Repeat(" ", api.MaxBody+1)
			tooBig := 413
			if r.action == access.AuditVerify {
				tooBig = 401 // takes files of any size, so it looks at the credential first
			}
			expectStatus(t, call(testFace(&doorman{}), r.method, r.address(), big, "Authorization", ""), tooBig)

			w := call(testFace(&doorman{}), r.method, r.address(), "{", "Authorization", "")
			expectStatus(t, w, 401)
			if w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("headers %v", w.Header())
			}
			d := &doorman{refuse: api.Errorf(api.Forbidden, "This needs a scope.")}
			expectStatus(t, call(testFace(d), r.method, r.address()+"?x=1&x=2", "{"), 403)
			if !strings.HasPrefix(d.admitted, r.action.String()+" ") {
				t.Errorf("admitted %q", d.admitted)
			}
			expectStatus(t, call(testFace(&doorman{}), r.method, r.address()+"?x=1&x=2", "{"), 400)
		})
	}
}

func TestEveryRouteHasItsAction(t *testing.T) {
	used := map[access.Action]string{}
	for _, r := range gatedRoutes() {
		if r.action == 0 {
			t.Errorf("%s %s has no action", r.method, r.path)
			continue
		}
		if needs := r.action.Row().Kinds; (needs&access.Operator != 0) != (strings.HasPrefix(r.path, "/v1/operator/") || r.path == "/v1/sys/seal") {
			t.Errorf("%s %s is for %s", r.method, r.path, needs)
		}
		if before := used[r.action]; before != "" {
			t.Errorf("%s serves both %s and %s", r.action, before, r.path)
		}
		used[r.action] = r.path
	}
}

func TestARefusalNamesTheRepository(t *testing.T) {
	tests := []struct{ method, target, body, want string }{
		{"GET", "/v1/vaults/acme/api", "", "vault_get acme/api"},
		{"GET", "/v1/secrets/pull?repo=acme/api&environment=X", "", "pull acme/api"},
		{"POST", "/v1/secrets/push?repo=acme/other", `{"repoFullName":"acme/api"}`, "push acme/api"},
		{"POST", "/v1/secrets/push", `{"repoFullName":"acme"}`, "push "},
		{"POST", "/v1/secrets/push", `{`, "push "},
		{"GET", "/v1/vaults/acme/a%2Fb", "", "vault_get "},
		{"GET", "/v1/users/me", "", "user_me "},
	}
	for _, tt := range tests {
		d := &doorman{refuse: api.Errorf(api.Forbidden, "No.")}
		expectStatus(t, call(testFace(d), tt.method, tt.target, tt.body), 403)
		if d.admitted != tt.want {
			t.Errorf("%s %s: admitted %q, want %q", tt.method, tt.target, d.admitted, tt.want)
		}
	}
}

func TestRoutesAndMethods(t *testing.T) {
	h := testFace(&doorman{})
	tests := []struct {
		method, target string
		status         int
		allow          string
	}{
		{"GET", "/v1/nowhere", 404, ""},
		{"GET", "/v1/vaults/", 404, ""},
		{"GET", "/v1/vaults/acme/api/", 404, ""},
		{"HEAD", "/nowhere", 404, ""},
		{"BREW", "/nowhere", 404, ""},
		{"GET", "/v1/vaults/acme/a%2Fb", 404, ""},
		{"GET", "/v1/vaults/acme/api/secrets/x/value", 404, ""},
		{"PUT", "/v1/secrets/push", 405, "POST"},
		{"OPTIONS", "/v1/secrets/pull", 405, "GET, HEAD"},
		{"POST", "/v1/users/me", 405, "GET, HEAD"},
		{"PUT", "/v1/vaults/acme/api", 405, "GET, HEAD, DELETE"},
	}
	for _, tt := range tests {
		w := call(h, tt.method, tt.target, "")
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: got %d, Allow %q", tt.method, tt.target, w.Code, w.Header().Get("Allow"))
		}
		if got := w.Header().Get("Content-Type"); got != "application/json; charset=utf-8" {
			t.Errorf("%s %s: %s", tt.method, tt.target, got)
		}
		if tt.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD has a body: %s", w.Body)
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	h := testFace(&doorman{}, route{get, "/v1/ok", access.UserMe, inGeneral, give(&api.User{})}, route{get, "/v1/kept", access.Pull, inGeneral, revalidated(give(&api.Pulled{}))})
	for target, cache := range map[string]string{
		"/v1/ok": "no-store", "/v1/kept": "private, no-cache", "/v1/nowhere": "no-store", "/health": "no-store", "/": "no-store", "/errors/sealed": "no-store",
	} {
		w := call(h, "GET", target, "")
		for name, want := range map[string]string{
			"Cache-Control": cache, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Request-Id": traceID,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
}

func TestRequestIDs(t *testing.T) {
	h := testFace(&doorman{})
	for _, id := range []string{"", "x", strings.ToUpper(anID), "{" + anID + "}", anID + " ", strings.ReplaceAll(anID, "-", "")} {
		w := call(h, "GET", "/v1/nowhere", "", "X-Request-ID", id)
		got := w.Header().Get("X-Request-ID")
		if got == id || !canonicalID(got) || got[14] != '7' {
			t.Errorf("inbound %q: got %q", id, got)
		}
		if !strings.Contains(w.Body.String(), `"traceId":"`+got+`"`) {
			t.Errorf("body %s", w.Body)
		}
	}
	if got := call(h, "GET", "/", "", "X-Request-ID", anID).Header().Get("X-Request-ID"); got != anID {
		t.Errorf("got %q, want %q", got, anID)
	}
}

func TestEnvelope(t *testing.T) {
	secret := api.Revealed("<&\u2028>")
	meta := `"meta":{"requestId":"` + traceID + `"}}`
	tests := []struct {
		name             string
		run              operation
		status           int
		location, answer string
	}{
		{"an object", give(&api.Value{Value: secret}), 200, "", `{"data":{"value":"<&` + "\u2028" + `>","preview":""},` + meta},
		{"a nil list", give([]api.Version(nil)), 200, "", `{"data":[],` + meta},
		{"a nil list inside", give(&api.APIKeys{}), 200, "", `{"data":{"keys":[]},` + meta},
		{"an empty content", give(&api.Pulled{Content: new(api.Revealed)}), 200, "", `{"data":{"content":"","count":0,"total":0,"revision":0},` + meta},
		{"no secrets", give(&api.Pulled{Secrets: map[string]api.Revealed{}}), 200, "", `{"data":{"secrets":{},"count":0,"total":0,"revision":0},` + meta},
		{"sorted secrets", give(&api.Pulled{Secrets: map[string]api.Revealed{"B": "", "A": "", "C": ""}}), 200, "", `{"data":{"secrets":{"A":"","B":"","C":""},"count":0,"total":0,"revision":0},` + meta},
		{"created", give(&created{"acme/api"}), 201, "/v1/vaults/acme/api", `{"data":{"name":"acme/api"},` + meta},
		{"created nothing new", give(&created{}), 200, "", `{"data":{"name":""},` + meta},
		{"no content", refuse(nil), 204, "", ``},
		{"text that is no UTF-8", give(&map[string]string{"a": "\xff"}), 200, "", `{"data":{"a":"` + "\ufffd" + `"},` + meta},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := testFace(&doorman{}, route{get, "/v1/test", access.UserMe, inGeneral, tt.run})
			w := call(h, "GET", "/v1/test", "")
			expectStatus(t, w, tt.status)
			if got := w.Header().Get("Location"); got != tt.location {
				t.Errorf("Location %q, want %q", got, tt.location)
			}
			if diff := cmp.Diff(tt.answer, w.Body.String()); diff != "" {
				t.Error(diff)
			}
			head := call(h, "HEAD", "/v1/test", "")
			if head.Body.Len() > 0 || head.Code != w.Code || !cmp.Equal(head.Header(), w.Header()) {
				t.Errorf("HEAD: %d %v %s; GET: %d %v", head.Code, head.Header(), head.Body, w.Code, w.Header())
			}
		})
	}
}

type created struct {
	Name string `json:"name"`
}

func (c created) Created() (bool, string) { return c.Name != "", "/v1/vaults/" + c.Name }

func TestPages(t *testing.T) {
	for _, tt := range []struct {
		list api.List[int]
		want string
	}{
		{api.List[int]{Items: []int{1, 2}, Limit: 2, Offset: 0, Total: 3}, `{"data":[1,2],"meta":{"requestId":"` + traceID + `","pagination":{"limit":2,"offset":0,"total":3,"hasMore":true}}}`},
		{api.List[int]{Items: []int{3}, Limit: 2, Offset: 2, Total: 3}, `{"data":[3],"meta":{"requestId":"` + traceID + `","pagination":{"limit":2,"offset":2,"total":3,"hasMore":false}}}`},
		{api.List[int]{Limit: 25, Offset: 9}, `{"data":[],"meta":{"requestId":"` + traceID + `","pagination":{"limit":25,"offset":9,"total":0,"hasMore":false}}}`},
	} {
		h := testFace(&doorman{}, route{get, "/v1/test", access.UserMe, inGeneral, page(giveList(&tt.list))})
		if diff := cmp.Diff(tt.want, call(h, "GET", "/v1/test", "").Body.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestHealth(t *testing.T) {
	down := errors.New("disk full")
	tests := []struct {
		d            *doorman
		target, body string
		status       int
	}{
		{&doorman{}, "/health", `{"status":"ok","version":"v1.2.3"}`, 200},
		{&doorman{state: "sealed"}, "/health", `{"status":"sealed","version":"v1.2.3"}`, 200},
		{&doorman{state: "uninitialized"}, "/health", `{"status":"uninitialized","version":"v1.2.3"}`, 200},
		{&doorman{}, "/v1/health", `{"version":"v1","status":"ok","timestamp":"2026-11-20T09:15:00.123Z"}`, 200},
		{&doorman{state: "sealed"}, "/v1/health", `{"version":"v1","status":"sealed","timestamp":"2026-11-20T09:15:00.123Z"}`, 503},
		{&doorman{}, "/ready", `{"status":"ready"}`, 200},
		{&doorman{ready: down}, "/ready", `{"status":"unavailable"}`, 503},
		{&doorman{ready: down, state: "sealed"}, "/ready", `{"status":"sealed"}`, 503},
	}
	for _, tt := range tests {
		w := call(testFace(tt.d), "GET", tt.target, "", "Authorization", "")
		expectStatus(t, w, tt.status)
		if got := w.Body.String(); got != tt.body {
			t.Errorf("%s: got %s, want %s", tt.target, got, tt.body)
		}
		expectStatus(t, call(testFace(tt.d), "HEAD", tt.target, ""), tt.status)
	}
}

func TestBodiesUpToTheLimitAreRead(t *testing.T) {
	d := &doorman{refuse: api.Errorf(api.Forbidden, "No.")}
	h := testFace(d)
	body := `{"repoFullName":"acme/api"}`
	body += strings.Repeat(" ", api.MaxBody-len(body))
	expectStatus(t, call(h, "POST", "/v1/secrets/push", body), 403)
	if d.admitted != "push acme/api" {
		t.Errorf("admitted %q", d.admitted)
	}
	r := httptest.NewRequest("POST", "/v1/secrets/push", strings.NewReader(body+" "))
	r.ContentLength = -1 // as if it came in chunks
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	expectStatus(t, w, 413)
}

func TestAccessLogHasNoSecrets(t *testing.T) {
	var log bytes.Buffer
	f := newFace(Config{Log: slog.New(slog.NewJSONHandler(&log, nil))}, &doorman{}, false)
	h := f.router([]route{{post, "/v1/x/:name", access.UserMe, inGeneral, give(&api.Empty{})}})
	call(h, "POST", "/v1/x/c4n4ry?token=c4n4ry", `{"value":"c4n4ry"}`, "Authorization", "Bearer c4n4ry", "Cookie", "c4n4ry", "User-Agent", "c4n4ry")
	call(h, "C4N4RY-METHOD", "/c4n4ry", "")
	if strings.Contains(strings.ToLower(log.String()), "c4n4ry") {
		t.Errorf("log %s", &log)
	}
	var line struct {
		Level, Msg, Method, Route, Request string
		Status                             int
	}
	if err := json.NewDecoder(&log).Decode(&line); err != nil {
		t.Fatal(err)
	}
	if line.Level != "INFO" || line.Method != "POST" || line.Route != "/v1/x/:name" || line.Status != http.StatusOK || line.Request != traceID {
		t.Errorf("line %+v", line)
	}
}

func TestRootSaysWhereTheAPIIs(t *testing.T) {
	w := call(testFace(&doorman{}), "GET", "/", "", "Authorization", "")
	expectStatus(t, w, 200)
	if !strings.Contains(w.Body.String(), "https://vault.example/v1 ") {
		t.Errorf("%s", w.Body)
	}
}
