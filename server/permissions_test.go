package server_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// may says in one word what a client may do in an environment: by trying.
func may(t *testing.T, c *client.Client, environment string) string {
	t.Helper()
	done := ""
	_, err := c.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: environment})
	if err == nil {
		done += "read "
	} else if !errors.Is(err, &api.Error{Code: api.Forbidden}) {
		t.Fatal(err)
	}
	_, err = c.SetSecret(t.Context(), api.SetSecret{Ref: ref("").Ref, Key: "TRY", Value: api.NewSecret("x"), Environment: environment})
	if err == nil {
		done += "write"
	} else if !errors.Is(err, &api.Error{Code: api.Forbidden}) {
		t.Fatal(err)
	}
	return done
}

func override(environment string, read, write bool) api.CreateOverride {
	return api.CreateOverride{Ref: ref("").Ref, Environment: environment, CanRead: read, CanWrite: write}
}

func forRole(o api.CreateOverride, role string) api.CreateOverride {
	o.TargetType, o.TargetRole = "role", &role
	return o
}

func forUser(o api.CreateOverride, id string) api.CreateOverride {
	o.TargetType, o.TargetUserID = "user", &id
	return o
}

// TestTheFirstRuleThatSpeaksDecides adds rules from the weakest to the strongest
// and sees each take over from the one before.
func TestTheFirstRuleThatSpeaksDecides(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	bob := in.User("bob")
	ann := in.SignIn("ann")
	in.Vault(ann, repo)
	in.Grant(repo, "bob", "write")
	me, err := bob.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := may(t, bob, "production"); got != "read " {
		t.Errorf("by the matrix: %q", got)
	}
	for _, step := range []struct {
		rule api.CreateOverride
		want string
	}{
		{forRole(override("*", false, false), "write"), ""},
		{forRole(override("production", true, true), "write"), "read write"},
		{forUser(override("*", true, false), me.ID), "read "},
		{forUser(override("production", false, true), me.ID), "write"},
	} {
		if _, err := ann.CreateOverride(t.Context(), step.rule); err != nil {
			t.Fatal(err)
		}
		if got := may(t, bob, "production"); got != step.want {
			t.Errorf("with %s %s: %q, want %q", step.rule.TargetType, step.rule.Environment, got, step.want)
		}
		if _, err := ann.CreateOverride(t.Context(), step.rule); !errors.Is(err, &api.Error{Code: api.Conflict}) {
			t.Errorf("the same target twice: %v", err)
		}
	}
	if got := may(t, ann, "production"); got != "read write" {
		t.Errorf("rules for others reach the admin: %q", got)
	}
	got, err := bob.EffectivePermissions(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]api.Permission{"development": {Read: true}, "staging": {Read: true}, "production": {Write: true}}
	if diff := cmp.Diff(want, got.Permissions); diff != "" || got.Role != "write" {
		t.Errorf("%s %s", got.Role, diff)
	}
	if _, err := ann.ResetOverrides(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	if got := may(t, bob, "production"); got != "read " {
		t.Errorf("after the reset: %q", got)
	}
}

func TestAnOverrideTakesRightsFromAnAdminToo(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	ann := in.SignIn("ann")
	in.Vault(ann, repo)
	if _, err := ann.CreateOverride(t.Context(), forRole(override("production", false, false), "admin")); err != nil {
		t.Fatal(err)
	}
	if got := may(t, ann, "production"); got != "" {
		t.Errorf("got %q", got)
	}
	vault, err := ann.Vault(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"development", "staging"}, vault.Environments); diff != "" {
		t.Error(diff)
	}
}

