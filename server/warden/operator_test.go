package warden_test

import (
	"bytes"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/warden"
)

// inBrowser signs a user of the built-in code host in.
func inBrowser(t testing.TB, w *warden.Warden, name string) warden.Caller {
	t.Helper()
	s, err := w.SignInWithPassword(t.Context(), warden.Credential{UserAgent: "Mozilla/5.0"}, name, api.NewSecret("a password"))
	must(t, err)
	who, err := w.Identify(t.Context(), warden.Credential{Cookie: s.Token.Reveal(), UserAgent: "Mozilla/5.0"})
	must(t, err)
	return who
}

// TestAnOperatorAccountRunsTheInstanceInTheBrowser, and with nothing else: its
// other credentials are in files and programs.
func TestAnOperatorAccountRunsTheInstanceInTheBrowser(t *testing.T) {
	h := newHouse(t)
	w := h.warden(h.db)
	ctx, socket := t.Context(), operator(t, w)
	must(t, second(w.AddLocalUser(ctx, socket, api.AddLocalUser{Username: "root", Password: api.NewSecret("a password"), Operator: true})))
	key, err := w.IssueToken(ctx, socket, api.IssueToken{Username: "root", Name: "k", Environment: "live",
		Scopes: []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets, api.AdminAPIKeys}})
	must(t, err)
	signed, err := w.SignIn(ctx, socket, api.SignIn{Username: "root"})
	must(t, err)
	byKey, err := w.Identify(ctx, warden.Credential{Bearer: string(key.Token)})
	must(t, err)
	byToken, err := w.Identify(ctx, warden.Credential{Bearer: string(signed.Token)})
	must(t, err)
	root, ann := inBrowser(t, w, "root"), inBrowser(t, w, "ann")

	for name, who := range map[string]warden.Caller{"key": byKey, "token": byToken, "somebody else's session": ann} {
		if who.IsOperator() {
			t.Errorf("%s: is the operator", name)
		}
		wantCode(t, name+": add", second(w.AddLocalOrg(ctx, who, api.AddLocalOrg{Name: "acme"})), api.Forbidden)
		wantCode(t, name+": export", w.ExportAudit(ctx, who, &bytes.Buffer{}), api.Forbidden)
		wantCode(t, name+": seal", w.Seal(ctx, who), api.Forbidden)
	}
	if !root.IsOperator() || !socket.IsOperator() {
		t.Error("the operator is none")
	}
	must(t, second(w.AddLocalOrg(ctx, root, api.AddLocalOrg{Name: "acme"})))
	must(t, second(w.AddLocalUser(ctx, root, api.AddLocalUser{Username: "bob", Password: api.NewSecret("a password")})))
	must(t, second(w.AddLocalRepo(ctx, root, api.AddLocalRepo{RepoFullName: "acme/web"})))
	must(t, w.RecordJobRun(ctx, root, api.JobRef{Name: "trash"}))
	wantCode(t, "in another's name", second(w.IssueToken(ctx, root, api.IssueToken{Username: "ann", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets}})), api.Forbidden)
	wantCode(t, "as another", second(w.SignIn(ctx, root, api.SignIn{Username: "ann"})), api.Forbidden)
	wantCode(t, "another's vault", second(w.Vault(ctx, root, api.Ref{Owner: "ann", Repo: "api"})), api.NotFound)
	must(t, w.Seal(ctx, root))
	must(t, w.Unseal(ctx, api.Unseal{}))

	var log bytes.Buffer
	must(t, w.ExportAudit(ctx, socket, &log))
	for _, action := range []string{"local_org_added", "local_user_added", "local_repo_added", "job_run", "system_sealed"} {
		by := ""
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, `"`+action+`"`) {
				by = line
			}
		}
		if !strings.Contains(by, `"root"`) {
			t.Errorf("%s: not recorded as root's: %s", action, by)
		}
	}
}
