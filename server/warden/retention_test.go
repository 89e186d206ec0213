package warden_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

const day = 24 * time.Hour

// Keys of the store begin with these.
const (
	tagSecret   = 0x27
	tagTrashDue = 0x29
	tagVersion  = 0x2a
	tagRevision = 0x2b
)

// count counts the keys that begin with a byte: what an interrupted removal
// would leave behind.
func (h *house) count(tag byte) int {
	h.t.Helper()
	n := 0
	must(h.t, h.db.View(h.t.Context(), func(r kv.Reader) error {
		return r.Scan(kv.Prefix([]byte{tag}), func(_, _ []byte) error { n++; return nil })
	}))
	return n
}

func (h *house) check() {
	h.t.Helper()
	s, err := store.Open(h.t.Context(), h.db)
	must(h.t, err)
	must(h.t, s.Check(h.t.Context()))
}

// expect runs a job and wants it to remove so much, and a second run nothing.
func (h *house) expect(what string, want int, job func() (int, error)) {
	h.t.Helper()
	for _, n := range []int{want, 0} {
		got, err := job()
		must(h.t, err)
		if got != n {
			h.t.Errorf("%s: removed %d, want %d", what, got, n)
		}
	}
	h.check()
}

func (h *house) ids(w *warden.Warden) map[string]string {
	h.t.Helper()
	all, err := w.Secrets(h.t.Context(), h.ann(w), api.ListSecrets{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}})
	must(h.t, err)
	found := make(map[string]string)
	for _, s := range all.Items {
		found[s.Key] = s.ID
	}
	return found
}

func secretRef(id string) api.SecretRef {
	return api.SecretRef{Ref: api.Ref{Owner: "ann", Repo: "api"}, SecretID: id}
}

func TestTheTrashKeepsSecretsForItsTime(t *testing.T) {
	h := newHouse(t)
	w := h.warden(kvtest.Twice(h.db))
	id := h.ids(w)
	must(t, w.TrashSecret(t.Context(), h.ann(w), secretRef(id["A"])))
	h.sleep(10 * day)
	must(t, w.TrashSecret(t.Context(), h.ann(w), secretRef(id["B"])))
	h.sleep(20*day - time.Minute)
	h.expect("before the time is over", 0, func() (int, error) { return w.ExpireTrash(t.Context()) })
	h.sleep(time.Minute)
	h.expect("when it is over", 1, func() (int, error) { return w.ExpireTrash(t.Context()) })
	must(t, second(w.RestoreSecret(t.Context(), h.ann(w), secretRef(id["B"]))))
	if err := second(w.RestoreSecret(t.Context(), h.ann(w), secretRef(id["A"]))); api.CodeOf(err) != api.NotFound {
		t.Errorf("got %v", err)
	}
	log, err := w.VaultActivity(t.Context(), h.ann(w), api.ListVaultActivity{
		PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}, Action: "secret_permanently_deleted"})
	must(t, err)
	if log.Total != 1 || log.Items[0].Actor != nil || log.Items[0].Metadata["key"] != "A" || log.Items[0].Metadata["environment"] != "production" {
		t.Errorf("got %+v", log.Items)
	}
}

// TestExpiringTheTrashCanBeKilledAnywhere breaks every step in turn, with one
// secret whose history does not fit into one transaction.
func TestExpiringTheTrashCanBeKilledAnywhere(t *testing.T) {
	h := newHouse(t)
	w := h.warden(h.db)
	for i := range 120 {
		must(t, second(w.Push(t.Context(), h.ann(w), pushOf(map[string]string{"A": fmt.Sprint(i), "B": "2", "C": "1"}))))
	}
	must(t, second(w.Push(t.Context(), h.ann(w), pushOf(nil))))
	h.sleep(30 * day)
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		return second(w.ExpireTrash(t.Context()))
	}, func(error) { h.check() })
	for _, tag := range []byte{tagSecret, tagTrashDue, tagVersion} {
		if n := h.count(tag); n != 0 {
			t.Errorf("%d keys of tag %x are left", n, tag)
		}
	}
}

// TestVersionsAreKeptSinceTheyWereReplaced looks at what two ways to say 15 days
// leave of a value that changed on days 0, 10 and 20.
func TestVersionsAreKeptSinceTheyWereReplaced(t *testing.T) {
	plan, err := billing.Plans().Find("team")
	must(t, err)
	plan.VersionDays = 15
	for name, retention := range map[string]billing.Retention{"a time": {For: 15 * day}, "the plan": {ByPlan: true}} {
		t.Run(name, func(t *testing.T) {
			h := newHouseWith(t, func(c *warden.Config) { c.VersionRetention, c.Plan = retention, plan })
			testVersions(t, h, h.warden(kvtest.Twice(h.db)))
		})
	}
}

