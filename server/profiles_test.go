package server_test

import (
	"net/http"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/servertest"
)

// TestOnlyTheOperatorHasProfiles asks every way into the server for them.
func TestOnlyTheOperatorHasProfiles(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) { c.Metrics = server.MetricsConfig{Listen: "127.0.0.1:0"} })
	boss := in.User("boss")
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=1", "/debug/pprof/heap", "/debug/pprof/symbol", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.1"} {
		for _, at := range []string{in.URL, in.Metrics} {
			if got, _ := fetch(t, at+path, boss.Token, http.DefaultTransport); got != 404 {
				t.Errorf("%s at %s: got %d", path, at, got)
			}
		}
		if got, body := fetch(t, "http://operator"+path, "", in.Operator.Transport); got != 200 || body == "" && !strings.Contains(path, "symbol") {
			t.Errorf("the operator gets %d for %s", got, path)
		}
	}
	if _, body := fetch(t, "http://operator/debug/pprof/goroutine?debug=1", "", in.Operator.Transport); !strings.Contains(body, "goroutine profile: total") {
		t.Error(body)
	}
	if got, _ := fetch(t, "http://operator/v1/health", "", in.Operator.Transport); got != 200 {
		t.Errorf("the operator's other addresses: %d", got)
	}
}
