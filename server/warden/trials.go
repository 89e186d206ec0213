package warden

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// trialTime is how long a trial runs.
const trialTime = billing.TrialDays * 24 * time.Hour

func trialOf(b store.Billing) billing.Trial {
	return billing.Trial{Started: b.TrialStarted.Time(), Ends: b.TrialEnds.Time(), Converted: b.TrialConverted.Time()}
}

// OrgTrial is what an organization's one trial has come to.
func (w *Warden) OrgTrial(ctx context.Context, who Caller, req api.OrgRef) (*api.Trial, error) {
	const act = access.OrgTrial
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	var out api.Trial
	err = w.self(ctx, who, act, func(r store.Reader) error {
		b, err := r.Billing(store.AccountOfOrg(there.ID))
		out = trialOf(b).Shown(w.now())
		return err
	})
	return &out, err
}

// StartTrial begins an organization's trial: one for ever, whatever it is called
// and whoever its owners are by then.
func (w *Warden) StartTrial(ctx context.Context, who Caller, req api.OrgRef) (*api.StartedTrial, error) {
	const act = access.OrgTrialStart
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	var out *api.StartedTrial
	err = w.changeSelf(ctx, who, act, func(tx store.Tx, j *journal) error {
		org, err := w.orgAt(tx, j, there)
		if err != nil {
			return err
		}
		b, err := tx.Billing(store.AccountOfOrg(there.ID))
		if err != nil {
			return err
		}
		if why := w.noTrial(b, org.Login); why != "" {
			return &api.Error{Code: api.Conflict, Message: why}
		}
		b.TrialStarted, b.TrialEnds = store.At(j.now), store.At(j.now.Add(trialTime))
		trial := trialOf(b).Shown(j.now)
		out = &api.StartedTrial{Trial: trial, Now: trial,
			Message: fmt.Sprintf("The trial of %s has begun: the plan %q until %s.", org.Login, billing.TrialPlan, b.TrialEnds.Time().Format(time.DateOnly))}
		j.note("org_trial_started", map[string]any{"org": org.Login, "endsAt": api.At(b.TrialEnds.Time()).String()})
		return tx.PutBilling(b)
	})
	return out, err
}

// noTrial says why an organization cannot start a trial, or "".
func (w *Warden) noTrial(b store.Billing, login string) string {
	trial := trialOf(b).Shown(w.now())
	switch {
	case trial.Status == api.TrialActive:
		return fmt.Sprintf("The trial of %s is running until %s.", login, b.TrialEnds.Time().Format(time.DateOnly))
	case trial.HasStarted:
		return fmt.Sprintf("%s has had its trial. There is one for each organization.", login)
	case w.entitlement(b).Status.Effect().Grants:
		return fmt.Sprintf("%s has a subscription already.", login)
	}
	return ""
}

// offerTrial adds to a refusal by the plan whether a trial would help, where the
// account is an organization.
func (w *Warden) offerTrial(r store.Reader, refused *api.Error, v store.Vault) error {
	if v.OwnerKind != store.OwnerOrg {
		return nil
	}
	login, err := w.orgOwning(r, v)
	if err != nil {
		return err
	}
	b, err := r.Billing(v.Account())
	info := api.TrialInfo{OrgLogin: login, Reason: w.noTrial(b, login)}
	if info.Reason == "" {
		info.Eligible, info.DaysAvailable = true, billing.TrialDays
		info.Reason = fmt.Sprintf("%s has not had its trial yet: %d days of the plan %q.", login, billing.TrialDays, billing.TrialPlan)
	}
	refused.Extra = map[string]any{"trialInfo": info}
	return err
}

// orgOwning is what the organization is called that has a vault's account. The
// owner in the vault's name may be a group within it.
func (w *Warden) orgOwning(r store.Reader, v store.Vault) (string, error) {
	org, err := r.OrgAt(w.forge.Kind(), v.OwnerID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return v.Owner, nil
	case err != nil:
		return "", err
	}
	return org.Login, nil
}

// ExpireTrials records the trials that have ended. They ended by their dates: this
// gives nobody less.
func (w *Warden) ExpireTrials(ctx context.Context) error {
	due := func(b store.Billing) bool {
		return b.TrialExpired == 0 && trialOf(b).Shown(w.now()).Status == api.TrialExpired
	}
	ended, err := w.billings(ctx, due)
	for _, b := range ended {
		if err != nil {
			return err
		}
		_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
			b, err := tx.Billing(b.Account)
			if err != nil || !due(b) {
				return 0, err
			}
			meta, err := w.accountMeta(tx.Reader, b.Account)
			if err != nil {
				return 0, err
			}
			meta["endedAt"] = api.At(b.TrialEnds.Time()).String()
			meta["plan"] = w.planBy(b, j.now).Name
			j.note("org_trial_expired", meta)
			b.TrialExpired = store.At(j.now)
			return 0, tx.PutBilling(b)
		})
	}
	return err
}

// billings are the billing states that are so.
func (w *Warden) billings(ctx context.Context, so func(store.Billing) bool) (some []store.Billing, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		some = nil
		all, err := r.Billings()
		for _, b := range all {
			if so(b) {
				some = append(some, b)
			}
		}
		return err
	})
	return some, err
}