func testVersions(t *testing.T, h *house, w *warden.Warden) {
	ann := h.ann(w)
	began := h.now()
	h.sleep(10 * day)
	must(t, second(w.Push(t.Context(), ann, pushOf(map[string]string{"A": "2", "B": "1"})))) // C to trash
	h.sleep(10 * day)
	must(t, second(w.Push(t.Context(), ann, pushOf(map[string]string{"A": "3", "B": "1"}))))
	h.sleep(6 * day)
	at := func(days int) *api.Pulled {
		got, err := w.Pull(t.Context(), ann, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON,
			At: began.Add(time.Duration(days)*day + time.Hour).Format(time.RFC3339)})
		must(t, err)
		return got
	}
	numbers := func() (all []int) {
		list, err := w.Versions(t.Context(), ann, secretRef(h.ids(w)["A"]))
		must(t, err)
		for _, v := range list {
			all = append(all, int(v.VersionNumber))
		}
		return all
	}
	if diff := cmp.Diff([]int{3, 2}, numbers()); diff != "" {
		t.Errorf("before the job ran: %s", diff)
	}
	before := at(5)
	if before.Incomplete || before.Secrets["A"] != "1" {
		t.Errorf("before the job ran, day 5: %+v", before)
	}
	h.expect("the first version of A", 1, func() (int, error) { return w.ExpireVersions(t.Context()) })
	if diff := cmp.Diff([]int{3, 2}, numbers()); diff != "" {
		t.Errorf("afterwards: %s", diff)
	}
	if got := at(5); !got.Incomplete || got.ETag == before.ETag {
		t.Errorf("day 5 is gone, and nothing says so: %+v", got)
	}
	if got := at(12); got.Incomplete || got.Secrets["A"] != "2" || got.Secrets["B"] != "1" || len(got.Secrets) != 2 {
		t.Errorf("day 12: %+v", got)
	}
	first := 1
	got, err := w.Pull(t.Context(), ann, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON, Revision: &first})
	must(t, err)
	if !got.Incomplete || got.Secrets["A"] != "" || got.Secrets["B"] != "1" || got.Secrets["C"] != "1" {
		t.Errorf("revision 1: %+v", got)
	}
	if n := h.count(tagRevision); n != 2 {
		t.Errorf("%d revisions are left, want 2", n)
	}
	h.sleep(365 * day)
	h.expect("the second version of A", 1, func() (int, error) { return w.ExpireVersions(t.Context()) })
	values, _ := h.values()
	if diff := cmp.Diff(map[string]string{"A": "3", "B": "1"}, values); diff != "" {
		t.Error(diff)
	}
	must(t, second(w.Push(t.Context(), ann, pushOf(map[string]string{"A": "4", "B": "1"}))))
	if diff := cmp.Diff([]int{4, 3}, numbers()); diff != "" {
		t.Errorf("numbers go on: %s", diff)
	}
}

func TestVersionsAreKeptForEverUnlessSaidOtherwise(t *testing.T) {
	h := newHouse(t)
	w := h.warden(h.db)
	must(t, second(w.Push(t.Context(), h.ann(w), pushOf(map[string]string{"A": "2"}))))
	h.sleep(10 * 365 * day)
	h.expect("nothing", 0, func() (int, error) { return w.ExpireVersions(t.Context()) })
}

// TestExpiringVersionsCanBeKilledAnywhere breaks every step in turn; histories of
// several lengths share transactions.
func TestExpiringVersionsCanBeKilledAnywhere(t *testing.T) {
	h := newHouseWith(t, func(c *warden.Config) { c.VersionRetention = billing.Retention{For: day} })
	w := h.warden(h.db)
	for i := range 130 {
		must(t, second(w.Push(t.Context(), h.ann(w), pushOf(map[string]string{
			"A": fmt.Sprint(i), "B": fmt.Sprint(i / 10), "C": fmt.Sprint(i / 40), "D": "1"}))))
	}
	h.sleep(3 * day)
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		return second(w.ExpireVersions(t.Context()))
	}, func(error) { h.check() })
	if versions, revisions := h.count(tagVersion), h.count(tagRevision); versions != 4 || revisions != 1 {
		t.Errorf("%d versions and %d revisions are left, want 4 and 1", versions, revisions)
	}
	values, _ := h.values()
	if diff := cmp.Diff(map[string]string{"A": "129", "B": "12", "C": "3", "D": "1"}, values); diff != "" {
		t.Error(diff)
	}
}

