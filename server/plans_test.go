package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// onPlan is an option: everybody has this plan, with these cells changed.
func onPlan(name string, cells ...server.PlanLimit) func(*server.Config) {
	return func(c *server.Config) { c.Plans.Default, c.Plans.Limits = name, cells }
}

func cell(limit string, value int) server.PlanLimit {
	return server.PlanLimit{Plan: "free", Limit: limit, Value: fmt.Sprint(value)}
}

// signedIn is a client with a session of a user.
func signedIn(t *testing.T, in *servertest.Instance, user string) *client.Client {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://operator/v1/operator/sessions", strings.NewReader(`{"username":"`+user+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := in.Operator.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Data api.SignedIn }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return in.Client(string(answer.Data.Token))
}

// overPlan wants a refusal by the plan, that says where a higher one is had.
func overPlan(t *testing.T, err error, what string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.PlanLimit || e.UpgradeURL != "https://vault.example/errors/plan-limit" {
		t.Errorf("%s: got %#v, want a plan limit", what, err)
	}
}

func ok(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// denials counts the refusals of a vault by the plan.
func denials(t *testing.T, c *client.Client, repo, operation string) int {
	t.Helper()
	owner, name, _ := strings.Cut(repo, "/")
	list := api.ListVaultActivity{Action: "access_denied"}
	list.Ref = api.Ref{Owner: owner, Repo: name}
	all, err := client.Drain(func(p api.Page) (*api.List[api.Activity], error) {
		list.Page = p
		return c.VaultActivity(t.Context(), list)
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range all {
		if a.Metadata["reason"] == "plan" && a.Metadata["operation"] == operation && a.Metadata["status"] == 403.0 {
			n++
		}
	}
	return n
}

func numbered(n int) map[string]string {
	all := make(map[string]string, n)
	for i := range n {
		all[fmt.Sprintf("K%d", i)] = "v"
	}
	return all
}

// callers are all kinds of credentials that may write to ann/api.
func callers(t *testing.T, in *servertest.Instance, ann *client.Client, repo string) map[string]*client.Client {
	in.User("bob")
	in.User("mia")
	in.Grant(repo, "bob", "write")
	in.Grant(repo, "mia", "admin")
	return map[string]*client.Client{
		"owner's key":        ann,
		"owner's test key":   in.Key("ann", "test", servertest.AllScopes...),
		"owner's session":    signedIn(t, in, "ann"),
		"writer's key":       in.Key("bob", "live", servertest.AllScopes...),
		"admin's session":    signedIn(t, in, "mia"),
		"writer's test key":  in.Key("bob", "test", servertest.AllScopes...),
		"other admin's keys": in.Key("mia", "live", servertest.AllScopes...),
	}
}

func TestSecretsOfAPrivateVaultAreLimitedForEverybody(t *testing.T) {
	in := servertest.New(t, onPlan("free", cell("secrets", 4)))
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"P": "1"})
	in.Push(ann, repo, "development", numbered(3))
	set := func(c *client.Client, key string) error {
		_, err := c.SetSecret(t.Context(), api.SetSecret{Ref: ref("").Ref, Key: key, Value: api.NewSecret("v"), Environment: "development"})
		return err
	}
	push := func(c *client.Client, n int, dry bool) error {
		_, err := c.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "development", Secrets: servertest.Secrets(numbered(n)), DryRun: dry})
		return err
	}
	for name, c := range callers(t, in, ann, repo) {
		created, pushed, restored := denials(t, ann, repo, "secret_create"), denials(t, ann, repo, "push"), denials(t, ann, repo, "trash_restore")
		dried := denials(t, ann, repo, "push_dry_run")
		overPlan(t, set(c, "MORE"), name+" creates one over")
		ok(t, set(c, "K0"), name+" sets what is there")
		overPlan(t, push(c, 4, false), name+" pushes one over")
		overPlan(t, push(c, 4, true), name+" tries to push one over")
		ok(t, push(c, 3, false), name+" pushes as many")
		ok(t, push(c, 3, true), name+" tries to push as many")

		id := secretID(t, ann, "K2")
		ok(t, c.DeleteSecret(t.Context(), repo, id), name+" removes one")
		ok(t, set(c, "OTHER"), name+" creates up to the limit")
		_, err := c.RestoreSecret(t.Context(), repo, id)
		overPlan(t, err, name+" restores one over")
		ok(t, c.DeleteSecret(t.Context(), repo, secretID(t, ann, "OTHER")), name+" makes room")
		_, err = c.RestoreSecret(t.Context(), repo, id)
		ok(t, err, name+" restores up to the limit")

		for operation, before := range map[string]int{"secret_create": created, "push": pushed, "trash_restore": restored, "push_dry_run": dried} {
			if got := denials(t, ann, repo, operation) - before; got != 1 {
				t.Errorf("%s: %d refusals of %s are recorded", name, got, operation)
			}
		}
	}
	if got := in.Pull(ann, repo, "development"); len(got) != 3 {
		t.Errorf("a refused change left %v", got)
	}
}

