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

// TestAnOlderAnswerUndoesNothing has one person's answer hang while the repository
// is renamed again and another person's answer tells of it.
func TestAnOlderAnswerUndoesNothing(t *testing.T) {
	h := newHosted(t)
	h.set(func() { h.tokens["ghp_bob"] = "8" })
	h.vault()
	h.sleep(time.Hour)
	ann, bob := h.caller(pat), h.caller("ghp_bob")
	asked, arrives, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h.set(func() {
		h.repo.Name, h.repo.Public = "second", false
		h.saw = func(as forge.Asker, _ forge.Reachable) {
			if as.Token == "ghp_bob" {
				close(asked)
				<-arrives
			}
		}
	})
	go func() {
		defer close(done)
		_, _ = h.look(bob, "acme/api")
	}()
	<-asked
	h.set(func() { h.repo.Name, h.repo.Public = "third", true })
	h.sleep(time.Second)
	if v, code := h.look(ann, "acme/third"); v.RepoFullName != "acme/third" {
		t.Fatalf("the newer answer: %+v, %s", v, code)
	}
	close(arrives)
	<-done
	if v, code := h.look(ann, "acme/third"); v.RepoFullName != "acme/third" || v.IsPrivate {
		t.Errorf("after the older one arrived: %+v, %s", v, code)
	}
}

// TestTheOrganizationIsTheGroupOnTop: where groups hold groups, those in between
// are no organizations.
func TestTheOrganizationIsTheGroupOnTop(t *testing.T) {
	h := newHosted(t)
	h.set(func() { h.repo.Owner = "acme:backend" })
	must(t, second(h.w.CreateVault(t.Context(), h.caller(pat), api.CreateVault{RepoFullName: "acme:backend/api"})))
	if got := h.w.OrgLogin(t.Context(), "9"); got != "acme" {
		t.Errorf("it is called %q", got)
	}
	h.set(func() { h.repo.Owner = "acme2:backend:core" })
	h.sleep(time.Hour)
	if _, code := h.look(h.caller(pat), "acme2:backend:core/api"); code != "" {
		t.Fatal(code)
	}
	if got := h.w.OrgLogin(t.Context(), "9"); got != "acme2" {
		t.Errorf("after it was renamed it is called %q", got)
	}
}
