package contracttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeadWorksForEveryGet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	calls := []string{"GET /health", "GET /v1/health", "GET /ready", "GET /v1/sys/status", "GET /errors/sealed", "GET /v1/nowhere"}
	for _, r := range slices.Concat(routes, integrationRoutes) {
		if strings.HasPrefix(r.call, "GET") && !strings.HasSuffix(r.call, "/authorize") { // whose answer is never the same
			calls = append(calls, v.fill(r.call))
		}
	}
	for _, call := range calls {
		target := strings.TrimPrefix(call, "GET ")
		get, head := ann.do(t, call, ""), ann.do(t, "HEAD "+target, "")
		head.ok(get.status)
		for _, a := range []*answer{get, head} {
			a.header.Del("X-Request-Id")
			a.header.Del("Date")
			if strings.Contains(target, "activity") || strings.Contains(target, "api-keys") {
				a.header.Del("Content-Length") // they grow by being looked at
			}
		}
		if diff := cmp.Diff(get.header, head.header); diff != "" {
			t.Errorf("%s: headers of HEAD differ: %s", target, diff)
		}
		if strings.HasPrefix(target, "/v1/vaults/") || strings.HasPrefix(target, "/v1/users") {
			s.nobody().do(t, "HEAD "+target, "").ok(401)
		}
	}
	before := ann.do(t, "GET "+v.at()+"/activity", "").text("meta.pagination.total")
	ann.do(t, "HEAD "+v.at()+"/secrets/"+v.secret+"/value", "").ok(200)
	if after := ann.do(t, "GET "+v.at()+"/activity", "").text("meta.pagination.total"); after == before {
		t.Error("HEAD of a value was not recorded")
	}
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	methods := make(map[string][]string)
	for _, r := range slices.Concat(routes, integrationRoutes) {
		method, target, _ := strings.Cut(v.fill(r.call), " ")
		target, _, _ = strings.Cut(target, "?")
		methods[target] = append(methods[target], method)
	}
	for target, there := range methods {
		if slices.Contains(there, "GET") {
			there = append(there, "HEAD")
		}
		slices.Sort(there)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
			if slices.Contains(there, method) {
				continue
			}
			for _, c := range []*caller{ann, s.nobody()} {
				a := c.do(t, method+" "+target, "")
				if method != "HEAD" {
					a.fails(405, "method-not-allowed")
				}
				allow := strings.Split(a.header.Get("Allow"), ", ")
				slices.Sort(allow)
				if a.status != 405 || !slices.Equal(allow, there) {
					t.Errorf("%s %s: %d, Allow %q, want %q", method, target, a.status, allow, there)
				}
			}
		}
	}
}

func TestPathsAreDecodedOnce(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api.v-1_x")
	id := ann.set(t, v, "staging", "A", "")
	long := strings.Repeat("x", 101)
	for target, status := range map[string]int{
		"/v1/vaults/@ann/api.v-1_x":                            200,
		"/v1/vaults/@ann/%61pi%2ev-1_x":                        200,
		"/v1/vaults/@ann/%2561pi.v-1_x":                        404,
		"/v1/vaults/@ann/api.v-1_x%2F":                         404,
		"/v1/vaults/@ann%2Fapi.v-1_x/secrets":                  404,
		"/v1/vaults/@ann/api.v-1_x/":                           404,
		"/v1/vaults/@ann/":                                     404,
		"/v1/vaults/@ann/..":                                   404,
		"/v1/vaults/@ann/%2e%2e":                               404,
		"/v1/vaults/@ann/%2e":                                  404,
		"/v1/vaults/@ann/a%00":                                 404,
		"/v1/vaults/@ann/a%20b":                                404,
		"/v1/vaults/@ann/a+b":                                  404,
		"/v1/vaults/@ann/%ff":                                  404,
		"/v1/vaults/@ann/%E2%98%83":                            404,
		"/v1/vaults/@ann/" + long:                              404,
		"/v1/vaults/" + long[:40] + "/api":                     404,
		"/v1/vaults/@ann/api.v-1_x/secrets/x/value":            404,
		"/v1/vaults/@ann/api.v-1_x/secrets/" + id + "/value":   200,
		"/v1/vaults/@ann/api.v-1_x/secrets/" + id + "x/value":  404,
		"/v1/vaults/@ann/api.v-1_x/secrets/{" + id + "}/value": 404,
		"/v1/vaults/@ann/api.v-1_x/secrets/" + strings.ReplaceAll(id, "-", "") + "/value": 404,
		"/v1/vaults/@ann/api.v-1_x/secrets/" + id + "/versions/1/value":                   404,
		"/v1/vaults/@ann/api.v-1_x/secrets/" + strings.ToUpper(id) + "/value":             200,
		"/v1/api-keys/1":       404,
		"/v1/api-keys/":        404,
		"/v1":                  404,
		"/v1/":                 404,
		"/v1//vaults":          404,
		"/v2/vaults":           404,
		"/v1/vaults/../vaults": 404,
	} {
		if a := ann.do(t, "GET "+target, ""); status == 404 {
			a.fails(404, "not-found")
		} else {
			a.ok(status)
		}
	}
	ann.do(t, "PATCH /v1/vaults/@ann/api.v-1_x/environments/%73taging", `{"newName":"qa"}`).ok(200)
}