func TestAPublicVaultHasNoLimitOfSecrets(t *testing.T) {
	in := servertest.New(t, onPlan("free", cell("secrets", 1), cell("private_repos", 0)))
	ann := in.User("ann")
	if _, err := in.Operator.AddLocalRepo(t.Context(), api.AddLocalRepo{RepoFullName: repo, Public: true}); err != nil {
		t.Fatal(err)
	}
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", numbered(30))
	v, err := ann.Vault(t.Context(), repo)
	if err != nil || v.IsReadOnly || v.IsPrivate {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestEnvironmentsOfAVaultAreLimited(t *testing.T) {
	in := servertest.New(t, onPlan("free", cell("environments", 4)))
	ann := in.User("ann")
	in.Vault(ann, repo)
	_, err := ann.CreateEnvironment(t.Context(), repo, "qa", "")
	ok(t, err, "the fourth")
	_, err = ann.CreateEnvironment(t.Context(), repo, "qa", "")
	if !errors.Is(err, &api.Error{Code: api.Conflict}) {
		t.Errorf("that it is there comes before the plan: got %v", err)
	}
	_, err = ann.CreateEnvironment(t.Context(), repo, "demo", "")
	overPlan(t, err, "the fifth")
	_, err = signedIn(t, in, "ann").CreateEnvironment(t.Context(), repo, "demo", "")
	overPlan(t, err, "the fifth in a session")
	if got := denials(t, ann, repo, "environment_create"); got != 2 {
		t.Errorf("%d refusals are recorded", got)
	}
	_, err = ann.DeleteEnvironment(t.Context(), repo, "qa")
	ok(t, err, "deleting one")
	_, err = ann.CreateEnvironment(t.Context(), repo, "demo", "")
	ok(t, err, "another fourth")
}

func TestThePushBatchAndTheSizeOfValuesAreLimited(t *testing.T) {
	in := servertest.New(t, onPlan("free", cell("secrets", 900), cell("push_batch", 5), cell("value_bytes", 10)))
	ann := in.User("ann")
	in.Vault(ann, repo)
	push := func(values map[string]string) error {
		_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production", Secrets: servertest.Secrets(values)})
		return err
	}
	ok(t, push(numbered(5)), "a batch at the limit")
	overPlan(t, push(numbered(6)), "a batch one over")
	if got := denials(t, ann, repo, "push"); got != 1 {
		t.Errorf("%d refusals are recorded", got)
	}
	set := func(n int) error {
		_, err := ann.SetSecret(t.Context(), api.SetSecret{Ref: ref("").Ref, Key: "K0", Value: api.NewSecret(strings.Repeat("x", n)), Environment: "production"})
		return err
	}
	patch := func(n int) error {
		value := api.NewSecret(strings.Repeat("x", n))
		_, err := ann.PatchSecret(t.Context(), api.PatchSecret{SecretRef: ref(secretID(t, ann, "K0")), Value: &value})
		return err
	}
	const upgrade = "https://vault.example/errors/plan-limit"
	for _, tt := range []struct {
		name    string
		err     error
		field   string
		upgrade string
	}{
		{"create one over", set(11), "value", upgrade},
		{"patch one over", patch(11), "value", upgrade},
		{"push one over", push(map[string]string{"A": "1", "B": strings.Repeat("x", 11)}), "secrets.B", upgrade},
		{"over what any plan allows", set(262145), "value", ""},
	} {
		e, _ := errors.AsType[*api.Error](tt.err)
		if e == nil || e.Code != api.Invalid || len(e.Fields) != 1 || e.Fields[0].Field != tt.field || e.Fields[0].Code != api.FieldTooLarge || e.UpgradeURL != tt.upgrade {
			t.Errorf("%s: got %#v", tt.name, tt.err)
		}
	}
	ok(t, set(10), "create at the limit")
	ok(t, patch(9), "patch below the limit")
	in.Restart(onPlan("enterprise", server.PlanLimit{Plan: "enterprise", Limit: "value_bytes", Value: "10"}))
	ann.URL = in.URL
	if e, _ := errors.AsType[*api.Error](set(11)); e == nil || e.Code != api.Invalid || e.UpgradeURL != "" {
		t.Errorf("no higher plan allows more: got %#v", e)
	}
}

func TestPrivateReposAreLimitedAtCreation(t *testing.T) {
	in := servertest.New(t, onPlan("free", cell("private_repos", 2)))
	ann, eve := in.User("ann"), in.User("eve")
	if _, err := in.Operator.AddLocalRepo(t.Context(), api.AddLocalRepo{RepoFullName: "ann/site", Public: true}); err != nil {
		t.Fatal(err)
	}
	in.Vault(ann, "ann/one")
	in.Vault(ann, "ann/site")
	in.Vault(ann, "ann/two")
	_, err := ann.CreateVault(t.Context(), "ann/three")
	overPlan(t, err, "the third private vault")
	_, err = signedIn(t, in, "ann").CreateVault(t.Context(), "ann/three")
	overPlan(t, err, "the third private vault in a session")
	if _, err = ann.CreateVault(t.Context(), "ann/two"); !errors.Is(err, &api.Error{Code: api.Conflict}) {
		t.Errorf("that it is there comes before the plan: got %v", err)
	}
	in.Vault(eve, "eve/one") // another account
	log, err := ann.Activity(t.Context(), api.Page{})
	if err != nil || log.Items[0].Action != "access_denied" || log.Items[0].Metadata["reason"] != "plan" || *log.Items[0].RepoFullName != "ann/three" || log.Items[0].VaultID != nil {
		t.Errorf("the refusal is recorded as %+v, %v", log.Items[0], err)
	}
	usage, err := ann.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &api.Usage{Plan: "free", Usage: api.UsageCount{Public: 1, Private: 2}, Limits: api.PlanLimits{
		MaxPublicRepos: api.Unlimited, MaxPrivateRepos: 2, MaxProviders: 1, MaxEnvironmentsPerVault: 3, MaxSecretsPerPrivateVault: 20}}
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Error(diff)
	}
	ok(t, ann.DeleteVault(t.Context(), "ann/one"), "deleting one")
	in.Vault(ann, "ann/three")
}

// writes are all operations that need a vault that can be written.
func writes(t *testing.T, c *client.Client, repo, active, trashed, version string) map[string]error {
	t.Helper()
	at := api.SecretRef{SecretID: active}
	at.Owner, at.Repo, _ = strings.Cut(repo, "/")
	value := api.NewSecret("new")
	_, create := c.SetSecret(t.Context(), api.SetSecret{Ref: at.Ref, Key: "NEW", Value: value, Environment: "development"})
	_, patch := c.PatchSecret(t.Context(), api.PatchSecret{SecretRef: at, Value: &value})
	_, version2 := c.RestoreVersion(t.Context(), repo, active, version)
	_, restore := c.RestoreSecret(t.Context(), repo, trashed)
	p := api.PushSecrets{RepoFullName: repo, Environment: "development", Secrets: servertest.Secrets(map[string]string{"A": "1"}), Mode: new(api.ModeMerge)}
	_, push := c.Push(t.Context(), p)
	p.DryRun = true
	_, dry := c.Push(t.Context(), p)
	return map[string]error{
		"secret_create": create, "secret_update": patch, "version_restore": version2, "trash_restore": restore,
		"push": push, "push_dry_run": dry, "secret_delete": c.DeleteSecret(t.Context(), repo, active),
	}
}

// TestWhatIsShownAsReadOnlyIsReadOnly takes an instance down to a lower plan and
// up again.
func TestWhatIsShownAsReadOnlyIsReadOnly(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	if err := in.Operator.SetLocalMember(t.Context(), api.SetLocalMember{Org: "acme", Username: "ann", Role: "owner"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []api.AddLocalRepo{{RepoFullName: "ann/site", Public: true}, {RepoFullName: "acme/open", Public: true}, {RepoFullName: "acme/api"}} {
		if _, err := in.Operator.AddLocalRepo(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	repos := []string{"ann/one", "ann/site", "ann/two", "ann/api", "acme/api", "acme/open"}
	active, trashed, versions := map[string]string{}, map[string]string{}, map[string]string{}
	for _, r := range repos {
		in.Vault(ann, r)
		in.Push(ann, r, "development", map[string]string{"A": "1", "GONE": "1"})
		all, err := ann.Secrets(t.Context(), r, "development", api.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all.Items {
			if s.Key == "GONE" {
				trashed[r] = s.ID
				ok(t, ann.DeleteSecret(t.Context(), r, s.ID), "trash")
				continue
			}
			active[r] = s.ID
			old, err := ann.Versions(t.Context(), r, s.ID)
			if err != nil {
				t.Fatal(err)
			}
			versions[r] = old[0].ID
		}
	}
	people := callers(t, in, ann, "ann/api")

	in.Restart(onPlan("free", cell("private_repos", 2)))
	want := map[string]string{"ann/api": "plan_limit_exceeded", "acme/api": "org_free_plan"}
	for _, c := range people {
		c.URL = in.URL
	}
	expectShown(t, ann, repos, want)
	for name, c := range people {
		for operation, err := range writes(t, c, "ann/api", active["ann/api"], trashed["ann/api"], versions["ann/api"]) {
			overPlan(t, err, name+": "+operation)
		}
	}
	for operation, err := range writes(t, ann, "acme/api", active["acme/api"], trashed["acme/api"], versions["acme/api"]) {
		overPlan(t, err, "acme/api: "+operation)
		if got := denials(t, ann, "ann/api", operation); got != len(people) {
			t.Errorf("%d refusals of %s are recorded, of %d", got, operation, len(people))
		}
	}
	_, err := ann.CreateEnvironment(t.Context(), "ann/api", "qa", "")
	overPlan(t, err, "an environment")
	if got := in.Pull(ann, "ann/api", "development"); got["A"] != "1" || len(got) != 1 {
		t.Errorf("a refused change left %v", got)
	}
	for _, r := range []string{"ann/one", "ann/site", "ann/two", "acme/open"} {
		for operation, err := range writes(t, ann, r, active[r], trashed[r], versions[r]) {
			ok(t, err, r+": "+operation)
		}
	}
	// What is read-only can be read, and got rid of.
	_, err = ann.RenameEnvironment(t.Context(), "ann/api", "staging", "qa")
	ok(t, err, "renaming an environment")
	_, err = ann.DeleteEnvironment(t.Context(), "ann/api", "qa")
	ok(t, err, "deleting an environment")
	ok(t, ann.DestroySecret(t.Context(), "ann/api", trashed["ann/api"]), "deleting from trash")
	_, err = ann.EmptyTrash(t.Context(), "acme/api")
	ok(t, err, "emptying the trash")

	// A vault that goes makes room for the next; a higher plan for all.
	ok(t, ann.DeleteVault(t.Context(), "ann/one"), "deleting a vault")
	repos = repos[1:]
	delete(want, "ann/api")
	expectShown(t, ann, repos, want)
	in.Restart(onPlan("team"))
	ann.URL = in.URL
	expectShown(t, ann, repos, nil)
	in.Push(ann, "acme/api", "development", map[string]string{"A": "2"})
}

// expectShown wants these vaults read-only for these reasons, in the list as in
// the vault itself.
func expectShown(t *testing.T, c *client.Client, repos []string, want map[string]string) {
	t.Helper()
	list, err := c.Vaults(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]api.Vault{}
	for _, v := range list.Items {
		listed[v.RepoFullName] = v
	}
	for _, r := range repos {
		v, err := c.Vault(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listed[r], *v); diff != "" {
			t.Errorf("%s is listed otherwise: %s", r, diff)
		}
		reason := ""
		if v.ReadonlyReason != nil {
			reason = *v.ReadonlyReason
		}
		if reason != want[r] || v.IsReadOnly != (want[r] != "") {
			t.Errorf("%s is read-only: %v %q, want %q", r, v.IsReadOnly, reason, want[r])
		}
	}
}

func TestPrivateReposOfOrganizationsTakeAPlan(t *testing.T) {
	in := servertest.New(t, onPlan("startup"))
	ann := in.User("ann")
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	if err := in.Operator.SetLocalMember(t.Context(), api.SetLocalMember{Org: "acme", Username: "ann", Role: "owner"}); err != nil {
		t.Fatal(err)
	}
	_, err := ann.CreateVault(t.Context(), "acme/api")
	overPlan(t, err, "a private repository of an organization")
	in.Restart(onPlan("startup", server.PlanLimit{Plan: "startup", Limit: "private_org_repos", Value: "true"},
		server.PlanLimit{Plan: "startup", Limit: "private_repos", Value: "1"}))
	ann.URL = in.URL
	in.Vault(ann, "acme/api")
	in.Vault(ann, "ann/api") // ann's account has room of its own
	_, err = ann.CreateVault(t.Context(), "acme/two")
	overPlan(t, err, "the organization's second")
	in.Restart(onPlan("free"), func(c *server.Config) { c.Plans.UpgradeURL = "https://pay.example/plans" })
	ann.URL = in.URL
	_, err = ann.CreateVault(t.Context(), "acme/two")
	if e, _ := errors.AsType[*api.Error](err); e == nil || e.UpgradeURL != "https://pay.example/plans" {
		t.Errorf("got %#v", err)
	}
}
