package forge_test

import (
	"net/http"
	"strconv"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

func TestGitLabSubgroupIsNoOrganizationsName(t *testing.T) {
	f := dial(t, forge.Config{Kind: forge.KindGitLab, WebhookSecret: "secret"})
	for path, want := range map[string]string{"acme": "acme", "acme/backend": ""} {
		h := http.Header{"X-Gitlab-Token": {"secret"}, "X-Gitlab-Event": {"System Hook"}, "X-Gitlab-Event-Uuid": {"event"}}
		body := `{"event_name":"group_rename","group_id":64,"path":"backend","full_path":"` + path + `"}`
		e, err := f.(forge.Hooks).Event(forge.Delivery{Header: h.Get, Body: []byte(body)})
		if err != nil || e.Login != want || e.Org != "64" || e.ID != "event" {
			t.Errorf("%s: %+v (%v)", path, e, err)
		}
	}
}

// FuzzGitLabHook has the host sign whatever it is.
func FuzzGitLabHook(f *testing.F) {
	w := forgetest.NewWorld()
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", ada)
	for _, hook := range (&forgetest.GitLab{Fake: &forgetest.Fake{Fake: new(standin.Fake), World: w}}).Hooks(w.AddRepo(org, "engine", forgetest.Private), org, ada) {
		f.Add(hook.Body, "1", "v1,AAAA")
	}
	f.Add([]byte(`{"event_name":"project_update","project_id":-1}`), "-9223372036854775808", "v1, v2,x  v1")
	f.Add([]byte(`{"event_name":7}`), "", "")
	const secret = "the secret of all webhooks"
	plain, err := forge.New(forge.Config{Kind: forge.KindGitLab, WebhookSecret: secret})
	if err != nil {
		f.Fatal(err)
	}
	signing, err := forge.New(forge.Config{Kind: forge.KindGitLab, WebhookSecret: forgetest.SigningToken(secret)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, stamp, signature string) {
		h := http.Header{"X-Gitlab-Token": {secret}, "X-Gitlab-Event": {"System Hook"}, "Idempotency-Key": {"1"},
			"Webhook-Id": {"1"}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}
		d := forge.Delivery{Header: h.Get, Body: body, At: w.Now()}
		e, err := plain.(forge.Hooks).Event(d)
		switch {
		case err != nil && e != forge.Event{}:
			t.Errorf("an event beside the error: %+v", e)
		case err == nil && e.Topic != forge.Ignored && e.Repo == "" && e.Org == "" && e.User == "":
			t.Errorf("an event about everything: %+v", e)
		case err == nil && (e.ID == "" || e.Name == ""):
			t.Errorf("an event without id or name: %+v", e)
		}
		for _, id := range []string{e.Repo, e.Org, e.User} {
			if n, err := strconv.ParseInt(id, 10, 64); id != "" && (err != nil || n <= 0) {
				t.Errorf("the id %q", id)
			}
		}
		if e, err := signing.(forge.Hooks).Event(d); err == nil {
			t.Errorf("a signature that nobody made is right: %+v", e)
		}
	})
}