func TestOverridesFollowTheirEnvironment(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	ann, bob := in.SignIn("ann"), in.User("bob")
	in.Vault(ann, repo)
	in.Grant(repo, "bob", "read")
	made, err := ann.CreateOverride(t.Context(), forRole(override("staging", true, true), "read"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.RenameEnvironment(t.Context(), repo, "staging", "preview"); err != nil {
		t.Fatal(err)
	}
	if got := may(t, bob, "preview"); got != "read write" {
		t.Errorf("after the renaming: %q", got)
	}
	all, err := ann.Overrides(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	want := made.Override
	want.Environment = "preview"
	if diff := cmp.Diff([]api.Override{want}, all.Overrides, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
	if _, err := ann.DeleteEnvironment(t.Context(), repo, "preview"); err != nil {
		t.Fatal(err)
	}
	if all, err = ann.Overrides(t.Context(), repo); err != nil || len(all.Overrides) != 0 {
		t.Errorf("overrides of an environment that is gone: %v %v", all.Overrides, err)
	}
}

func TestOverridesAreManagedByPeopleWhoAreAdmins(t *testing.T) {
	in := servertest.New(t)
	key := in.User("ann")
	ann := in.SignIn("ann")
	in.User("bob")
	bob := in.SignIn("bob")
	in.Vault(ann, repo)
	in.Vault(ann, "ann/other")
	in.Grant(repo, "bob", "maintain")
	rule := forRole(override("production", true, true), "maintain")
	for name, c := range map[string]*client.Client{"an API key": key, "who is no admin": bob} {
		if _, err := c.CreateOverride(t.Context(), rule); !errors.Is(err, &api.Error{Code: api.Forbidden}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, err := ann.CreateOverride(t.Context(), rule)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	elsewhere := api.UpdateOverride{OverrideRef: api.OverrideRef{Ref: api.Ref{Owner: "ann", Repo: "other"}, OverrideID: made.ID}, CanRead: &no}
	if _, err := ann.UpdateOverride(t.Context(), elsewhere); !errors.Is(err, &api.Error{Code: api.NotFound}) {
		t.Errorf("an override reached through another vault: %v", err)
	}
	here := elsewhere
	here.Ref = ref("").Ref
	changed, err := ann.UpdateOverride(t.Context(), here)
	if err != nil || changed.CanRead || !changed.CanWrite {
		t.Errorf("%+v %v", changed, err)
	}
	for _, bad := range []api.CreateOverride{
		forRole(override("nowhere", true, true), "read"),
		forRole(override("production", true, true), "king"),
		forUser(override("production", true, true), "01a1f904-cd7f-7a79-b64f-f14203af077a"),
		forUser(override("production", true, true), "nobody"),
	} {
		if _, err := ann.CreateOverride(t.Context(), bad); !errors.Is(err, &api.Error{Code: api.Invalid}) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	log, err := ann.VaultActivity(t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: ref("").Ref}, Action: "permission_override_updated"})
	if err != nil || log.Total != 1 {
		t.Fatalf("%v %v", log, err)
	}
	before := map[string]any{"canRead": true, "canWrite": true}
	if diff := cmp.Diff(before, log.Items[0].Metadata["before"]); diff != "" {
		t.Error(diff)
	}
}

func TestAnOrganizationsDefaultsComeBeforeTheMatrix(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	ann, bob := in.SignIn("ann"), in.User("bob")
	op := in.Operator
	for _, step := range []error{
		second(op.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "Acme"})),
		op.SetLocalMember(t.Context(), api.SetLocalMember{Org: "acme", Username: "ann", Role: "owner"}),
		second(op.AddLocalRepo(t.Context(), api.AddLocalRepo{RepoFullName: "acme/api"})),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	in.Vault(ann, "acme/api")
	in.Grant("acme/api", "bob", "read")
	pull := func() error {
		_, err := bob.Pull(t.Context(), api.PullSecrets{Repo: "acme/api", Environment: "production"})
		return err
	}
	if err := pull(); !errors.Is(err, &api.Error{Code: api.Forbidden}) {
		t.Errorf("by the matrix: %v", err)
	}
	defaults := api.Matrix{"read": {"protected": {"read": true}}}
	got, err := ann.UpdateOrg(t.Context(), "ACME", api.UpdateOrg{DefaultPermissions: defaults})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults, got.DefaultPermissions); diff != "" || got.Login != "Acme" {
		t.Error(diff)
	}
	if err := pull(); err != nil {
		t.Errorf("by the organization's defaults: %v", err)
	}
	shown, err := bob.DefaultPermissions(t.Context(), "acme/api")
	if err != nil || !shown.Matrix["read"]["protected"]["read"] || shown.Matrix["read"]["protected"]["write"] {
		t.Errorf("%v %v", shown, err)
	}
	for _, bad := range []api.Matrix{
		{"king": {}}, {"read": {"secret": {}}}, {"read": {"protected": {"admin": true}}},
	} {
		if _, err := ann.UpdateOrg(t.Context(), "acme", api.UpdateOrg{DefaultPermissions: bad}); !errors.Is(err, &api.Error{Code: api.Invalid}) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	in.User("cleo")
	if _, err := in.SignIn("cleo").UpdateOrg(t.Context(), "acme", api.UpdateOrg{DefaultPermissions: defaults}); !errors.Is(err, &api.Error{Code: api.Forbidden}) {
		t.Errorf("somebody else: %v", err)
	}
}

func TestASessionIsListedAndEnds(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	one, two := in.SignIn("ann"), in.SignIn("ann")
	all, err := one.Sessions(t.Context())
	if err != nil || len(all) != 2 || all[0].Current || !all[1].Current {
		t.Fatalf("%+v %v", all, err)
	}
	if err := one.EndSession(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Me(t.Context()); !errors.Is(err, &api.Error{Code: api.Unauthorized}) {
		t.Errorf("an ended session: %v", err)
	}
	in.Restart()
	one.URL = in.URL
	if _, err := one.Me(t.Context()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := one.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Me(t.Context()); !errors.Is(err, &api.Error{Code: api.Unauthorized}) {
		t.Errorf("after logout: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhoLetsPeopleInIsOnRecord(t *testing.T) {
	in := servertest.New(t)
	ann, _ := in.User("ann"), in.User("bob")
	in.Vault(ann, repo)
	in.Grant(repo, "bob", "admin")
	in.Grant(repo, "bob", "none")
	var log bytes.Buffer
	if err := in.Operator.ExportAudit(t.Context(), &log); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(log.String(), `"action":"repository_role_set"`); got != 2 {
		t.Errorf("%d of 2 changes are on record", got)
	}
}
