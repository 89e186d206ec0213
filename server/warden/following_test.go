package warden_test

import (
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

// TestATestKeyDeletesNoVaultWhoseRepositoryIsGone: what a test key may never do
// it may not do there either.
func TestATestKeyDeletesNoVaultWhoseRepositoryIsGone(t *testing.T) {
	h := newHosted(t)
	h.set(func() { h.repo.OwnerKind, h.repo.OwnerID, h.service = forge.OwnerUser, "7", true })
	h.vault()
	by := func(environment string) warden.Caller {
		made, err := h.w.IssueToken(t.Context(), operator(t, h.w), api.IssueToken{
			Username: "login7", Name: "k", Environment: environment, Scopes: []string{api.ReadSecrets, api.DeleteSecrets},
		})
		must(t, err)
		return h.caller(string(made.Token))
	}
	h.set(func() { h.gone = true })
	h.sleep(time.Hour)
	if v, code := h.look(by("test"), "acme/api"); v.Warning == nil {
		t.Errorf("a test key of the owner looks: %s", code)
	}
	ref := api.Ref{Owner: "acme", Repo: "api"}
	if err := h.w.DeleteVault(t.Context(), by("test"), ref); api.CodeOf(err) != api.Forbidden {
		t.Errorf("it deletes: %v", err)
	}
	must(t, h.w.DeleteVault(t.Context(), by("live"), ref))
}
