package warden_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
)

func (h *house) operator(w *warden.Warden) warden.Caller {
	h.t.Helper()
	who, err := w.Identify(h.t.Context(), warden.Credential{Operator: true})
	must(h.t, err)
	return who
}

// rotate replaces the data key of the house's vault, to the end.
func (h *house) rotate(w *warden.Warden) {
	h.t.Helper()
	must(h.t, second(w.Rotate(h.t.Context(), h.operator(w), api.Rotate{RepoFullName: repo})))
	must(h.t, w.GoOnRotating(h.t.Context()))
}

// rekey replaces master and root key, to the end.
func (h *house) rekey(w *warden.Warden, req api.Rekey) *api.Rekeyed {
	h.t.Helper()
	made, err := w.Rekey(h.t.Context(), h.operator(w), req)
	must(h.t, err)
	must(h.t, w.GoOnRotating(h.t.Context()))
	return made
}

// everything is all that a user can see of the vault, values of old versions and what
// lies in the trash included, but for when the log was looked at.
func (h *house) everything(w *warden.Warden) map[string]string {
	h.t.Helper()
	ctx, who, ref := h.t.Context(), h.ann(w), api.Ref{Owner: "ann", Repo: "api"}
	all := make(map[string]string)
	vault, err := w.Vault(ctx, who, ref)
	must(h.t, err)
	all["vault"] = asText(h.t, vault)
	for _, e := range vault.EnvironmentDetails {
		got, err := w.Pull(ctx, who, api.PullSecrets{Repo: repo, Environment: e.Name, Format: api.FormatJSON})
		must(h.t, err)
		all["pull "+e.Name] = asText(h.t, got.Secrets) + fmt.Sprint(got.Revision)
		all["tag "+e.Name] = got.ETag
	}
	found, err := w.Secrets(ctx, who, api.ListSecrets{PageRef: api.PageRef{Ref: ref, Page: api.Page{Limit: new(100)}}})
	must(h.t, err)
	for _, s := range found.Items {
		all["secret "+s.ID] = asText(h.t, s)
		versions, err := w.Versions(ctx, who, secretRef(s.ID))
		must(h.t, err)
		for _, v := range versions {
			value, err := w.RevealVersion(ctx, who, api.VersionRef{SecretRef: secretRef(s.ID), VersionID: v.ID})
			must(h.t, err)
			all[fmt.Sprintf("version %s %d", s.ID, v.VersionNumber)] = asText(h.t, value) + fmt.Sprint(v.CreatedAt)
		}
	}
	trash, err := w.Trash(ctx, who, api.PageRef{Ref: ref})
	must(h.t, err)
	for _, s := range trash.Items {
		all["trash "+s.ID] = asText(h.t, s)
	}
	return all
}

func asText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	if strings.Contains(string(text), "redacted") {
		t.Fatalf("values cannot be compared: %s", text)
	}
	return string(text)
}

// Tags of the store: those of rows that are sealed under a vault's data key, and those
// of all others that a vault may have. Who adds a tag decides here which it is.
var (
	sealedTags   = map[byte]string{0x26: "newest", 0x2a: "version", 0x65: "ledger key"}
	unsealedTags = map[byte]string{
		0x06: "rotation", 0x20: "vault", 0x21: "vault by name", 0x22: "vault by repository", 0x23: "vault by account", 0x24: "data key",
		0x25: "environment", 0x27: "secret", 0x28: "trash", 0x29: "trash due", 0x2b: "revision", 0x2c: "override", 0x30: "activity",
		0x33: "activity of a vault", 0x62: "link", 0x63: "link by connection", 0x64: "automatic link", 0x66: "ledger", 0x67: "sync run", 0x68: "sync run by vault",
	}
)

