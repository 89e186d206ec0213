package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/client"
)

var acme = api.Ref{Owner: "acme", Repo: "api"}

func TestSyncSaysAllOfItsTarget(t *testing.T) {
	var asked string
	var body map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked, body = r.Method+" "+r.URL.RequestURI(), nil
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprint(w, `{"data":{"planHash":"h","link":{"id":"l","isNew":true}}}`)
	})
	const at = "/v1/integrations/vaults/acme/api/sync"
	q := api.SyncQuery{
		Ref: acme, ConnectionID: "c", ProjectID: "p", ServiceID: "s", Environment: "staging", ProviderEnvironment: "preview",
		Direction: "pull", AllowDelete: true, AllowReferences: true,
	}
	const query = "?allowDelete=true&allowReferences=true&connectionId=c&direction=pull&keywayEnvironment=staging&projectId=p&providerEnvironment=preview&serviceId=s"
	if p, err := c.PreviewSync(t.Context(), q); err != nil || p.PlanHash != "h" || asked != "GET "+at+"/preview"+query {
		t.Errorf("asked %s: %+v, %v", asked, p, err)
	}
	if _, err := c.SyncStatus(t.Context(), api.SyncQuery{Ref: acme, ConnectionID: "c", ProjectID: "p"}); err != nil || asked != "GET "+at+"/status?connectionId=c&projectId=p" {
		t.Errorf("asked %s: %v", asked, err)
	}
	if _, err := c.SyncDiff(t.Context(), q); err != nil || asked != "GET "+at+"/diff"+query {
		t.Errorf("asked %s: %v", asked, err)
	}
	target := map[string]any{
		"connectionId": "c", "projectId": "p", "serviceId": "s", "keywayEnvironment": "staging", "providerEnvironment": "preview", "allowReferences": true,
	}
	link, err := c.SaveLink(t.Context(), api.SaveLink{
		Ref: acme, ConnectionID: "c", ProjectID: "p", ServiceID: "s", KeywayEnvironment: "staging", ProviderEnvironment: "preview",
		AllowReferences: true, AutoSync: true,
	})
	target["autoSync"] = true
	if err != nil || !link.IsNew || asked != "POST "+at+"/link" || !cmp.Equal(target, body) {
		t.Errorf("asked %s with %v: %+v, %v", asked, body, link, err)
	}
	delete(target, "autoSync")
	_, err = c.Sync(t.Context(), api.StartSync{
		Ref: acme, ConnectionID: "c", ProjectID: "p", ServiceID: "s", KeywayEnvironment: "staging", ProviderEnvironment: "preview",
		Direction: "pull", AllowDelete: true, AllowReferences: true, PlanHash: "h", Async: true,
	})
	target["direction"], target["allowDelete"], target["planHash"], target["async"] = "pull", true, "h", true
	if err != nil || asked != "POST "+at || !cmp.Equal(target, body) {
		t.Errorf("asked %s with %v: %v", asked, body, err)
	}
	if err := c.RemoveLink(t.Context(), api.LinkRef{Ref: acme, LinkID: "l"}); err != nil || asked != "DELETE "+at+"/link/l" {
		t.Errorf("asked %s: %v", asked, err)
	}
	if err := c.RemoveLink(t.Context(), api.LinkRef{Ref: acme}); api.CodeOf(err) != api.NotFound {
		t.Errorf("no link is named: %v", err)
	}
}

func TestConnectURLCarriesTheTicketAlone(t *testing.T) {
	c := &client.Client{URL: "https://vault.example/base", Token: token}
	got, err := c.ConnectURL("vercel", "a b&c")
	if err != nil || got != "https://vault.example/base/v1/integrations/vercel/authorize?ticket=a+b%26c" {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := c.ConnectURL("..", "x"); err == nil {
		t.Errorf("got %s", got)
	}
}

// answers is a server that gives these answers one after the other.
type answers []string

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	status, body, _ := strings.Cut((*a)[0], " ")
	*a = (*a)[1:]
	res := &http.Response{Header: http.Header{"Retry-After": {"300"}}, Body: io.NopCloser(strings.NewReader(body))}
	_, err := fmt.Sscan(status, &res.StatusCode)
	return res, err
}

func TestFollowSyncWaitsForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const running = `200 {"data":{"jobId":"j","status":"running","result":null,"progress":{"done":1,"total":3},"createdAt":"2026-11-20T09:15:00.000Z","finishedAt":null}}`
		const ended = `200 {"data":{"jobId":"j","status":"partial","result":{"status":"partial","created":2},"createdAt":"2026-11-20T09:15:00.000Z","finishedAt":"2026-11-20T09:16:00.000Z"}}`
		const limited = `429 {"type":"https://vault.example/errors/rate-limited","detail":"Too many."}`
		const gone = `404 {"type":"https://vault.example/errors/not-found","detail":"No such run."}`
		a := answers{running, running, limited, ended, running, gone}
		c := &client.Client{URL: "https://vault.example", Token: token, Transport: &a}
		began, looks := time.Now(), 0
		job, err := c.FollowSync(t.Context(), "j", func(api.SyncJob) { looks++ })
		if err != nil || job.Status != api.SyncPartial || job.Result.Created != 2 || looks != 2 {
			t.Errorf("got %+v, %v after %d looks", job, err, looks)
		}
		if passed := time.Since(began); passed != 300750*time.Millisecond {
			t.Errorf("it took %v", passed)
		}
		if _, err := c.FollowSync(t.Context(), "j", nil); api.CodeOf(err) != api.NotFound {
			t.Errorf("got %v", err)
		}
	})
}
