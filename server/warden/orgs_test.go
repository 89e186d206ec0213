package warden_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// clubHost is the built-in code host with answers that a test may change.
type clubHost struct {
	forge.Forge
	mu      sync.Mutex
	asked   int // for rosters
	members func(forge.Asker, []forge.Member) ([]forge.Member, error)
	mine    func([]forge.Membership) ([]forge.Membership, error)
	org     func(forge.Organization) (forge.Organization, error)
	role    func(forge.Asker, forge.Reachable) (forge.Reachable, error)
	bearers map[string]string // tokens, of which accounts
}

func (h *clubHost) says(change func(*clubHost)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *clubHost) rosters() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

func (h *clubHost) Members(ctx context.Context, as forge.Asker, org forge.Organization) ([]forge.Member, error) {
	all, err := h.Forge.Members(ctx, as, org)
	h.mu.Lock()
	h.asked++
	say := h.members
	h.mu.Unlock()
	if err != nil || say == nil {
		return all, err
	}
	return say(as, all)
}

func (h *clubHost) Organizations(ctx context.Context, as forge.Asker) ([]forge.Membership, error) {
	all, err := h.Forge.Organizations(ctx, as)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || h.mine == nil {
		return all, err
	}
	return h.mine(all)
}

func (h *clubHost) Organization(ctx context.Context, as forge.Asker, login string) (forge.Organization, error) {
	o, err := h.Forge.Organization(ctx, as, login)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || h.org == nil {
		return o, err
	}
	return h.org(o)
}

func (h *clubHost) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	r, err := h.Forge.Role(ctx, as, repo)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || h.role == nil {
		return r, err
	}
	return h.role(as, r)
}

func (h *clubHost) Bearer(_ context.Context, token string) (forge.User, error) {
	account, ok := h.bearers[token]
	if !ok {
		return forge.User{}, forge.ErrToken
	}
	return forge.User{ID: account, Login: "ann"}, nil
}

// club is a house with an organization acme: ann owns it, bob is a member, and cyd
// is neither. Only ann's personal vault is there.
type club struct {
	*house
	w    *warden.Warden
	host *clubHost
	past atomic.Int64
}

func newClub(t *testing.T, options ...func(*warden.Config)) *club {
	t.Helper()
	c := &club{host: &clubHost{}}
	c.house = newHouseWith(t, func(*warden.Config) {})
	c.with = func(cfg *warden.Config) {
		cfg.Now = func() time.Time { return time.Now().Add(time.Duration(c.past.Load())) }
		cfg.Forge = func(d forge.Directory) forge.Forge {
			c.host.Forge = forge.NewLocal(d)
			return c.host
		}
		for _, o := range options {
			o(cfg)
		}
	}
	c.w = c.warden(kvtest.Twice(c.db))
	op := operator(t, c.w)
	for _, name := range []string{"bob", "cyd"} {
		must(t, second(c.w.AddLocalUser(t.Context(), op, api.AddLocalUser{Username: name, Password: api.NewSecret("a password")})))
	}
	must(t, second(c.w.AddLocalOrg(t.Context(), op, api.AddLocalOrg{Name: "acme"})))
	c.member("ann", "owner")
	c.member("bob", "member")
	return c
}

func (c *club) later(d time.Duration) { c.past.Add(int64(d)) }

func (c *club) member(name, role string) {
	c.t.Helper()
	must(c.t, c.w.SetLocalMember(c.t.Context(), operator(c.t, c.w), api.SetLocalMember{Org: "acme", Username: name, Role: role}))
}

// is is a user who is signed in.
func (c *club) is(name string) warden.Caller {
	c.t.Helper()
	s, err := c.w.SignIn(c.t.Context(), operator(c.t, c.w), api.SignIn{Username: name})
	must(c.t, err)
	who, err := c.w.Identify(c.t.Context(), warden.Credential{Bearer: string(s.Token)})
	must(c.t, err)
	return who
}

// account is a user's number at the code host.
func (c *club) account(name string) string {
	c.t.Helper()
	me, err := c.w.Me(c.t.Context(), c.is(name), api.Empty{})
	must(c.t, err)
	return me.ForgeUserID
}

func (c *club) sync(name string) (*api.SyncedMembers, error) {
	return c.w.SyncMembers(c.t.Context(), c.is(name), api.OrgRef{Org: "acme"})
}

