package warden

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// When rosters are read that nobody asks for: after somebody worked in a vault of
// the organization, when the code host says that it changed, and once a day.

const (
	rosterEvery     = 15 * time.Minute // at most, after work in vaults
	rosterFresh     = time.Hour        // what the daily round leaves alone
	rosterTime      = time.Minute      // bounds one reading
	firstRosterTime = 5 * time.Second  // bounds one that a request waits for, which can do without
	rosterQueue     = 64               // organizations that may wait
)

// rosters are the organizations whose vaults were worked in lately.
type rosters struct {
	now   func() time.Time
	queue chan visited
	mu    sync.Mutex
	last  map[string]time.Time // when an organization was put into the queue
}

// visited is an organization, and the user who worked in a vault of it.
type visited struct {
	org string // immutable id at the code host
	by  store.User
}

func newRosters(now func() time.Time) *rosters {
	return &rosters{now: now, queue: make(chan visited, rosterQueue), last: make(map[string]time.Time)}
}

// visited has the roster of an organization read some time later, unless that was
// done lately. It never waits: with a full queue, the next visit will do.
func (r *rosters) visited(org string, by store.User) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if last, ok := r.last[org]; ok && now.Sub(last).Abs() < rosterEvery {
		return
	}
	select {
	case r.queue <- visited{org, by}:
	default:
		return
	}
	if len(r.last) >= maxRemember {
		clear(r.last)
	}
	r.last[org] = now
}

// readRosters reads what is in the queue, one after the other, until ctx ends.
func (w *Warden) readRosters(ctx context.Context) {
	for {
		select {
		case v := <-w.host.rosters.queue:
			if err := w.afterVisit(ctx, v); err != nil && ctx.Err() == nil {
				w.log.InfoContext(ctx, "an organization's roster could not be read", "organization", v.org, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (w *Warden) afterVisit(ctx context.Context, v visited) error {
	if w.State() != api.StateOK {
		return nil
	}
	org, err := w.orgOnRecord(ctx, v.org)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.readWithin(org, rosterEvery) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.refreshRoster(ctx, org, v.by)
}

func (w *Warden) readWithin(org store.Org, d time.Duration) bool {
	return org.RosterAt != 0 && w.now().Sub(org.RosterAt.Time()).Abs() < d
}

func (w *Warden) orgOnRecord(ctx context.Context, account string) (org store.Org, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		org, err = r.OrgAt(w.forge.Kind(), account)
		return err
	})
	return org, err
}

// SyncOrg reads the roster of the organization with this id at the code host, if
// there is a record of it, and keeps who of the people on it has an account here.
// A roster that cannot be had is passed over: asking again would not help, and
// only a host that does not answer is an error.
func (w *Warden) SyncOrg(ctx context.Context, forgeOrgID string) error {
	org, err := w.orgOnRecord(ctx, forgeOrgID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return w.outward(err)
	}
	err = w.refreshRoster(ctx, org, store.User{})
	if err != nil && definite(err) {
		w.log.WarnContext(ctx, "an organization's roster cannot be read", "organization", org.Login, "error", err)
		return nil
	}
	if err != nil {
		return w.errRoster(ctx, Caller{}, organizationOf(org), err)
	}
	return nil
}

// SyncOrgs does the same for all organizations that have vaults.
func (w *Warden) SyncOrgs(ctx context.Context) error {
	all, err := w.orgsOnRecord(ctx)
	if err != nil {
		return w.outward(err)
	}
	var due []store.Org
	for _, org := range all {
		has, err := w.hasVaults(ctx, org)
		if err != nil {
			return w.outward(err)
		}
		if has && !w.readWithin(org, rosterFresh) {
			due = append(due, org)
		}
	}
	return eachAtHost(ctx, due, func(org store.Org) error { return w.SyncOrg(ctx, org.Account) })
}

func (w *Warden) hasVaults(ctx context.Context, org store.Org) (has bool, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		all, err := r.VaultsOf(store.AccountOfOrg(org.Account))
		has = len(all) > 0
		return err
	})
	return has, err
}

// refreshRoster reads a roster for the server itself: with the service credential,
// else on behalf of a member, owners first, whose sign-in we have. Somebody who
// just worked in a vault may be a member whom no roster showed yet.
func (w *Warden) refreshRoster(ctx context.Context, org store.Org, also store.User) error {
	ctx, cancel := context.WithTimeout(ctx, rosterTime)
	defer cancel()
	there := organizationOf(org)
	roster, err := w.roster(ctx, Caller{}, there)
	if err != nil && definite(err) {
		roster, err = w.rosterByMembers(ctx, org, also, err)
	}
	if err != nil {
		return err
	}
	return w.keepRosterUnasked(ctx, there, roster)
}

// rosterByMembers asks with one member's sign-in after the other. Why is what to
// say when none of them helps.
func (w *Warden) rosterByMembers(ctx context.Context, org store.Org, also store.User, why error) ([]forge.Member, error) {
	members, err := w.recordedMembers(ctx, org)
	if err != nil {
		return nil, err
	}
	if !also.ID.IsZero() {
		members = append(members, also)
	}
	for _, u := range members {
		as := forge.Asker{User: forge.User{ID: u.Account, Login: u.Login}}
		roster, err := askGranted(ctx, w, Caller{user: u}, as, w.membersOf(organizationOf(org)))
		if err == nil {
			err = whole(roster, u)
		}
		if err == nil || !definite(err) {
			return roster, err
		}
		if !errors.Is(err, errNoGrant) {
			why = err
		}
	}
	return nil, why
}

// recordedMembers are the users recorded as an organization's members, owners
// first.
func (w *Warden) recordedMembers(ctx context.Context, org store.Org) (users []store.User, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		all, err := r.OrgMembers(org.ID)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b store.OrgMember) int { return int(standingOf(b.Role)) - int(standingOf(a.Role)) })
		users = make([]store.User, 0, len(all))
		for _, m := range all {
			u, err := r.User(m.User)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			users = append(users, u)
		}
		return nil
	})
	return users, err
}
