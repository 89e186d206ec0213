package warden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// Rosters are for looking at. They grant nothing and take nothing away: what
// somebody may do is asked of the code host each time.

// OrgMembers lists everybody on an organization's roster, as the code host has it
// now: owners first, then by name.
func (w *Warden) OrgMembers(ctx context.Context, who Caller, req api.OrgRef) ([]api.OrgMember, error) {
	const act = access.OrgMembers
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	roster, err := w.roster(ctx, who, there)
	if err != nil {
		return nil, w.errRoster(ctx, who, there, err)
	}
	slices.SortFunc(roster, func(a, b forge.Member) int {
		return cmp.Or(cmp.Compare(standingOf(b.Standing), standingOf(a.Standing)),
			cmp.Compare(strings.ToLower(a.User.Login), strings.ToLower(b.User.Login)), cmp.Compare(a.User.ID, b.User.ID))
	})
	org, err := w.seenOrg(ctx, there)
	if err != nil {
		return nil, err
	}
	var out []api.OrgMember
	err = w.self(ctx, who, act, func(r store.Reader) error {
		out = make([]api.OrgMember, 0, len(roster))
		for _, p := range roster {
			m, err := w.shownMember(r, org, p)
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	return out, err
}

func (w *Warden) shownMember(r store.Reader, org store.Org, p forge.Member) (api.OrgMember, error) {
	out := api.OrgMember{
		ID: w.forge.Kind() + ":" + p.User.ID, Username: p.User.Login, AvatarURL: orNull(p.User.AvatarURL), Role: p.Standing,
	}
	u, err := r.UserAt(w.forge.Kind(), p.User.ID)
	if errors.Is(err, store.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.ID, out.OnKeyway = u.ID.String(), true
	m, err := r.OrgMember(org.ID, u.ID)
	if errors.Is(err, store.ErrNotFound) {
		return out, nil
	}
	out.JoinedAt = api.AtOrNull(m.Joined.Time())
	return out, err
}

// SyncMembers reads an organization's roster for one of its owners, and keeps who
// of the people on it has an account here.
func (w *Warden) SyncMembers(ctx context.Context, who Caller, req api.OrgRef) (*api.SyncedMembers, error) {
	const act = access.OrgMembersSync
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	roster, err := w.roster(ctx, who, there)
	if err != nil {
		return nil, w.errRoster(ctx, who, there, err)
	}
	var c rosterChange
	err = w.changeSelf(ctx, who, act, func(tx store.Tx, j *journal) (err error) {
		c, err = w.keepRoster(tx, j, there, roster)
		j.note("org_members_synced", c.meta(there))
		return err
	})
	return &api.SyncedMembers{
		Message: fmt.Sprintf("%s: %d added, %d updated, %d removed", there.Login, c.added, c.updated, c.removed),
		Added:   c.added, Updated: c.updated, Removed: c.removed,
	}, err
}

// errNotWhole means that a roster does not hold everybody, whatever the host says.
var errNotWhole = errors.New("the roster is not whole")

// roster asks the code host, on the caller's behalf, for all members of an
// organization.
func (w *Warden) roster(ctx context.Context, who Caller, org forge.Organization) ([]forge.Member, error) {
	all, err := ask(ctx, w, who, w.membersOf(org))
	if err == nil {
		err = whole(all, who.user)
	}
	return all, err
}

func (w *Warden) membersOf(org forge.Organization) func(context.Context, forge.Asker) ([]forge.Member, error) {
	return func(ctx context.Context, as forge.Asker) ([]forge.Member, error) {
		return w.forge.Members(ctx, as, org)
	}
}

// whole holds a roster against what must be true of one. Strangers are shown
// nothing, or the members that anybody may know of: so it must hold the member
// who asked. The server itself is no member, and its user is the zero one.
func whole(roster []forge.Member, asker store.User) error {
	seen := make(map[string]bool, len(roster))
	for _, p := range roster {
		switch {
		case p.User.ID == "" || standingOf(p.Standing) == access.Outsider:
			return fmt.Errorf("%w: it holds somebody without an id or a role", errNotWhole)
		case seen[p.User.ID]:
			return fmt.Errorf("%w: it changed while it was read", errNotWhole)
		}
		seen[p.User.ID] = true
	}
	switch {
	case len(roster) == 0:
		return fmt.Errorf("%w: it is empty", errNotWhole)
	case !asker.ID.IsZero() && !seen[asker.Account]:
		return fmt.Errorf("%w: it lacks the member who asked", errNotWhole)
	}
	return nil
}

// errRoster is what may be seen of a roster that was not had.
func (w *Warden) errRoster(ctx context.Context, who Caller, org forge.Organization, err error) error {
	known, ok := errors.AsType[*api.Error](w.errForge(ctx, who, err))
	if !ok {
		return err
	}
	answer := &api.Error{Code: api.Unavailable, RetryAfter: cmp.Or(known.RetryAfter, unavailable),
		Message: fmt.Sprintf("The code host gave no complete roster of %s. Try again in a moment.", org.Login)}
	switch {
	case known.Code == api.Unavailable, who.kind == 0:
		return answer
	case known.Code == api.Forbidden:
		answer.Message = fmt.Sprintf("The roster of %s is unavailable. %s", org.Login, known.Message)
		return answer
	}
	return known
}

// rosterChange counts the people with an account here who came, changed and left.
type rosterChange struct{ added, updated, removed int }

func (c rosterChange) meta(org forge.Organization) map[string]any {
	return map[string]any{"org": org.Login, "added": c.added, "updated": c.updated, "removed": c.removed}
}

// keepRosterUnasked keeps a roster for the server itself.
func (w *Warden) keepRosterUnasked(ctx context.Context, org forge.Organization, roster []forge.Member) error {
	_, err := w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		c, err := w.keepRoster(tx, j, org, roster)
		if c != (rosterChange{}) {
			j.note("org_members_synced", c.meta(org))
		}
		return 0, err
	})
	return err
}

// keepRoster makes what is recorded of an organization's members what a whole
// roster says: of the people on it who have an account here.
func (w *Warden) keepRoster(tx store.Tx, j *journal, there forge.Organization, roster []forge.Member) (c rosterChange, err error) {
	org, err := w.orgAt(tx, j, there)
	if err != nil {
		return c, err
	}
	recorded, err := tx.OrgMembers(org.ID)
	if err != nil {
		return c, err
	}
	left := make(map[store.ID]store.OrgMember, len(recorded))
	for _, m := range recorded {
		left[m.User] = m
	}
	for _, p := range roster {
		u, err := tx.UserAt(w.forge.Kind(), p.User.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return c, err
		}
		before, known := left[u.ID]
		delete(left, u.ID)
		if err := c.keep(tx, j, before, known, member{org.ID, u, p}); err != nil {
			return c, err
		}
	}
	for _, m := range recorded {
		if _, gone := left[m.User]; !gone {
			continue
		}
		c.removed++
		if err := tx.DeleteOrgMember(m); err != nil {
			return c, err
		}
	}
	org.People, org.RosterAt = len(roster), store.At(j.now)
	return c, tx.PutOrg(org)
}

// member is somebody on a roster who has an account here.
type member struct {
	org  store.ID
	user store.User
	now  forge.Member
}

// keep writes a member down, and the user's name of today.
func (c *rosterChange) keep(tx store.Tx, j *journal, before store.OrgMember, known bool, m member) error {
	named := labelled(m.user, m.now.User)
	after := store.OrgMember{Org: m.org, User: m.user.ID, Role: m.now.Standing, Joined: store.At(j.now)}
	switch {
	case !known:
		c.added++
	case before.Role != after.Role || named != m.user:
		c.updated++
		after.Joined = before.Joined
	default:
		return nil
	}
	if named != m.user {
		if err := tx.PutUser(named); err != nil {
			return err
		}
	}
	return tx.PutOrgMember(after)
}
