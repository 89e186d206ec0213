package server_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/forge"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// roster is what somebody is shown of acme's members, in one line.
func (b *bound) roster(c *client.Client) string {
	b.t.Helper()
	all, err := c.OrgMembers(b.t.Context(), "acme")
	if err != nil {
		b.t.Fatal(err)
	}
	var text []string
	for _, m := range all {
		word := m.Username + " " + m.Role
		if !m.OnKeyway {
			word += " elsewhere"
		}
		text = append(text, word)
	}
	return strings.Join(text, ", ")
}

func (b *bound) synced(c *client.Client, added, updated, removed int) {
	b.t.Helper()
	got, err := c.SyncMembers(b.t.Context(), "acme")
	if err != nil {
		b.t.Error(err)
		return
	}
	if got.Added != added || got.Updated != updated || got.Removed != removed {
		b.t.Errorf("got %+v, want %d, %d, %d", got, added, updated, removed)
	}
}

func TestOrganizationsAreThoseOfTheCodeHost(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		dora := b.world.AddUser("dora") // who never comes here
		b.world.SetMember(b.org, b.bob, forge.OrgMember)
		b.world.SetMember(b.org, dora, forge.OrgMember)
		ann, bob, carl := b.as(b.ann), b.as(b.bob), b.as(b.carl)
		b.Vault(ann, "acme/api")
		for c, want := range map[*client.Client]string{ann: "acme owner", bob: "acme member", carl: ""} {
			all, err := c.Orgs(b.t.Context())
			if err != nil {
				b.t.Fatal(err)
			}
			got := ""
			for _, o := range all {
				got += o.Login + " " + o.Role
				if o.ForgeOrgID != strconv.FormatInt(b.org, 10) || o.MemberCount != 3 || o.VaultCount != 1 {
					b.t.Errorf("got %+v", o)
				}
			}
			if got != want {
				b.t.Errorf("got %q, want %q", got, want)
			}
		}
		if got := b.roster(bob); got != "ann owner, bob member, dora member elsewhere" {
			b.t.Errorf("got %s", got)
		}
		if _, err := carl.OrgMembers(b.t.Context(), "acme"); api.CodeOf(err) != api.Forbidden && api.CodeOf(err) != api.NotFound {
			b.t.Errorf("a stranger: %v", err)
		}
		if _, err := bob.SyncMembers(b.t.Context(), "acme"); api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("a member: %v", err)
		}
	})
}

// TestRostersFollowTheCodeHost: people come, change their names, and leave. One
// who left is refused at once, whatever the roster still says.
func TestRostersFollowTheCodeHost(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetMember(b.org, b.bob, forge.OrgMember)
		ann, bob := b.as(b.ann), b.as(b.bob)
		if _, err := bob.Org(b.t.Context(), "acme"); err != nil { // its roster is read for the first time
			b.t.Fatal(err)
		}
		b.synced(ann, 1, 0, 0) // who was not known here then
		b.world.RenameUser(b.bob, "rob")
		b.synced(ann, 0, 1, 0)
		b.world.SetMember(b.org, b.bob, forge.OrgOwner)
		b.synced(ann, 0, 1, 0)
		b.synced(ann, 0, 0, 0)
		b.fake.Break("", standin.Status(500))
		if _, err := ann.SyncMembers(b.t.Context(), "acme"); api.CodeOf(err) != api.Unavailable {
			b.t.Errorf("the code host is down: %v", err)
		}
		b.fake.Heal()
		b.world.SetMember(b.org, b.bob, "")
		if _, err := bob.Org(b.t.Context(), "acme"); api.CodeOf(err) != api.Forbidden && api.CodeOf(err) != api.NotFound {
			b.t.Errorf("who left: %v", err)
		}
		b.synced(ann, 0, 0, 1)
		if got := b.roster(ann); got != "ann owner" {
			b.t.Errorf("got %s", got)
		}
	})
}