// oldRows counts the rows of a vault that lie under another data key than its newest,
// and fails for rows of which it is not known whether anything is sealed in them.
func (h *house) oldRows() (old int) {
	h.t.Helper()
	var id []byte
	must(h.t, h.db.View(h.t.Context(), func(r kv.Reader) (err error) {
		id, err = r.Get(append([]byte{0x21}, repo...))
		id = slices.Clone(id)
		return err
	}))
	var now uint64
	var ledger store.LedgerKey
	s, err := store.Open(h.t.Context(), h.db)
	must(h.t, err)
	must(h.t, s.View(h.t.Context(), func(r store.Reader) error {
		v, err := r.Vault(store.ID(id))
		now = v.Generation
		var missing error
		if ledger, missing = r.LedgerKey(v.ID); missing != nil {
			ledger.Generation = now
		}
		keys, errKeys := r.VaultKeys(v.ID)
		if len(keys) > 1 {
			old++
		}
		return errors.Join(err, errKeys)
	}))
	if ledger.Generation != now {
		old++
	}
	must(h.t, h.db.View(h.t.Context(), func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, v []byte) error {
			if !strings.Contains(string(k), string(id)) && !strings.Contains(string(v), string(id)) {
				return nil
			}
			switch {
			case k[0] == 0x26 || k[0] == 0x2a:
				if uint64(binary.BigEndian.Uint32(v[37:])) != now {
					old++
				}
			case sealedTags[k[0]] == "" && unsealedTags[k[0]] == "":
				h.t.Errorf("rows with the tag %#x belong to a vault: say whether they are sealed under its data key, and rotate them if so", k[0])
			}
			return nil
		})
	}))
	return old
}

// furnish gives the vault a past, a trash, three environments and a sync.
func (d *dock) furnish() {
	d.t.Helper()
	for i := range 60 {
		d.fill(map[string]string{"A": fmt.Sprint(i), "B": "2", "C": strings.Repeat("x", 50+i)})
	}
	staging := pushOf(map[string]string{"S": "s", "LONG": strings.Repeat("y", 60_000)})
	staging.Environment = "staging"
	must(d.t, second(d.w.Push(d.t.Context(), d.ann(d.w), staging)))
	d.sync(d.query())
	d.fill(map[string]string{"A": "59", "B": "2"}) // C is in the trash
}

func TestARotationChangesNothingButKeys(t *testing.T) {
	d := newDock(t)
	d.furnish()
	before := d.everything(d.w)
	for range 2 {
		must(t, second(d.w.Rotate(t.Context(), d.operator(d.w), api.Rotate{RepoFullName: repo})))
		must(t, d.w.GoOnRotating(t.Context()))
		if n := d.oldRows(); n != 0 {
			t.Errorf("%d rows are not sealed under the new key", n)
		}
		d.check()
		if diff := cmp.Diff(before, d.everything(d.w)); diff != "" {
			t.Errorf("with the keys in memory: %s", diff)
		}
		d.open(d.db)
		if diff := cmp.Diff(before, d.everything(d.w)); diff != "" {
			t.Errorf("after a restart: %s", diff)
		}
	}
	if p := d.preview(d.query()); len(p.ToUpdate)+len(p.ToCreate) != 0 {
		t.Errorf("the fingerprints are not what they were: %+v", p)
	}
	id := d.ids(d.w)
	trash, err := d.w.Trash(t.Context(), d.ann(d.w), api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}})
	must(t, err)
	must(t, second(d.w.RestoreSecret(t.Context(), d.ann(d.w), secretRef(trash.Items[0].ID))))
	if want := map[string]string{"A": "59", "B": "2", "C": strings.Repeat("x", 109)}; !maps.Equal(want, d.ours()) || id["C"] != "" {
		t.Errorf("out of the trash came %v", d.ours())
	}
}

// dying is a database whose process is killed after some commits: what it does then
// has no effect, and is answered with an error.
type dying struct {
	kv.DB
	left atomic.Int64
}

func (d *dying) View(ctx context.Context, fn func(kv.Reader) error) error {
	if d.left.Load() < 0 {
		return kv.ErrClosed
	}
	return d.DB.View(ctx, fn)
}

