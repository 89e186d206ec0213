package warden

import (
	"context"
	"slices"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// DaysCounted is how many days activity is counted for, today included.
const DaysCounted = 30

// deedsCounted is how many records are looked at to count them: whoever did more
// is told so, and nobody's page takes longer than that.
const deedsCounted = 20_000

// ActivityDays counts reads and writes of secrets by day.
type ActivityDays struct {
	Days []ActivityDay // oldest first, one for each day

	// Cut says that there was too much to count all of it: early days are too low.
	Cut bool
}

// ActivityDay is a day, in UTC.
type ActivityDay struct {
	Day           time.Time // its beginning
	Reads, Writes int
}

var (
	reading = []string{"secrets_pulled", "secret_value_accessed", "secret_version_value_accessed"}
	writing = []string{"secrets_pushed", "secret_created", "secret_updated", "secret_trashed", "secret_restored",
		"secret_permanently_deleted", "secret_version_restored"}
)

// ActivityDays counts what the caller did, as far back as Activity goes.
func (w *Warden) ActivityDays(ctx context.Context, who Caller, _ api.Empty) (*ActivityDays, error) {
	out, since := newActivityDays(w.now())
	err := w.self(ctx, who, access.ActivityList, func(r store.Reader) (err error) {
		plan, err := w.planOf(r, store.AccountOfUser(who.user.ID))
		if err != nil {
			return err
		}
		if kept, ends := (billing.Retention{ByPlan: true}).Before(w.now(), plan.AuditDays); ends && kept.After(since) {
			since = kept
		}
		out.Cut, err = r.EachDeedOf(who.user.ID, store.At(since), deedsCounted, out.count)
		return err
	})
	return out, err
}

// VaultActivityDays counts what anybody did in a vault.
func (w *Warden) VaultActivityDays(ctx context.Context, who Caller, ref api.Ref) (*ActivityDays, error) {
	out, since := newActivityDays(w.now())
	err := w.read(ctx, who, access.VaultActivity, ref.Repository(), func(v *visit) (err error) {
		out.Cut, err = v.EachDeedIn(v.vault.ID, store.At(since), deedsCounted, out.count)
		return err
	})
	return out, err
}

func newActivityDays(now time.Time) (*ActivityDays, time.Time) {
	first := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-DaysCounted)
	out := &ActivityDays{Days: make([]ActivityDay, DaysCounted)}
	for i := range out.Days {
		out.Days[i].Day = first.AddDate(0, 0, i)
	}
	return out, first
}

func (a *ActivityDays) count(d store.Deed) {
	n := int(d.At.Time().Sub(a.Days[0].Day) / (24 * time.Hour))
	switch {
	case n < 0 || n >= len(a.Days):
	case slices.Contains(reading, d.Action):
		a.Days[n].Reads++
	case slices.Contains(writing, d.Action) && !d.Metadata.DryRun:
		a.Days[n].Writes++
	}
}
