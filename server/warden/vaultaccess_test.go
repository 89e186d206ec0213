package warden_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

var clubVault = api.Ref{Owner: "acme", Repo: "api"}

// withVault gives acme a vault, on whose repository bob has a role.
func (c *club) withVault(role string) {
	c.t.Helper()
	op := operator(c.t, c.w)
	must(c.t, second(c.w.AddLocalRepo(c.t.Context(), op, api.AddLocalRepo{RepoFullName: "acme/api"})))
	must(c.t, c.w.GrantLocalRepo(c.t.Context(), op, api.GrantLocalRepo{RepoFullName: "acme/api", Username: "bob", Role: role}))
	must(c.t, second(c.w.CreateVault(c.t.Context(), c.is("ann"), api.CreateVault{RepoFullName: "acme/api"})))
}

// access is what the access page tells somebody, in a few lines.
func (c *club) access(name string) string {
	c.t.Helper()
	a, err := c.w.VaultAccess(c.t.Context(), c.is(name), clubVault)
	if err != nil {
		return err.Error()
	}
	word := func(all []api.Permission) string {
		var text []string
		for _, r := range all {
			text = append(text, strings.NewReplacer("true", "y", "false", "n").Replace(fmt.Sprintf("%t%t", r.Read, r.Write)))
		}
		return strings.Join(text, " ")
	}
	out := fmt.Sprintf("%s manages=%t %s %s\n", a.Role, a.CanManage, strings.Join(a.Columns, ","), word(a.Mine))
	for _, p := range a.People {
		out += fmt.Sprintf("%s %s here=%t %s\n", p.Username, p.Role, p.UserID != "", word(p.Rights))
	}
	if a.Unlisted != nil {
		out += "unlisted: " + string(api.CodeOf(a.Unlisted)) + "\n"
	}
	return out
}

func (c *club) told(what, name, want string) {
	c.t.Helper()
	if got := c.access(name); got != want {
		c.t.Errorf("%s: %s is told\n%swant\n%s", what, name, got, want)
	}
}

func TestAccessTellsEverybodyWhatTheyMayKnow(t *testing.T) {
	c := newClub(t)
	c.withVault("write")
	const all = "development,staging,production"
	c.told("at first", "ann", "admin manages=true "+all+" yy yy yy\nann admin here=true yy yy yy\nbob write here=true yy yy yn\n")
	c.told("at first", "bob", "write manages=false "+all+" yy yy yn\n")
	if got := c.access("cyd"); !strings.HasPrefix(got, "There is no vault for acme/api") {
		t.Errorf("cyd is told %s", got)
	}

	// Overrides count, for the user and for the role, and hide what they take.
	bob, err := c.w.Me(t.Context(), c.is("bob"), api.Empty{})
	must(t, err)
	set := func(o api.CreateOverride) {
		t.Helper()
		o.Ref = clubVault
		must(t, second(c.w.CreateOverride(t.Context(), c.is("ann"), o)))
	}
	set(api.CreateOverride{Environment: "*", TargetType: "role", TargetRole: new("write"), CanRead: true})
	set(api.CreateOverride{Environment: "production", TargetType: "user", TargetUserID: &bob.ID})
	c.told("overridden", "ann", "admin manages=true "+all+" yy yy yy\nann admin here=true yy yy yy\nbob write here=true yn yn nn\n")
	c.told("overridden", "bob", "write manages=false development,staging yn yn\n")
}

// TestOwnersOfTheOrganizationManageWithTheLeastRole, and see all environments,
// without which they could set nothing right.
func TestOwnersOfTheOrganizationManageWithTheLeastRole(t *testing.T) {
	c := newClub(t)
	c.withVault("read")
	owner := c.account("ann")
	c.host.says(func(h *clubHost) {
		h.role = func(as forge.Asker, r forge.Reachable) (forge.Reachable, error) {
			if as.User.ID == owner {
				r.Role = forge.Role("read")
			}
			return r, nil
		}
	})
	c.later(2 * time.Minute) // so that no role is remembered
	c.told("with the role read", "ann", "read manages=true development,staging,production yn yn nn\n")
	c.told("a member", "bob", "read manages=false development,staging yn yn\n")
}

// silent is a code host that lists nobody.
type silent struct {
	forge.Forge
	err error
}

func (s silent) Collaborators(context.Context, forge.Asker, forge.Repository) ([]forge.Collaborator, error) {
	return nil, s.err
}

func TestAccessIsToldWithoutThePeople(t *testing.T) {
	for _, err := range []error{forge.ErrNotFound, forge.ErrRefused, errors.New("a fault")} {
		c := newClub(t, func(cfg *warden.Config) {
			inner := cfg.Forge
			cfg.Forge = func(d forge.Directory) forge.Forge { return silent{inner(d), err} }
		})
		c.withVault("read")
		before, after, found := strings.Cut(c.access("ann"), "unlisted: ")
		if before != "admin manages=true development,staging,production yy yy yy\n" || !found || strings.Contains(after, "internal") {
			t.Errorf("%v: ann is told %s%s", err, before, after)
		}
	}
}