func (d *dying) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if d.left.Add(-1) < 0 {
		return kv.ErrClosed
	}
	return d.DB.Update(ctx, fn)
}

// copied is another house with the same in it.
func (h *house) copied(t *testing.T) *house {
	t.Helper()
	other := bareHouse(t, h.with)
	other.key, other.token = h.key, h.token
	must(t, h.db.View(t.Context(), func(r kv.Reader) error {
		return other.db.Update(t.Context(), func(tx kv.Tx) error {
			return r.Scan(kv.Range{}, func(k, v []byte) error { return tx.Put(slices.Clone(k), slices.Clone(v)) })
		})
	}))
	return other
}

// killedAnywhere does something to a copy of the house, is killed after each number of
// commits in turn, and then wants the next start to end it. It returns how often it
// was killed in the middle.
func (h *house) killedAnywhere(t *testing.T, ask func(*warden.Warden, warden.Caller) error, check func(*house, *warden.Warden)) (kills int) {
	t.Helper()
	for n := int64(1); ; n++ {
		c := h.copied(t)
		db := &dying{DB: c.db}
		db.left.Store(1 << 40)
		w := c.warden(db)
		who := c.operator(w)
		db.left.Store(n)
		err := ask(w, who)
		if err == nil {
			err = w.GoOnRotating(t.Context())
		}
		db.left.Store(-1)
		_ = w.Close()
		w = c.warden(c.db)
		must(t, w.GoOnRotating(t.Context()))
		c.check()
		check(c, w)
		if err == nil || t.Failed() {
			return int(n - 1)
		}
	}
}

func TestARotationCanBeKilledAnywhere(t *testing.T) {
	d := newDock(t)
	d.furnish()
	must(t, second(d.w.CreateVault(t.Context(), d.ann(d.w), api.CreateVault{RepoFullName: "ann/other"})))
	before := d.everything(d.w)
	kills := d.killedAnywhere(t, func(w *warden.Warden, who warden.Caller) error {
		return second(w.Rotate(t.Context(), who, api.Rotate{All: true}))
	}, func(c *house, w *warden.Warden) {
		if c.generation() == 2 && c.oldRows() != 0 {
			t.Error("not all is sealed under the new key")
		}
		if diff := cmp.Diff(before, c.everything(w)); diff != "" {
			t.Error(diff)
		}
	})
	if kills < 9 {
		t.Errorf("it was killed %d times only", kills)
	}
}

// TestTheScanFindsWhatIsNotRotated proves oldRows, by which others are judged.
func TestTheScanFindsWhatIsNotRotated(t *testing.T) {
	d := newDock(t)
	d.furnish()
	if n := d.oldRows(); n != 0 {
		t.Fatalf("%d old rows before anything", n)
	}
	db := &dying{DB: d.db}
	db.left.Store(1 << 40)
	w := d.warden(db)
	who := d.operator(w)
	db.left.Store(1)
	must(t, second(w.Rotate(t.Context(), who, api.Rotate{RepoFullName: repo})))
	if n := d.oldRows(); n != (61+2+61+1+1)+4+1+1 {
		t.Errorf("found %d old rows: there are the versions of five secrets, the newest values of four, an old key, and that of the ledger", n)
	}
}

func (h *house) generation() (n uint64) {
	h.t.Helper()
	s, err := store.Open(h.t.Context(), h.db)
	must(h.t, err)
	must(h.t, s.View(h.t.Context(), func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		v, err := r.Vault(id)
		n = v.Generation
		return err
	}))
	return n
}

