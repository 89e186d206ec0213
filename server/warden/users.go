package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// Me is the caller.
func (w *Warden) Me(ctx context.Context, who Caller, _ api.Empty) (*api.User, error) {
	u := who.user
	plan, err := w.ownPlan(ctx, who, access.UserMe)
	return &api.User{
		ID: u.ID.String(), ForgeType: u.Forge, ForgeUserID: u.Account, Username: u.Login,
		Email: orNull(u.Email), AvatarURL: orNull(u.AvatarURL), Plan: plan.Name,
		CreatedAt: api.At(u.Created.Time()),
	}, err
}

// ValidateToken says whose credential it was.
func (w *Warden) ValidateToken(ctx context.Context, who Caller, _ api.Empty) (*api.ValidatedToken, error) {
	u := who.user
	plan, err := w.ownPlan(ctx, who, access.TokenValidate)
	return &api.ValidatedToken{
		Username: u.Login, ForgeType: u.Forge, ForgeUserID: u.Account, Plan: plan.Name,
		CreatedAt: api.At(u.Created.Time()),
	}, err
}

// ownPlan is the plan of the caller's own account.
func (w *Warden) ownPlan(ctx context.Context, who Caller, act access.Action) (plan billing.Plan, err error) {
	err = w.self(ctx, who, act, func(r store.Reader) error {
		plan, err = w.planOf(r, store.AccountOfUser(who.user.ID))
		return err
	})
	return plan, err
}

// Usage is what the caller's plan allows and what is used of it.
func (w *Warden) Usage(ctx context.Context, who Caller, _ api.Empty) (*api.Usage, error) {
	out := &api.Usage{}
	err := w.self(ctx, who, access.UserUsage, func(r store.Reader) error {
		account := store.AccountOfUser(who.user.ID)
		plan, err := w.planOf(r, account)
		if err != nil {
			return err
		}
		vaults, err := r.VaultsOf(account)
		out.Plan, out.Limits, out.Usage = plan.Name, plan.Limits(), api.UsageCount{}
		for _, v := range vaults {
			if v.Private {
				out.Usage.Private++
			} else {
				out.Usage.Public++
			}
		}
		if err != nil {
			return err
		}
		connections, err := r.ConnectionsOf(who.user.ID)
		out.Usage.Providers = len(connections)
		return err
	})
	return out, err
}

// userAt is the user of an account at the code host, recorded now if this is
// the first time it is seen.
func (w *Warden) userAt(tx store.Tx, j *journal, account, login string) (store.User, error) {
	u, err := tx.UserAt(w.forge.Kind(), account)
	if !errors.Is(err, store.ErrNotFound) {
		return u, err
	}
	u = store.User{
		ID: j.ids.Next(), Forge: w.forge.Kind(), Account: account, Login: login, Created: store.At(j.now),
	}
	return u, tx.PutUser(u)
}
