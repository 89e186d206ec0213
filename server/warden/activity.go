package warden

import (
	"context"
	"errors"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
	"coffer/store/kv"
)

// Activity is a page of what the caller did, newest first.
func (w *Warden) Activity(ctx context.Context, who Caller, req api.ListActivity) (*api.List[api.Activity], error) {
	var page *api.List[api.Activity]
	err := w.self(ctx, who, access.ActivityList, func(r store.Reader) error {
		limit, offset := req.Bounds()
		records, total, err := w.ownActivity(r, who.user.ID, limit, offset)
		if err != nil {
			return err
		}
		page = &api.List[api.Activity]{Limit: limit, Offset: offset, Total: total}
		page.Items, err = shown(r, records)
		return err
	})
	return page, err
}

// ownActivity reaches back as far as the user's plan does.
func (w *Warden) ownActivity(r store.Reader, user store.ID, limit, offset int) ([]store.Activity, int, error) {
	plan, err := w.planOf(r, store.AccountOfUser(user))
	if err != nil {
		return nil, 0, err
	}
	since, ends := billing.Retention{ByPlan: true}.Before(w.now(), plan.AuditDays)
	if !ends {
		return r.ActivityOf(user, limit, offset)
	}
	return r.ActivityOfSince(user, store.At(since), limit, offset)
}

// VaultActivity is a page of what anybody did in a vault, newest first.
func (w *Warden) VaultActivity(ctx context.Context, who Caller, req api.ListVaultActivity) (*api.List[api.Activity], error) {
	var page *api.List[api.Activity]
	err := w.read(ctx, who, access.VaultActivity, req.Repository(), func(v *visit) error {
		limit, offset := req.Bounds()
		page = &api.List[api.Activity]{Limit: limit, Offset: offset}
		records, total, err := v.activity(req, limit, offset)
		if err != nil {
			return err
		}
		page.Total = total
		page.Items, err = shown(v.Reader, records)
		return err
	})
	return page, err
}

// activity looks only at the page, unless a filter makes it look at all.
func (v *visit) activity(req api.ListVaultActivity, limit, offset int) ([]store.Activity, int, error) {
	if req.Action == "" && req.Environment == "" && req.Actor == "" {
		return v.ActivityIn(v.vault.ID, limit, offset)
	}
	var page []store.Activity
	total := 0
	err := v.EachActivityIn(v.vault.ID, func(a store.Activity) error {
		if !matches(a, req) {
			return nil
		}
		if total >= offset && len(page) < limit {
			page = append(page, a)
		}
		total++
		return nil
	})
	return page, total, err
}

func matches(a store.Activity, req api.ListVaultActivity) bool {
	is := func(asked string, values ...string) bool {
		if asked == "" {
			return true
		}
		for _, v := range values {
			if strings.EqualFold(asked, v) {
				return true
			}
		}
		return false
	}
	environment, _ := a.Metadata["environment"].(string)
	return is(req.Action, a.Action) && is(req.Environment, environment) && is(req.Actor, a.ActorName, a.Actor.String())
}

// shown turns records into what is sent. Ids of vaults and users that are gone
// become null; their names stay.
func shown(r store.Reader, records []store.Activity) ([]api.Activity, error) {
	all := make([]api.Activity, 0, len(records))
	people := make(map[store.ID]*store.User)
	vaults := make(map[store.ID]bool)
	for _, a := range records {
		out := api.Activity{
			ID: a.ID.String(), Action: a.Action, Platform: a.Platform, Metadata: a.Metadata,
			RepoFullName: orNull(a.Repository), IP: orNull(a.IP), UserAgent: orNull(a.UserAgent),
			Timestamp: api.At(a.At.Time()),
		}
		var err error
		if out.Actor, err = actor(r, a, people); err != nil {
			return nil, err
		}
		if there, err := vaultThere(r, a.Vault, vaults); err != nil {
			return nil, err
		} else if there {
			id := a.Vault.String()
			out.VaultID = &id
		}
		all = append(all, out)
	}
	return all, nil
}

func actor(r store.Reader, a store.Activity, people map[store.ID]*store.User) (*api.Actor, error) {
	if a.Actor.IsZero() {
		return nil, nil
	}
	u, known := people[a.Actor]
	if !known {
		found, err := r.User(a.Actor)
		switch {
		case err == nil:
			u = &found
		case !errors.Is(err, kv.ErrNotFound):
			return nil, err
		}
		people[a.Actor] = u
	}
	p := &api.Actor{Username: a.ActorName}
	if u != nil {
		p.ID, p.AvatarURL = new(u.ID.String()), orNull(u.AvatarURL)
	}
	return p, nil
}

func vaultThere(r store.Reader, id store.ID, known map[store.ID]bool) (bool, error) {
	if id.IsZero() {
		return false, nil
	}
	if there, ok := known[id]; ok {
		return there, nil
	}
	_, err := r.Vault(id)
	known[id] = err == nil
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return known[id], err
}