func TestARekeyCanBeKilledAnywhere(t *testing.T) {
	d := newDock(t)
	d.furnish()
	for i := range 130 {
		must(t, second(d.w.CreateVault(t.Context(), d.ann(d.w), api.CreateVault{RepoFullName: fmt.Sprintf("ann/v%d", i)})))
	}
	before := untagged(d.everything(d.w))
	kills := d.killedAnywhere(t, func(w *warden.Warden, who warden.Caller) error {
		return second(w.Rekey(t.Context(), who, api.Rekey{}))
	}, func(c *house, w *warden.Warden) {
		if diff := cmp.Diff(before, untagged(c.everything(w))); diff != "" {
			t.Error(diff)
		}
		state, err := w.Rotations(t.Context(), c.operator(w), api.Empty{})
		must(t, err)
		if len(state.UnderWay) != 0 {
			t.Errorf("still under way: %+v", state.UnderWay)
		}
	})
	if kills < 5 {
		t.Errorf("it was killed %d times only", kills)
	}
}

// untagged leaves the entity tags out, which follow the root key.
func untagged(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(k, _ string) bool { return strings.HasPrefix(k, "tag ") })
	return all
}

// TestNothingIsLostBesideRotations has writers and readers go on while every key is
// replaced, again and again.
func TestNothingIsLostBesideRotations(t *testing.T) {
	d := newDock(t)
	d.furnish()
	ctx, who := t.Context(), d.ann(d.w)
	var stop atomic.Bool
	var group sync.WaitGroup
	last := make([]atomic.Int64, 4)
	for i := range last {
		group.Go(func() {
			for n := int64(1); !stop.Load(); n++ {
				req := pushOf(map[string]string{fmt.Sprintf("W%d", i): fmt.Sprint(n)})
				req.Mode = new(api.ModeMerge)
				if err := second(d.w.Push(ctx, who, req)); err != nil {
					t.Errorf("push: %v", err)
					return
				}
				last[i].Store(n)
			}
		})
	}
	for range 2 {
		group.Go(func() {
			for !stop.Load() {
				got, err := d.w.Pull(ctx, who, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON})
				if err != nil || got.Secrets["B"] != "2" {
					t.Errorf("pull: %v", err)
					return
				}
			}
		})
	}
	var vaults atomic.Int64
	group.Go(func() {
		for !stop.Load() && vaults.Load() < 60 {
			name := fmt.Sprintf("ann/v%d", vaults.Load())
			if err := second(d.w.CreateVault(ctx, who, api.CreateVault{RepoFullName: name})); err != nil {
				t.Errorf("vault: %v", err)
				return
			}
			vaults.Add(1)
		}
	})
	for range 4 {
		d.rotate(d.w)
		d.rekey(d.w, api.Rekey{})
		must(t, second(d.w.Rotate(ctx, d.operator(d.w), api.Rotate{All: true})))
		must(t, d.w.GoOnRotating(ctx))
	}
	for range 30 { // and with one still under way when the next begins
		_, errRotate := d.w.Rotate(ctx, d.operator(d.w), api.Rotate{All: true})
		_, errRekey := d.w.Rekey(ctx, d.operator(d.w), api.Rekey{})
		for _, err := range []error{errRotate, errRekey} {
			if e, ok := errors.AsType[*api.Error](err); err != nil && (!ok || e.Code != api.Conflict) {
				t.Errorf("replace keys: %v", err)
			}
		}
	}
	must(t, d.w.GoOnRotating(ctx))
	stop.Store(true)
	group.Wait()
	if n := d.oldRows(); n != 0 {
		t.Errorf("%d rows are not sealed under the new key", n)
	}
	d.check()
	d.open(d.db)
	ours := d.ours()
	for i := range last {
		if got, want := ours[fmt.Sprintf("W%d", i)], fmt.Sprint(last[i].Load()); got != want {
			t.Errorf("writer %d: %s is there, %s was acknowledged", i, got, want)
		}
	}
	for i := range vaults.Load() {
		req := pushOf(map[string]string{"K": "v"})
		req.RepoFullName = fmt.Sprintf("ann/v%d", i)
		must(t, second(d.w.Push(t.Context(), d.ann(d.w), req)))
	}
}