func TestRepositoriesAreLookedUpByRole(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		for c, there := range map[*client.Client]bool{b.as(b.ann): true, b.as(b.bob): true, b.as(b.carl): false} {
			ids, err := c.RepositoryIDs(b.t.Context(), "acme/api")
			if err != nil {
				b.t.Fatal(err)
			}
			if there && (ids.RepoID == nil || *ids.RepoID != b.repo || ids.OwnerID == nil || *ids.OwnerID != b.org) || !there && (ids.RepoID != nil || ids.OwnerID != nil) {
				b.t.Errorf("got %+v", ids)
			}
			got, err := c.CheckInstallation(b.t.Context(), "acme", "api")
			if there && (err != nil || !got.Installed) || !there && api.CodeOf(err) != api.NotFound {
				b.t.Errorf("got %+v, %v", got, err)
			}
		}
	})
}

// readers is the built-in code host where nobody has more than the role read.
type readers struct{ *forge.Local }

func (h readers) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	there, err := h.Local.Role(ctx, as, repo)
	if there.Role != forge.None {
		there.Role = forge.Read
	}
	return there, err
}

// TestOwnersOfTheOrganizationManageOverrides, though they are no admins of its
// repositories there.
func TestOwnersOfTheOrganizationManageOverrides(t *testing.T) {
	in := servertest.New(t)
	for _, name := range []string{"ann", "bob"} {
		in.User(name)
	}
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	in.Member("acme", "ann", "owner")
	in.Member("acme", "bob", "member")
	in.Vault(in.SignIn("ann"), "acme/api")
	in.Grant("acme/api", "ann", "read")
	in.Grant("acme/api", "bob", "read")
	in.Restart(func(c *server.Config) {
		c.TestOnlyForge = func(d forge.Directory) forge.Forge { return readers{forge.NewLocal(d)} }
	})
	ann, bob := in.SignIn("ann"), in.SignIn("bob")
	override := api.CreateOverride{
		Ref: api.Ref{Owner: "acme", Repo: "api"}, Environment: "production", TargetType: "role", TargetRole: new("read"), CanRead: true,
	}
	if _, err := bob.CreateOverride(t.Context(), override); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a member: %v", err)
	}
	made, err := ann.CreateOverride(t.Context(), override)
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.DeleteOverride(t.Context(), "acme/api", made.ID); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a member: %v", err)
	}
	if _, err := ann.Collaborators(t.Context(), "acme/api"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an owner is no admin otherwise: %v", err)
	}
	const at = "/vaults/acme/api/access"
	page := inBrowser(in, "ann")
	expectSeen(t, page.Open(at), 200, "What you may do", `<option value="user:`+idOf(t, in, "bob")+`">bob</option>`, "are members of the organization")
	expect(t, page.Submit(at, "do", "create", "target", "user:"+idOf(t, in, "bob"), "environment", "staging", "canRead", "on"), 303, at)
	expectSeen(t, page.Open(at), 200, "bob in staging")
	if s := inBrowser(in, "bob").Open(at); s.Status != 200 || strings.Contains(s.Text, "<option") {
		t.Errorf("a member: %d %s", s.Status, s.Text)
	}
	in.Member("acme", "bob", "owner")
	in.Member("acme", "ann", "member")
	if err := ann.DeleteOverride(t.Context(), "acme/api", made.ID); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an owner no longer: %v", err)
	}
	if err := bob.DeleteOverride(t.Context(), "acme/api", made.ID); err != nil {
		t.Errorf("an owner now: %v", err)
	}
}

// TestWorkHasTheRosterRead: nobody has to ask for it.
func TestWorkHasTheRosterRead(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetMember(b.org, b.bob, forge.OrgMember)
		ann, bob := b.as(b.ann), b.as(b.bob)
		b.Vault(ann, "acme/api")
		if code := b.looks(bob); code != "" { // and so is known here
			b.t.Fatal(code)
		}
		joined := func() bool {
			all, err := ann.OrgMembers(b.t.Context(), "acme")
			if err != nil {
				b.t.Fatal(err)
			}
			for _, m := range all {
				if m.Username == "bob" {
					return m.JoinedAt != nil
				}
			}
			return false
		}
		deadline := time.Now().Add(10 * time.Second)
		for !joined() {
			if time.Now().After(deadline) {
				b.t.Fatal("the roster is not read after work in a vault")
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}