// synced wants a roster to be kept, with these differences.
func (c *club) synced(what string, added, updated, removed int) {
	c.t.Helper()
	got, err := c.sync("ann")
	must(c.t, err)
	if got.Added != added || got.Updated != updated || got.Removed != removed || got.Message == "" {
		c.t.Errorf("%s: %+v, want %d, %d, %d", what, got, added, updated, removed)
	}
}

// roster is what members are shown, one line for each.
func (c *club) roster(name string) string {
	c.t.Helper()
	all, err := c.w.OrgMembers(c.t.Context(), c.is(name), api.OrgRef{Org: "acme"})
	must(c.t, err)
	var lines []string
	for _, m := range all {
		line := m.Username + " " + m.Role
		if m.OnKeyway == strings.HasPrefix(m.ID, "local:") {
			c.t.Errorf("%+v", m)
		}
		if m.OnKeyway {
			line += " here"
		} else {
			line += " " + m.ID
		}
		if m.JoinedAt != nil {
			line += " joined"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

func (c *club) detail(name string) *api.OrgDetail {
	c.t.Helper()
	o, err := c.w.Org(c.t.Context(), c.is(name), api.OrgRef{Org: "acme"})
	must(c.t, err)
	return o
}

// lastSyncs are the newest records of read rosters, with who had them read.
func (c *club) lastSyncs() (all []string) {
	c.t.Helper()
	var file strings.Builder
	must(c.t, c.w.ExportAudit(c.t.Context(), operator(c.t, c.w), &file))
	for line := range strings.Lines(file.String()) {
		if !strings.Contains(line, `"org_members_synced"`) {
			continue
		}
		by := "ann"
		if strings.Contains(line, `"actor":null`) {
			by = "nobody"
		}
		_, meta, _ := strings.Cut(line, `"metadata":`)
		meta, _, _ = strings.Cut(meta, "}")
		all = append(all, by+" "+meta+"}")
	}
	return all
}

// stranger is somebody without an account here.
var stranger = forge.Member{User: forge.User{ID: "900", Login: "Zoe"}, Standing: forge.OrgMember}

func withStranger(_ forge.Asker, all []forge.Member) ([]forge.Member, error) {
	return append(all, stranger, forge.Member{User: forge.User{ID: "901", Login: "abe"}, Standing: forge.OrgOwner}), nil
}

func TestARosterIsKeptOfPeopleWithAnAccount(t *testing.T) {
	c := newClub(t)
	c.host.says(func(h *clubHost) { h.members = withStranger })
	if got, want := c.roster("bob"), "abe owner local:901, ann owner here, bob member here, Zoe member local:900"; got != want {
		t.Errorf("before the first reading: %s", got)
	}
	c.synced("first", 2, 0, 0)
	c.synced("again", 0, 0, 0)
	if got, want := c.roster("bob"), "abe owner local:901, ann owner here joined, bob member here joined, Zoe member local:900"; got != want {
		t.Errorf("got %s", got)
	}
	if o := c.detail("bob"); o.MemberCount != 4 || o.Role != "member" {
		t.Errorf("got %+v", o)
	}
	c.member("bob", "owner")
	c.synced("another role", 0, 1, 0)
	c.host.says(func(h *clubHost) {
		h.members = func(_ forge.Asker, all []forge.Member) ([]forge.Member, error) {
			for i := range all {
				if all[i].User.Login == "bob" {
					all[i].User.Login = "robert"
				}
			}
			return all, nil
		}
	})
	c.synced("another name", 0, 1, 0)
	c.synced("the same name", 0, 0, 0)
	if me, err := c.w.Me(t.Context(), c.is("bob"), api.Empty{}); err != nil || me.Username != "robert" {
		t.Errorf("got %+v, %v", me, err)
	}
	c.host.says(func(h *clubHost) {
		h.members = func(_ forge.Asker, all []forge.Member) ([]forge.Member, error) { return all[:1], nil }
	})
	c.synced("who left", 0, 0, 1)
	c.host.says(func(h *clubHost) { h.members = nil })
	c.synced("who came back", 1, 0, 0)
	if got := c.lastSyncs()[0]; got != `ann {"added":2,"org":"acme","removed":0,"updated":0}` {
		t.Errorf("got %s", got)
	}
}

// TestARosterThatIsNotWholeRemovesNobody: a fault of the host or of the credential
// must not look like people who left.
func TestARosterThatIsNotWholeRemovesNobody(t *testing.T) {
	c := newClub(t)
	c.synced("first", 2, 0, 0)
	fails := func(err error) func(forge.Asker, []forge.Member) ([]forge.Member, error) {
		return func(forge.Asker, []forge.Member) ([]forge.Member, error) { return nil, err }
	}
	holds := func(all ...forge.Member) func(forge.Asker, []forge.Member) ([]forge.Member, error) {
		return func(forge.Asker, []forge.Member) ([]forge.Member, error) { return all, nil }
	}
	account := c.detail("ann").ForgeOrgID
	ann := forge.Member{User: forge.User{ID: c.account("ann"), Login: "ann"}, Standing: forge.OrgOwner}
	for name, say := range map[string]func(forge.Asker, []forge.Member) ([]forge.Member, error){
		"no answer":          fails(&forge.Unavailable{RetryAfter: time.Minute, Err: errors.New("slow")}),
		"refused":            fails(forge.ErrRefused),
		"hidden":             fails(forge.ErrNotFound),
		"a scope is missing": fails(&forge.Missing{What: "the scope read:org"}),
		"anything else":      fails(errors.New("broken")),
		"empty":              holds(),
		"without the asker":  holds(stranger),
		"somebody twice":     holds(ann, stranger, stranger),
		"nobody's id":        holds(ann, forge.Member{User: forge.User{Login: "x"}, Standing: forge.OrgMember}),
		"no role":            holds(ann, forge.Member{User: forge.User{ID: "5", Login: "x"}}),
	} {
		t.Run(name, func(t *testing.T) {
			c.host.says(func(h *clubHost) { h.members = say })
			_, err := c.sync("ann")
			failed, ok := errors.AsType[*api.Error](err)
			if !ok || failed.Code != api.Unavailable || failed.RetryAfter <= 0 || !strings.Contains(failed.Message, "roster of acme") {
				t.Errorf("got %v", err)
			}
			if name == "no answer" && failed.RetryAfter != time.Minute {
				t.Errorf("the host said when to try again: %v", failed.RetryAfter)
			}
			if _, err := c.w.OrgMembers(t.Context(), c.is("ann"), api.OrgRef{Org: "acme"}); api.CodeOf(err) != api.Unavailable {
				t.Errorf("shown: %v", err)
			}
			if name != "without the asker" { // the server itself is no member: for it that one is whole
				err := c.w.SyncOrg(t.Context(), account)
				if again := name == "no answer" || name == "anything else"; (err != nil) != again {
					t.Errorf("unasked: %v", err)
				}
			}
			c.host.says(func(h *clubHost) { h.members = nil })
			c.synced("afterwards", 0, 0, 0)
		})
	}
}

func TestOnlyOwnersHaveTheRosterRead(t *testing.T) {
	c := newClub(t)
	for _, name := range []string{"bob", "cyd"} {
		if _, err := c.sync(name); api.CodeOf(err) != api.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.w.SyncMembers(t.Context(), c.ann(c.w), api.OrgRef{Org: "acme"}); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a key: %v", err)
	}
	for _, look := range []func(warden.Caller) error{
		func(who warden.Caller) error { return second(c.w.Org(t.Context(), who, api.OrgRef{Org: "acme"})) },
		func(who warden.Caller) error {
			return second(c.w.OrgMembers(t.Context(), who, api.OrgRef{Org: "acme"}))
		},
	} {
		if err := look(c.is("cyd")); api.CodeOf(err) != api.Forbidden {
			t.Errorf("a stranger: %v", err)
		}
	}
	c.host.says(func(h *clubHost) {
		h.org = func(forge.Organization) (forge.Organization, error) { return forge.Organization{}, forge.ErrNotFound }
	})
	if _, err := c.w.Org(t.Context(), c.is("ann"), api.OrgRef{Org: "acme"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("what the host hides: %v", err)
	}
}

// TestTheServerReadsRostersOnBehalfOfMembers: without a service credential it takes
// whoever is known to be a member, has signed in, and is on what comes back.
func TestTheServerReadsRostersOnBehalfOfMembers(t *testing.T) {
	c := newClub(t)
	c.synced("first", 2, 0, 0)
	account := c.detail("ann").ForgeOrgID
	var tokens []string
	c.host.says(func(h *clubHost) {
		h.members = func(as forge.Asker, all []forge.Member) ([]forge.Member, error) {
			if as.Token == "" {
				return nil, forge.ErrNoCredential
			}
			tokens = append(tokens, as.Token)
			if as.Token == "of-ann" { // who has left: shown what strangers are
				return []forge.Member{stranger}, nil
			}
			return all[1:], nil
		}
	})
	must(t, c.w.SyncOrg(t.Context(), account)) // nobody can be asked
	must(t, c.w.KeepGrant(t.Context(), c.is("ann"), forge.Grant{Access: "of-ann"}))
	must(t, c.w.SyncOrg(t.Context(), account)) // only somebody who left
	must(t, c.w.KeepGrant(t.Context(), c.is("bob"), forge.Grant{Access: "of-bob"}))
	must(t, c.w.SyncOrg(t.Context(), account))
	if diff := cmp.Diff([]string{"of-ann", "of-ann", "of-bob"}, tokens); diff != "" {
		t.Error(diff)
	}
	must(t, c.w.SyncOrg(t.Context(), account))
	want := []string{`ann {"added":2,"org":"acme","removed":0,"updated":0}`, `nobody {"added":0,"org":"acme","removed":1,"updated":0}`}
	if diff := cmp.Diff(want, c.lastSyncs()); diff != "" {
		t.Errorf("reading what did not change leaves no record: %s", diff)
	}
	must(t, c.w.SyncOrg(t.Context(), "no such organization"))
}

// vault makes the vault of acme/api.
func (c *club) vault() {
	c.t.Helper()
	must(c.t, second(c.w.AddLocalRepo(c.t.Context(), operator(c.t, c.w), api.AddLocalRepo{RepoFullName: "acme/api"})))
	must(c.t, second(c.w.CreateVault(c.t.Context(), c.is("ann"), api.CreateVault{RepoFullName: "acme/api"})))
}

func (c *club) visit(name, repo string) {
	c.t.Helper()
	owner, short, _ := api.SplitRepo(repo)
	must(c.t, second(c.w.Vault(c.t.Context(), c.is(name), api.Ref{Owner: owner, Repo: short})))
}

func TestWorkInAVaultHasTheRosterReadOnceInAWhile(t *testing.T) {
	c := newClub(t)
	c.vault()
	ann := c.is("ann")
	for range 3 {
		c.visit("ann", "acme/api")
		c.visit("ann", repo)
	}
	eventually(t, func() bool { return len(c.lastSyncs()) == 1 })
	for range 3 {
		c.visit("ann", "acme/api")
	}
	if _, err := c.w.Vault(t.Context(), c.is("cyd"), api.Ref{Owner: "acme", Repo: "api"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("got %v", err)
	}
	c.later(16 * time.Minute)
	if _, err := c.w.Vault(t.Context(), c.is("cyd"), api.Ref{Owner: "acme", Repo: "api"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("got %v", err)
	}
	if n := c.host.rosters(); n != 1 {
		t.Errorf("read %d times", n)
	}

	// The host hangs: nobody who works in the vault notices.
	hang := make(chan struct{})
	c.host.says(func(h *clubHost) {
		h.members = func(as forge.Asker, all []forge.Member) ([]forge.Member, error) { <-hang; return withStranger(as, all) }
	})
	for range 3 {
		must(t, second(c.w.Vault(t.Context(), ann, api.Ref{Owner: "acme", Repo: "api"})))
	}
	eventually(t, func() bool { return c.host.rosters() == 2 })
	close(hang)
	eventually(t, func() bool { return c.detail("ann").MemberCount == 4 })
	c.later(16 * time.Minute)
	c.host.says(func(h *clubHost) {
		h.members = func(forge.Asker, []forge.Member) ([]forge.Member, error) { return nil, forge.ErrRefused }
	})
	must(t, second(c.w.Vault(t.Context(), ann, api.Ref{Owner: "acme", Repo: "api"})))
	eventually(t, func() bool { return c.host.rosters() == 3 })
	if o := c.detail("ann"); o.MemberCount != 4 || o.VaultCount != 1 {
		t.Errorf("got %+v", o)
	}
}

func TestAClosingServerStopsReadingRosters(t *testing.T) {
	c := newClub(t)
	c.vault()
	asked := make(chan struct{})
	c.host.says(func(h *clubHost) { h.Forge = hanging{h.Forge, asked} })
	c.visit("ann", "acme/api")
	<-asked
	must(t, c.w.Close())
}

// hanging is a code host that does not answer for rosters. The first time that it
// is asked for one, it says so.
type hanging struct {
	forge.Forge
	asked chan struct{}
}

func (h hanging) Members(ctx context.Context, _ forge.Asker, _ forge.Organization) ([]forge.Member, error) {
	close(h.asked)
	<-ctx.Done()
	return nil, &forge.Unavailable{Err: ctx.Err()}
}

func TestTheDailyRoundReadsRostersOfOrganizationsWithVaults(t *testing.T) {
	c := newClub(t)
	must(t, second(c.w.Orgs(t.Context(), c.is("ann"), api.Empty{}))) // seen, and read for the first time
	c.later(2 * time.Hour)
	must(t, c.w.SyncOrgs(t.Context()))
	if n := c.host.rosters(); n != 1 {
		t.Errorf("an organization without vaults: read %d times", n)
	}
	c.vault()
	must(t, c.w.SyncOrgs(t.Context()))
	must(t, c.w.SyncOrgs(t.Context())) // right after the first
	if n := c.host.rosters(); n != 2 {
		t.Errorf("read %d times, want 2", n)
	}
	c.later(2 * time.Hour)
	c.host.says(func(h *clubHost) {
		h.members = func(forge.Asker, []forge.Member) ([]forge.Member, error) { return nil, forge.ErrNotFound }
	})
	must(t, c.w.SyncOrgs(t.Context())) // trying again would not help
	c.host.says(func(h *clubHost) {
		h.members = func(forge.Asker, []forge.Member) ([]forge.Member, error) {
			return nil, &forge.Unavailable{Err: errors.New("down")}
		}
	})
	if err := c.w.SyncOrgs(t.Context()); api.CodeOf(err) != api.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestOrganizationsAreFollowed: names and pictures are those of the code host,
// unless an owner chose a name here.
func TestOrganizationsAreFollowed(t *testing.T) {
	c := newClub(t)
	labels := func(login, name, picture string) {
		c.host.says(func(h *clubHost) {
			h.mine = func(all []forge.Membership) ([]forge.Membership, error) {
				for i := range all {
					all[i].Organization = forge.Organization{ID: all[i].Organization.ID, Login: login, DisplayName: name, AvatarURL: picture}
				}
				return append(all, forge.Membership{Organization: forge.Organization{ID: "99", Login: "others"}}), nil
			}
		})
	}
	list := func() string {
		all, err := c.w.Orgs(t.Context(), c.is("ann"), api.Empty{})
		must(t, err)
		if len(all) != 1 {
			t.Fatalf("got %+v", all)
		}
		text := all[0].ID + " " + all[0].Login
		for _, p := range []*string{all[0].DisplayName, all[0].AvatarURL} {
			if p == nil {
				p = new("none")
			}
			text += " " + *p
		}
		return text
	}
	first := list()
	id, rest, _ := strings.Cut(first, " ")
	if rest != "acme none none" {
		t.Errorf("got %s", first)
	}
	labels("Acme-Inc", "Acme", "https://host.example/acme.png")
	if got := list(); got != id+" Acme-Inc Acme https://host.example/acme.png" {
		t.Errorf("got %s", got)
	}
	labels("acme", "", "")
	if got := list(); got != id+" acme Acme https://host.example/acme.png" {
		t.Errorf("what is not said stays: %s", got)
	}
	ours := api.UpdateOrg{OrgRef: api.OrgRef{Org: "acme"}, DisplayName: api.Nullable{Given: true, Text: new("Ours")}}
	must(t, second(c.w.UpdateOrg(t.Context(), c.is("ann"), ours)))
	labels("acme", "Theirs", "")
	if got := list(); !strings.HasPrefix(got, id+" acme Ours ") {
		t.Errorf("got %s", got)
	}
	ours.DisplayName.Text = nil
	must(t, second(c.w.UpdateOrg(t.Context(), c.is("ann"), ours)))
	if got := list(); !strings.HasPrefix(got, id+" acme none ") {
		t.Errorf("got %s", got)
	}
}

// TestARosterThatIsNotHadHidesNoOrganization: it is for looking at only.
func TestARosterThatIsNotHadHidesNoOrganization(t *testing.T) {
	c := newClub(t)
	c.host.says(func(h *clubHost) {
		h.members = func(forge.Asker, []forge.Member) ([]forge.Member, error) { return nil, forge.ErrRefused }
	})
	if o := c.detail("bob"); o.MemberCount != 1 {
		t.Errorf("got %+v", o)
	}
	c.host.says(func(h *clubHost) { h.members = withStranger })
	if o := c.detail("bob"); o.MemberCount != 4 {
		t.Errorf("got %+v", o)
	}
}

// TestWithoutAListOrganizationsOnRecordAreAskedAbout: a service credential that
// cannot list for somebody else can still say what they are.
func TestWithoutAListOrganizationsOnRecordAreAskedAbout(t *testing.T) {
	c := newClub(t)
	c.detail("ann")
	c.host.says(func(h *clubHost) {
		h.mine = func([]forge.Membership) ([]forge.Membership, error) { return nil, forge.ErrNoCredential }
	})
	for name, want := range map[string]int{"ann": 1, "bob": 1, "cyd": 0} {
		all, err := c.w.Orgs(t.Context(), c.is(name), api.Empty{})
		must(t, err)
		if len(all) != want {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestAnOwnerOfTheOrganizationManagesOverrides, whatever the owner's role on the
// repository is, as long as there is one.
func TestAnOwnerOfTheOrganizationManagesOverrides(t *testing.T) {
	c := newClub(t)
	c.vault()
	ref := api.Ref{Owner: "acme", Repo: "api"}
	role := func(r forge.Role) {
		c.host.says(func(h *clubHost) {
			h.role = func(_ forge.Asker, there forge.Reachable) (forge.Reachable, error) { there.Role = r; return there, nil }
		})
		c.later(2 * time.Minute)
	}
	override := func(name, environment string) error {
		return second(c.w.CreateOverride(t.Context(), c.is(name), api.CreateOverride{Ref: ref, Environment: environment,
			TargetType: "role", TargetRole: new("triage"), CanRead: true}))
	}
	seen := func(name string) int {
		all, err := c.w.Overrides(t.Context(), c.is(name), ref)
		must(t, err)
		return len(all.Overrides)
	}
	role(forge.Read)
	must(t, override("ann", "production"))
	must(t, override("ann", "staging"))
	if err := override("bob", "development"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a member: %v", err)
	}
	if ann, bob := seen("ann"), seen("bob"); ann != 2 || bob != 1 {
		t.Errorf("ann sees %d, bob %d", ann, bob)
	}
	if err := second(c.w.CreateEnvironment(t.Context(), c.is("ann"), api.CreateEnvironment{Ref: ref, Name: "more"})); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an owner is no admin otherwise: %v", err)
	}
	c.member("ann", "member")
	if err := override("ann", "development"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an owner no longer: %v", err)
	}
	c.member("ann", "owner")
	role(forge.None)
	if err := override("ann", "development"); api.CodeOf(err) != api.NotFound {
		t.Errorf("without a role: %v", err)
	}
}

// TestAUserWhoIsGoneHasNoID: names in the log stay, ids that lead nowhere do not.
func TestAUserWhoIsGoneHasNoID(t *testing.T) {
	c := newClub(t)
	c.vault()
	c.visit("ann", "acme/api")
	ref := api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "acme", Repo: "api"}}}
	must(t, c.w.GrantLocalRepo(t.Context(), operator(t, c.w), api.GrantLocalRepo{RepoFullName: "acme/api", Username: "cyd", Role: "admin"}))
	must(t, second(c.w.CreateEnvironment(t.Context(), c.is("cyd"), api.CreateEnvironment{Ref: ref.Ref, Name: "more"})))
	cyd, err := c.w.Me(t.Context(), c.is("cyd"), api.Empty{})
	must(t, err)
	actor := func(w *warden.Warden) *api.Actor {
		log, err := w.VaultActivity(t.Context(), c.is("ann"), ref)
		must(t, err)
		return log.Items[0].Actor
	}
	if a := actor(c.w); a == nil || a.ID == nil || *a.ID != cyd.ID || a.Username != "cyd" {
		t.Errorf("got %+v", a)
	}
	const tagUser = 0x10
	for _, row := range c.rows(tagUser) {
		if strings.Contains(string(row[1]), "cyd") {
			c.change(func(tx kv.Tx) error { return tx.Delete(row[0]) })
		}
	}
	must(t, c.w.Close())
	c.w = c.warden(c.db)
	if a := actor(c.w); a == nil || a.ID != nil || a.Username != "cyd" {
		t.Errorf("got %+v", a)
	}
}
