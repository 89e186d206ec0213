package billing

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
)

func TestEveryCellCanBeSet(t *testing.T) {
	for _, s := range Plans().Settings() {
		table := Plans()
		if err := table.Set(s); err != nil {
			t.Errorf("%v: %v", s, err)
		}
		if diff := cmp.Diff(Plans(), table); diff != "" {
			t.Errorf("%v: its default changes the table: %s", s, diff)
		}
		other := Setting{s.Plan, s.Limit, "7"}
		if s.Limit == privateOrgRepos {
			other.Value = map[string]string{"true": "false", "false": "true"}[s.Value]
		}
		if s.Value == other.Value {
			other.Value = "8"
		}
		if err := table.Set(other); err != nil {
			t.Errorf("%v: %v", other, err)
		}
		changed := 0
		for i, now := range table.Settings() {
			if now != Plans().Settings()[i] {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%v changes %d cells", other, changed)
		}
	}
}

func TestCellsHaveBounds(t *testing.T) {
	for _, tt := range []struct{ limit, value, want string }{
		{"private_repos", "-1", "neither unlimited nor a number from 0"},
		{"private_repos", "many", "neither unlimited nor a number from 0"},
		{"environments", "0", "a number from 1"},
		{"push_batch", "1001", "no number from 1 to 1000"},
		{"push_batch", "unlimited", "no number from 1 to 1000"},
		{"value_bytes", "262145", "no number from 1 to 262144"},
		{"private_org_repos", "some", "neither true nor false"},
		{"repos", "1", "no limit"},
	} {
		if err := Plans().Set(Setting{"free", tt.limit, tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s: got %v", tt.limit, tt.value, err)
		}
	}
	if err := Plans().Set(Setting{"gold", "secrets", "1"}); err == nil {
		t.Error("there is no plan gold")
	}
}

func TestPlansAreFoundAndRanked(t *testing.T) {
	if p, err := Plans().Find(""); err != nil || p.Name != DefaultPlan {
		t.Errorf("got %v, %v", p, err)
	}
	if _, err := Plans().Find("gold"); err == nil || !strings.Contains(err.Error(), "free, pro, startup, team, enterprise") {
		t.Errorf("got %v", err)
	}
	large := func(p Plan) bool { return p.ValueBytes >= api.MaxValueLarge }
	for name, want := range map[string]bool{"free": true, "pro": true, "startup": true, "team": true, "enterprise": false} {
		p, err := Plans().Find(name)
		if err != nil || Plans().HigherAllows(p, large) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadOnlyRule(t *testing.T) {
	unknown := errors.New("not asked for")
	for _, tt := range []struct {
		plan  string
		v     Holding
		rank  int // among the account's private vaults, from 0; -1 when it must not be asked for
		want  Reason
		wrong error
	}{
		{"free", Holding{Private: true}, 0, Writable, nil},
		{"free", Holding{Private: true}, 1, OverLimit, nil},
		{"free", Holding{}, -1, Writable, nil},
		{"free", Holding{Org: true}, -1, Writable, nil},
		{"free", Holding{Private: true, Org: true}, -1, OrgNotIncluded, nil},
		{"pro", Holding{Private: true}, 4, Writable, nil},
		{"pro", Holding{Private: true}, 5, OverLimit, nil},
		{"pro", Holding{Private: true}, -1, Writable, unknown},
		{"startup", Holding{Private: true, Org: true}, -1, OrgNotIncluded, nil},
		{"team", Holding{Private: true}, -1, Writable, nil},
		{"team", Holding{Private: true, Org: true}, -1, Writable, nil},
	} {
		p, err := Plans().Find(tt.plan)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.ReadOnly(tt.v, func(n int) (bool, error) {
			if tt.rank < 0 {
				return false, unknown
			}
			return tt.rank < n, nil
		})
		if got != tt.want || !errors.Is(err, tt.wrong) {
			t.Errorf("%+v: got %q, %v", tt, got, err)
		}
	}
}

func TestRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, tt := range []struct {
		r    Retention
		days api.Limit
		want time.Duration // before now; 0 for ever
	}{
		{Retention{}, 30, 0},
		{Retention{ByPlan: true}, 30, 30 * day},
		{Retention{ByPlan: true}, api.Unlimited, 0},
		{Retention{For: 5 * day}, 30, 5 * day},
	} {
		before, ends := tt.r.Before(now, tt.days)
		if ends != (tt.want > 0) || ends && !before.Equal(now.Add(-tt.want)) {
			t.Errorf("%+v: got %v, %v", tt, before, ends)
		}
	}
}
