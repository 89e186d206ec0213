package warden_test

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"coffer/crypto/cryptotest"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

func TestMain(m *testing.M) {
	cryptotest.CheapKDF()
	os.Exit(m.Run())
}

const repo = "ann/api"

// house is a data file with a user, her key, and a vault with something in it.
type house struct {
	t     testing.TB
	db    kv.DB
	key   string // path of the key file
	token string
	with  func(*warden.Config)

	passed atomic.Int64 // nanoseconds beyond the time that really did
}

func (h *house) now() time.Time        { return time.Now().Add(time.Duration(h.passed.Load())) }
func (h *house) sleep(d time.Duration) { h.passed.Add(int64(d)) }

func newHouse(t testing.TB) *house { return newHouseWith(t, func(*warden.Config) {}) }

// newHouseWith is a house whose wardens have another configuration.
func newHouseWith(t testing.TB, with func(*warden.Config)) *house {
	t.Helper()
	h := bareHouse(t, with)
	w := h.warden(h.db)
	must(t, second(w.SetUp(t.Context(), warden.Setup{KeyFile: h.key})))
	operator, err := w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	must(t, second(w.AddLocalUser(t.Context(), operator, api.AddLocalUser{Username: "ann", Password: api.NewSecret("a password")})))
	made, err := w.IssueToken(t.Context(), operator, api.IssueToken{Username: "ann", Name: "k", Environment: "live",
		Scopes: []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets, api.AdminAPIKeys}})
	must(t, err)
	h.token = string(made.Token)
	ann := h.ann(w)
	must(t, second(w.CreateVault(t.Context(), ann, api.CreateVault{RepoFullName: repo})))
	must(t, second(w.Push(t.Context(), ann, pushOf(map[string]string{"A": "1", "B": "1", "C": "1"}))))
	return h
}

// bareHouse is a house that nobody has set up.
func bareHouse(t testing.TB, with func(*warden.Config)) *house {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "data.db"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &house{t: t, db: db, key: filepath.Join(t.TempDir(), "key"), with: with}
}

// warden opens the house over db, which may fail its users.
func (h *house) warden(db kv.DB) *warden.Warden {
	h.t.Helper()
	s, err := store.Open(context.Background(), db)
	if err != nil {
		return nil
	}
	plan, err := billing.Plans().Find("")
	must(h.t, err)
	c := warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Plan: plan, Now: h.now}
	h.with(&c)
	w := warden.New(c)
	h.t.Cleanup(func() { _ = w.Close() })
	if _, err := w.Open(context.Background(), warden.Start{KeyFile: h.key}); err != nil {
		return nil
	}
	return w
}

func (h *house) ann(w *warden.Warden) warden.Caller {
	h.t.Helper()
	who, err := w.Identify(h.t.Context(), warden.Credential{Bearer: h.token})
	must(h.t, err)
	return who
}

// values are what the house holds, and records how many lines its log has.
func (h *house) values() (map[string]string, int) {
	h.t.Helper()
	w := h.warden(h.db)
	who := h.ann(w)
	log, err := w.Activity(h.t.Context(), who, api.ListActivity{})
	must(h.t, err)
	got, err := w.Pull(h.t.Context(), who, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON})
	must(h.t, err)
	all := make(map[string]string)
	for k, v := range got.Secrets {
		all[k] = string(v)
	}
	return all, log.Total
}

func pushOf(values map[string]string) api.PushSecrets {
	all := make(map[string]api.Secret)
	for k, v := range values {
		all[k] = api.NewSecret(v)
	}
	return api.PushSecrets{RepoFullName: repo, Environment: "production", Secrets: all}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAPushThatFailsAnywhereDidNothing breaks every step of a push in turn: what
// it would have done, its audit record included, is there whole or not at all.
func TestAPushThatFailsAnywhereDidNothing(t *testing.T) {
	h := newHouse(t)
	before, records := h.values()
	records++ // looking is recorded too
	after := map[string]string{"A": "1", "B": "2", "D": "3"}
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		who, err := w.Identify(t.Context(), warden.Credential{Bearer: h.token})
		if err != nil {
			return err
		}
		return second(w.Push(t.Context(), who, pushOf(after)))
	}, func(err error) {
		want, added := before, 0
		if err == nil {
			want, added = after, 1
		}
		got, total := h.values()
		if !maps.Equal(want, got) {
			t.Errorf("after %v: holds %v, want %v", err, got, want)
		}
		if total != records+added {
			t.Errorf("after %v: %d records, want %d", err, total, records+added)
		}
		records = total + 1
		s, err := store.Open(t.Context(), h.db)
		must(t, err)
		must(t, s.Check(t.Context()))
	})
}

// TestNoValueWithoutARecord breaks every step of a read in turn.
func TestNoValueWithoutARecord(t *testing.T) {
	h := newHouse(t)
	_, records := h.values()
	records++
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		who, err := w.Identify(t.Context(), warden.Credential{Bearer: h.token})
		if err != nil {
			return err
		}
		return second(w.ViewSecret(t.Context(), who, api.ViewSecret{Repo: repo, Environment: "production", Key: "A"}))
	}, func(err error) {
		added := 0
		if err == nil {
			added = 1
		}
		if _, total := h.values(); total != records+added {
			t.Errorf("after %v: %d records, want %d", err, total, records+added)
		} else {
			records = total + 1
		}
	})
}
