package server_test

import (
	"net/http"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/servertest"
)

// TestAVaultOfAProjectInASubgroup goes from the API to GitLab and back.
func TestAVaultOfAProjectInASubgroup(t *testing.T) {
	const hookSecret = "secret-of-the-hooks"
	w := forgetest.NewWorld()
	fake := forgetest.NewGitLab(t, w)
	grace, ada, eve := w.AddUser("grace"), w.AddUser("ada"), w.AddUser("eve")
	acme := w.AddOrg("acme", grace)
	sub := fake.AddSubgroup(acme, "backend")
	repo := w.AddRepo(acme, "engine", forgetest.Private)
	fake.Place(repo, sub)
	w.SetRole(repo, ada, forge.Write)
	in := servertest.New(t, func(c *server.Config) {
		c.Forge = server.ForgeConfig{Kind: forge.KindGitLab, URL: fake.URL, Token: fake.GroupToken(acme, "read_api"), WebhookSecret: hookSecret}
	}).Validate()
	token := w.Token(ada, forgetest.PAT, "read_api")
	owner, writer := in.Client(w.Token(grace, forgetest.PAT, "read_api")), in.Client(token)
	stranger := in.Client(w.Token(eve, forgetest.PAT, "read_api"))

	in.Vault(owner, "ACME:backend/Engine")
	in.Push(writer, "acme:Backend/engine", "development", map[string]string{"A": "1"})
	if got := in.Pull(writer, "acme:backend/engine", "development"); got["A"] != "1" {
		t.Errorf("pulled %q", got)
	}
	vault, err := writer.Vault(t.Context(), "acme:backend/engine")
	if err != nil || vault.RepoFullName != "acme:backend/engine" || vault.RepoOwner != "acme:backend" || vault.RepoName != "engine" {
		t.Errorf("the vault is %+v (%v)", vault, err)
	}
	if all, err := writer.Vaults(t.Context(), api.Page{}); err != nil || len(all.Items) != 1 || all.Items[0].ID != vault.ID {
		t.Errorf("listed are %+v (%v)", all, err)
	}
	for _, name := range []string{"acme:backend/engine", "acme/engine", "backend/engine"} {
		if _, err := stranger.Vault(t.Context(), name); api.CodeOf(err) != api.NotFound {
			t.Errorf("a stranger asks for %s: %v", name, err)
		}
	}
	if status := get(t, in.URL+"/v1/vaults/acme%2Fbackend/engine", token); status != http.StatusNotFound {
		t.Errorf("a slash in a segment: status %d", status)
	}
	if status := get(t, in.URL+"/v1/vaults/acme%3Abackend/engine", token); status != http.StatusOK {
		t.Errorf("an escaped colon: status %d", status)
	}

	w.SetRole(repo, ada, forge.None)
	removed := fake.Hooks(repo, acme, ada)[2].Signed(hookSecret)
	if status, err := removed.Post(t.Context(), http.DefaultClient, in.URL+"/v1/webhooks/gitlab"); status != http.StatusOK {
		t.Fatalf("the delivery %s: status %d (%v)", removed.Name, status, err)
	}
	if _, err := writer.Vault(t.Context(), "acme:backend/engine"); api.CodeOf(err) != api.NotFound {
		t.Errorf("after the role was taken away: %v", err)
	}
	if strings.Contains(in.Log.String(), hookSecret) || strings.Contains(in.Log.String(), token) {
		t.Error("the log holds a secret")
	}
}

func get(t *testing.T, url, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestElsewhereThereAreNoSubgroups(t *testing.T) {
	c := servertest.New(t, boundTo("gitea", "https://git.example")).Client("ann")
	if _, err := c.CreateVault(t.Context(), "acme:backend/engine"); api.CodeOf(err) != api.Invalid {
		t.Errorf("in a body: %v", err)
	}
	if _, err := c.Vault(t.Context(), "acme:backend/engine"); api.CodeOf(err) != api.NotFound {
		t.Errorf("in a path: %v", err)
	}
}