func TestSessionsAndKeysGoAfterTheirEnd(t *testing.T) {
	h := newHouse(t)
	w := h.warden(kvtest.Twice(h.db))
	operator, err := w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	key := func(name string, ttl time.Duration) string {
		k, err := w.IssueToken(t.Context(), operator, api.IssueToken{Username: "ann", Name: name, Environment: "live",
			Scopes: []string{api.ReadSecrets}, TTLSeconds: int64(ttl / time.Second)})
		must(t, err)
		return k.ID
	}
	for range 120 {
		must(t, second(w.SignIn(t.Context(), operator, api.SignIn{Username: "ann"})))
	}
	revoked := key("revoked", 0)
	key("expires", 10*day)
	must(t, w.RevokeKey(t.Context(), h.ann(w), api.IDRef{ID: revoked}))
	h.sleep(15 * day)
	must(t, second(w.SignIn(t.Context(), operator, api.SignIn{Username: "ann"})))
	h.sleep(15 * day)
	h.expect("sessions of day 0", 120, func() (int, error) { return w.ExpireSessions(t.Context()) })
	h.sleep(15 * day)
	h.expect("the session of day 15", 1, func() (int, error) { return w.ExpireSessions(t.Context()) })
	h.sleep(46 * day) // day 91
	h.expect("the revoked key", 1, func() (int, error) { return w.ExpireKeys(t.Context()) })
	h.sleep(10 * day)
	h.expect("the expired key", 1, func() (int, error) { return w.ExpireKeys(t.Context()) })
	left, err := w.Keys(t.Context(), h.ann(w), api.Empty{})
	must(t, err)
	if len(left.Keys) != 1 || left.Keys[0].Name != "k" {
		t.Errorf("got %+v", left.Keys)
	}
}

func TestOnesOwnActivityReachesBackAsFarAsThePlan(t *testing.T) {
	plan, err := billing.Plans().Find("free")
	must(t, err)
	h := newHouseWith(t, func(c *warden.Config) { c.Plan = plan })
	w := h.warden(h.db)
	for i := range 10 { // one record a day
		h.sleep(day)
		must(t, second(w.Push(t.Context(), h.ann(w), pushOf(map[string]string{"A": fmt.Sprint(i)}))))
	}
	h.sleep(time.Hour)
	// Those of days 4 to 10: the seventh day back ended an hour ago.
	for _, offset := range []int{0, 5, 6, 7, 100} {
		limit := 3
		page, err := w.Activity(t.Context(), h.ann(w), api.ListActivity{Page: api.Page{Limit: &limit, Offset: &offset}})
		must(t, err)
		if want := max(0, min(limit, 7-offset)); page.Total != 7 || len(page.Items) != want {
			t.Errorf("offset %d: %d of %d, want %d of 7", offset, len(page.Items), page.Total, want)
		}
	}
	all, err := w.VaultActivity(t.Context(), h.ann(w), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}})
	must(t, err)
	if all.Total < 12 {
		t.Errorf("the vault's activity is not cut: %d", all.Total)
	}
	h.sleep(8 * day)
	page, err := w.Activity(t.Context(), h.ann(w), api.ListActivity{})
	must(t, err)
	if page.Total != 0 || len(page.Items) != 0 {
		t.Errorf("got %d", page.Total)
	}
}

func TestActivityIsKeptByRetention(t *testing.T) {
	for _, tt := range []struct {
		r    billing.Retention
		want time.Duration
	}{{billing.Retention{}, 0}, {billing.Retention{ByPlan: true}, 90 * day}, {billing.Retention{For: day}, day}} {
		h := newHouseWith(t, func(c *warden.Config) { c.AuditRetention = tt.r })
		before, ends, err := h.warden(h.db).ActivityBefore(t.Context())
		must(t, err)
		if ends != (tt.want > 0) || ends && h.now().Sub(before).Round(time.Minute) != tt.want {
			t.Errorf("%+v: got %v, %v", tt.r, before, ends)
		}
	}
}

func TestActivityIsKeptAsLongAsTheBestPlanLooksBack(t *testing.T) {
	free, err := billing.Plans().Find(billing.FreePlan)
	must(t, err)
	h := newHouseWith(t, func(c *warden.Config) { c.Plan, c.AuditRetention = free, billing.Retention{ByPlan: true} })
	w := h.warden(h.db)
	operator, err := w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	for _, step := range []struct {
		given string
		days  time.Duration
	}{{"none", 7}, {"pro", 30}, {"enterprise", 365}, {"none", 7}} {
		must(t, second(w.SetPlan(t.Context(), operator, api.SetPlan{Kind: "user", Name: "ann", Plan: step.given})))
		before, ends, err := w.ActivityBefore(t.Context())
		must(t, err)
		if !ends || h.now().Sub(before).Round(time.Hour) != step.days*day {
			t.Errorf("%s: kept since %v, %v", step.given, before, ends)
		}
	}
}
