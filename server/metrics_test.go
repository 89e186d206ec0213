package server_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
)

// scrape asks for the metrics, with a token unless that is empty.
func scrape(t *testing.T, url, token string, through http.RoundTripper) (int, string) {
	t.Helper()
	return fetch(t, url+"/metrics", token, through)
}

// fetch asks for a page, with a token unless that is empty.
func fetch(t *testing.T, url, token string, through http.RoundTripper) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := through.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestWhoMayReadTheMetrics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(" from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name               string
		c                  server.MetricsConfig
		nobody, wrong, own int // on the main address: without, with a wrong, with the token
		token              string
	}{
		{"nobody", server.MetricsConfig{}, 404, 404, 404, "x"},
		{"a token", server.MetricsConfig{Token: "t0ken"}, 401, 401, 200, "t0ken"},
		{"a token in a file", server.MetricsConfig{TokenFile: file}, 401, 401, 200, "from-a-file"},
		{"a listener", server.MetricsConfig{Listen: "127.0.0.1:0"}, 404, 404, 404, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := servertest.New(t, func(c *server.Config) { c.Metrics = tt.c })
			key := in.User("ann").Token
			for token, want := range map[string]int{"": tt.nobody, "wrong": tt.wrong, key: tt.wrong, tt.token: tt.own} {
				if got, body := scrape(t, in.URL, token, http.DefaultTransport); got != want || (got == 200) != strings.Contains(body, "coffer_sealed 0\n") {
					t.Errorf("token %q: got %d", token, got)
				}
			}
			if got, _ := scrape(t, "http://operator", "", in.Operator.Transport); got != 200 {
				t.Errorf("the operator gets %d", got)
			}
			if tt.c.Listen == "" {
				return
			}
			if got, body := scrape(t, in.Metrics, "", http.DefaultTransport); got != 200 || !strings.Contains(body, "coffer_build_info{version=\"test\"} 1\n") {
				t.Errorf("on its own listener: %d\n%s", got, body)
			}
			res, err := http.Get(in.Metrics + "/v1/health")
			if err != nil || res.StatusCode != 404 {
				t.Errorf("the listener has more than metrics: %v, %v", res, err)
			}
			_ = res.Body.Close()
		})
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.New(server.Config{Data: t.TempDir(), Metrics: server.MetricsConfig{TokenFile: file}})
	if err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty token is none: %v", err)
	}
}

// TestMetricsNameNobody runs a story full of canaries and looks for them.
func TestMetricsNameNobody(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("c4n4ry-user")
	const repo = "c4n4ry-user/c4n4ry-repo"
	in.Vault(ann, repo)
	if _, err := ann.CreateEnvironment(t.Context(), repo, "c4n4ry-env", ""); err != nil {
		t.Fatal(err)
	}
	in.Push(ann, repo, "c4n4ry-env", map[string]string{"C4N4RY": "c4n4ry value"})
	in.Pull(ann, repo, "c4n4ry-env")
	_, _ = ann.ViewSecret(t.Context(), api.ViewSecret{Repo: repo, Environment: "c4n4ry-env", Key: "C4N4RY"})
	_, _ = ann.Vault(t.Context(), "c4n4ry/none")
	_, _ = in.Operator.RunJob(t.Context(), "c4n4ry")
	r, err := http.NewRequestWithContext(t.Context(), "C4N4RY", in.URL+"/c4n4ry?c4n4ry=c4n4ry", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	_, page := scrape(t, "http://operator", "", in.Operator.Transport)
	if strings.Contains(strings.ToLower(page), "c4n4ry") || strings.Contains(page, ann.Token) {
		t.Errorf("the metrics name somebody:\n%s", page)
	}
	for _, want := range []string{
		`coffer_http_requests_total{method="POST",route="/v1/secrets/push",status="200"} 1`,
		`coffer_http_requests_total{method="GET",route="/v1/vaults/:owner/:repo",status="404"} 1`,
		`coffer_http_requests_total{method="other",route="none",status="404"} 1`,
		`coffer_http_request_duration_seconds_count{method="GET",route="/v1/secrets/pull"} 1`,
		`coffer_job_runs_total{name="trash"} 0`, "coffer_initialized 1", "coffer_disk_free_bytes ", `coffer_unseal_attempts_total{outcome="refused"} 0`, `coffer_role_lookups_total{answer="host"} `, `coffer_sync_runs_total{status="error"} 0`,
		"coffer_store_commits_total ", "coffer_store_stopped 0", "coffer_audit_records ", "coffer_data_file_bytes ", "go_goroutines ", "process_start_time_seconds ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, page := scrape(t, "http://operator", "", in.Operator.Transport); !strings.Contains(page, "coffer_sealed 1\n") {
		t.Error("sealed is not shown")
	}
}
