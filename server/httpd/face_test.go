package httpd

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
)

// doorman stands in for what of the warden comes before an operation. Its zero
// value is open and lets in who brings a bearer token, for everything.
type doorman struct {
	state    string
	forge    string
	ready    error
	identify error
	refuse   error

	asked    warden.Credential
	admitted string // the last action and repository
}

func (d *doorman) State() string {
	if d.state == "" {
		return api.StateOK
	}
	return d.state
}

func (d *doorman) ForgeKind() string { return cmp.Or(d.forge, "local") }

func (d *doorman) Ready(context.Context) error { return d.ready }

func (d *doorman) Identify(_ context.Context, c warden.Credential) (warden.Caller, error) {
	d.asked = c
	if d.identify == nil && c.Bearer == "" && !c.Operator {
		return warden.Caller{}, api.Errorf(api.Unauthorized, "Send a token.")
	}
	return warden.Caller{}, d.identify
}

func (d *doorman) Admit(_ context.Context, _ warden.Caller, a access.Action, repo string) error {
	d.admitted = a.String() + " " + repo
	return d.refuse
}

var testTime = time.Date(2026, 11, 20, 9, 15, 0, 123456789, time.UTC)

var noLimits = Limits{
	General: Rate{Off: true}, Bulk: Rate{Off: true}, Value: Rate{Off: true}, Verify: Rate{Off: true},
	Poll: Rate{Off: true}, Login: Rate{Off: true}, UI: Rate{Off: true},
}

// testFace is a face on d without limits, with a few routes more than the
// table's.
func testFace(d *doorman, more ...route) http.Handler {
	f := newFace(Config{
		PublicURL: "https://vault.example/",
		Version:   "v1.2.3",
		Limits:    noLimits,
		Now:       func() time.Time { return testTime },
	}, d, false)
	return f.router(slices.Concat(routes(), pages(), more))
}

const traceID = "0193a1b2-0000-7000-8000-000000000001"

// call sends one request with a bearer token and a fixed request id. Headers
// are pairs; an empty value removes one.
func call(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer t")
	r.Header.Set("X-Request-ID", traceID)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// give is an operation that answers v.
func give[Res any](v Res) operation {
	return answer(func(*warden.Warden, context.Context, warden.Caller, api.Empty) (Res, error) { return v, nil })
}

// refuse is an operation that answers err.
func refuse(err error) operation {
	return nothing(func(*warden.Warden, context.Context, warden.Caller, api.Empty) error { return err })
}

func expectStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("got %d, want %d: %s", w.Code, want, w.Body)
	}
}

func giveList[T any](l *api.List[T]) func(*warden.Warden, context.Context, warden.Caller, api.Empty) (*api.List[T], error) {
	return func(*warden.Warden, context.Context, warden.Caller, api.Empty) (*api.List[T], error) { return l, nil }
}
