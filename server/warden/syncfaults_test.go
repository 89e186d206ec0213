package warden_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// TestNoSecretLeavesAMark runs all there is with values and tokens that are easy
// to find, and looks for them.
func TestNoSecretLeavesAMark(t *testing.T) {
	var log bytes.Buffer
	h := newHarbour(t)
	h.with = func(c *warden.Config) {
		c.Hosting = map[string]hosting.Provider{hosting.Vercel: h.g}
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	h.open(h.db)
	h.fill(map[string]string{"A": "CANARY-value", "B": "CANARY-value-${{x}}"})
	h.shelf.says(func() {
		h.shelf.put("production", "C", shelved{value: "CANARY-theirs"})
		h.shelf.put("production", "D", shelved{value: "CANARY-hidden", hidden: true})
		h.shelf.refuse["A"] = hosting.CodeInvalid
	})
	h.preview(h.query())
	h.sync(h.query())
	h.shelf.says(func() { clear(h.shelf.refuse) })
	h.saveLink()
	h.sync(h.query())
	h.sync(h.query(func(q *api.SyncQuery) { q.Direction = api.SyncPull }))
	h.sleep(2 * time.Hour)
	h.sync(h.query(func(q *api.SyncQuery) { q.AllowDelete = true }))
	must(t, second(h.w.ConnectTicket(t.Context(), h.ann(h.w), api.ProviderRef{Provider: hosting.Vercel})))
	must(t, h.w.Close())
	seen := false
	must(t, h.db.View(t.Context(), func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, v []byte) error {
			seen = seen || bytes.Contains(v, []byte("secrets_synced"))
			if bytes.Contains(k, []byte("CANARY")) || bytes.Contains(v, []byte("CANARY")) {
				t.Errorf("in the record %x: %q", k, v)
			}
			return nil
		})
	}))
	if !seen {
		t.Error("nothing was looked at")
	}
	if strings.Contains(log.String(), "CANARY") {
		t.Errorf("in the log: %s", log.String())
	}
}

// TestWhatFailsAnywhereDidNothing breaks every step in turn.
func TestWhatFailsAnywhereDidNothing(t *testing.T) {
	for name, op := range map[string]func(*dock, *warden.Warden, warden.Caller) error{
		"pull": func(d *dock, w *warden.Warden, who warden.Caller) error {
			return second(w.Sync(d.t.Context(), who, run(d.query(func(q *api.SyncQuery) { q.Direction, q.AllowDelete = api.SyncPull, true }))))
		},
		"link": func(d *dock, w *warden.Warden, who warden.Caller) error {
			q := d.query()
			return second(w.SaveLink(d.t.Context(), who, api.SaveLink{Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID}))
		},
		"connect": func(d *dock, w *warden.Warden, who warden.Caller) error {
			return second(w.Connect(d.t.Context(), who, api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret(goodToken), TeamID: "team"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDock(t)
			d.shelf.says(func() {
				d.shelf.teams = []string{"team"}
				d.shelf.put("production", "A", shelved{value: "2"})
				d.shelf.put("production", "NEW", shelved{value: "3"})
			})
			before := d.state()
			kvtest.EveryFault(t, d.db, func(db kv.DB) error {
				w := d.warden(db)
				if w == nil {
					return kvtest.ErrFault
				}
				defer func() { _ = w.Close() }()
				who, err := w.Identify(t.Context(), warden.Credential{Bearer: d.token})
				if err != nil {
					return err
				}
				return op(d, w, who)
			}, func(err error) {
				if after := d.state(); err != nil && after != before {
					t.Errorf("after %v: %s, was %s", err, after, before)
				} else if err == nil && after == before {
					t.Error("it did nothing")
				}
				d.sound()
			})
		})
	}
}

// state is what a dock holds, without what comes from looking.
func (d *dock) state() string {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	var b strings.Builder
	must(d.t, s.View(d.t.Context(), func(r store.Reader) error {
		vault, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		envs, err := r.Environments(vault)
		if err != nil {
			return err
		}
		for _, e := range envs {
			b.WriteString(e.Name)
			newest, err := r.Newest(e)
			if err != nil {
				return err
			}
			for _, n := range newest {
				b.WriteString(" " + n.Key + " " + n.Version.String())
			}
		}
		links, err := r.SyncLinks(vault)
		if err != nil {
			return err
		}
		runs, err := r.SyncRunsOf(vault)
		if err != nil {
			return err
		}
		for _, l := range links {
			b.WriteString(" link " + l.ID.String())
		}
		for _, run := range runs {
			b.WriteString(" run " + run.ID.String())
		}
		first, err := store.ParseID(d.conn)
		if err != nil {
			return err
		}
		mine, err := r.Connection(first)
		if err != nil {
			return err
		}
		conns, err := r.ConnectionsOf(mine.User)
		for _, c := range conns {
			b.WriteString(" connection " + c.ID.String())
		}
		acts, _, err2 := r.ActivityIn(vault, 1000, 0)
		for _, a := range acts {
			b.WriteString(" " + a.ID.String())
		}
		return errors.Join(err, err2)
	}))
	return b.String()
}
