package warden_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// Places of the log in the data, for tests that change it behind the warden's
// back.
const (
	tagRow        = 0x30
	tagEnd        = 0x31
	tagActorList  = 0x32
	tagVaultList  = 0x33
	tagBase       = 0x35
	tagCheckpoint = 0x36
)

func at(tag byte, number uint64) []byte { return binary.BigEndian.AppendUint64([]byte{tag}, number) }

// logHouse is a house whose log has some records and checkpoints.
func logHouse(t testing.TB, options ...func(*warden.Config)) (*house, *warden.Warden) {
	t.Helper()
	h := newHouse(t)
	w := h.wardenWith(kvtest.Twice(h.db), append(options, func(c *warden.Config) { c.TestOnlyCheckpoints = 5 })...)
	h.use(w, 12)
	eventually(t, func() bool { return len(h.rows(tagCheckpoint)) > 0 })
	return h, w
}

// eventually waits for what happens beside the requests.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it does not happen")
}

// wardenWith opens the house with a configuration of its own.
func (h *house) wardenWith(db kv.DB, options ...func(*warden.Config)) *warden.Warden {
	h.t.Helper()
	w := h.wardenBy(db, options...)
	if w == nil {
		h.t.Fatal("the house does not open")
	}
	return w
}

// wardenBy is wardenWith over a db that may fail, nil if it does.
func (h *house) wardenBy(db kv.DB, options ...func(*warden.Config)) *warden.Warden {
	h.t.Helper()
	s, err := store.Open(context.Background(), db)
	if err != nil {
		return nil
	}
	plan, err := billing.Plans().Find("")
	must(h.t, err)
	c := warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Plan: plan}
	for _, o := range options {
		o(&c)
	}
	w := warden.New(c)
	h.t.Cleanup(func() { _ = w.Close() })
	if _, err := w.Open(context.Background(), warden.Start{KeyFile: h.key}); err != nil {
		return nil
	}
	return w
}

// use leaves records behind.
func (h *house) use(w *warden.Warden, records int) {
	h.t.Helper()
	who := h.ann(w)
	for range records {
		must(h.t, second(w.ViewSecret(h.t.Context(), who, api.ViewSecret{Repo: repo, Environment: "production", Key: "A"})))
	}
}

func operator(t testing.TB, w *warden.Warden) warden.Caller {
	t.Helper()
	who, err := w.Identify(t.Context(), warden.Credential{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func verify(t testing.TB, w *warden.Warden) *api.AuditReport {
	t.Helper()
	r, err := w.VerifyAudit(t.Context(), operator(t, w))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func verifyFile(t testing.TB, w *warden.Warden, file []byte) *api.AuditReport {
	t.Helper()
	r, err := w.VerifyAuditFile(t.Context(), operator(t, w), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func export(t testing.TB, w *warden.Warden) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := w.ExportAudit(t.Context(), operator(t, w), &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// verdict is a report in one line.
func verdict(r *api.AuditReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "intact %v, complete %v", r.Intact, r.Complete)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "; %s: %s %d", f.Against, f.Kind, f.Number)
	}
	return b.String()
}

const sound = "intact true, complete true"

func (h *house) change(work func(kv.Tx) error) {
	h.t.Helper()
	must(h.t, h.db.Update(h.t.Context(), work))
}

// rows is every row under a tag.
func (h *house) rows(tag byte) (all [][2][]byte) {
	h.t.Helper()
	must(h.t, h.db.View(h.t.Context(), func(r kv.Reader) error {
		return r.Scan(kv.Prefix([]byte{tag}), func(k, v []byte) error {
			all = append(all, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
			return nil
		})
	}))
	return all
}

func TestAnUntouchedLogIsIntactAndComplete(t *testing.T) {
	h, w := logHouse(t)
	r := verify(t, w)
	rows := uint64(len(h.rows(tagRow)))
	if verdict(r) != sound || r.Source != "log" || r.Records != rows || r.First != 1 || r.Last != rows || r.Begins.Number != 0 || r.Ends.Number != rows {
		t.Errorf("%s: %+v", verdict(r), r)
	}
	if st := w.Status(t.Context()); st.AuditKey != r.PublicKey || st.AuditKey == "" {
		t.Errorf("status shows the key %q, the report %q", st.AuditKey, r.PublicKey)
	}
	must(t, w.Close())
	again := h.warden(h.db)
	h.use(again, 1)
	if got := verdict(verify(t, again)); got != sound {
		t.Errorf("after a restart: %s", got)
	}
}

func TestWhatIsDoneToTheLogIsNamed(t *testing.T) {
	drop := func(keys ...[]byte) func(*house, kv.Tx) error {
		return func(_ *house, tx kv.Tx) error {
			for _, k := range keys {
				if err := tx.Delete(k); err != nil {
					return err
				}
			}
			return nil
		}
	}
	cutTo := func(h *house, tx kv.Tx, last uint64) error {
		for _, row := range h.rows(tagRow)[last:] {
			if err := tx.Delete(row[0]); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		change func(h *house, tx kv.Tx) error
		want   string
	}{
		"one byte flipped": {func(h *house, tx kv.Tx) error {
			row := h.rows(tagRow)[6]
			row[1][100] ^= 1
			return tx.Put(row[0], row[1])
		}, "intact false, complete true; intact: altered 7"},
		"one dropped":   {drop(at(tagRow, 7)), "intact true, complete false; complete: missing 7"},
		"three dropped": {drop(at(tagRow, 7), at(tagRow, 8), at(tagRow, 9)), "intact true, complete false; complete: missing 7"},
		"two reordered": {func(h *house, tx kv.Tx) error {
			rows := h.rows(tagRow)
			return errors.Join(tx.Put(rows[6][0], rows[7][1]), tx.Put(rows[7][0], rows[6][1]))
		}, "intact false, complete true; intact: reordered 8"},
		"one copied over another": {func(h *house, tx kv.Tx) error {
			rows := h.rows(tagRow)
			return tx.Put(rows[6][0], rows[3][1])
		}, "intact false, complete false; intact: repeated 4; complete: missing 7"},
		"the tail cut off": {func(h *house, tx kv.Tx) error { return cutTo(h, tx, 13) }, "intact true, complete false; complete: cut 14"},
		"the tail and the end cut off": {func(h *house, tx kv.Tx) error { return errors.Join(cutTo(h, tx, 13), tx.Delete([]byte{tagEnd})) },
			"intact true, complete false; complete: altered 0"},
		"the tail, the end and the checkpoints cut off": {func(h *house, tx kv.Tx) error {
			err := errors.Join(cutTo(h, tx, 3), tx.Delete([]byte{tagEnd}))
			for _, row := range h.rows(tagCheckpoint) {
				err = errors.Join(err, tx.Delete(row[0]))
			}
			return err
		}, "intact true, complete false; complete: altered 0"},
		"a record of somebody else appended": {func(h *house, tx kv.Tx) error {
			rows := h.rows(tagRow)
			return tx.Put(at(tagRow, uint64(len(rows)+1)), rows[3][1])
		}, "intact false, complete true; intact: repeated 4"},
		"rubbish appended": {func(h *house, tx kv.Tx) error { return tx.Put(at(tagRow, uint64(len(h.rows(tagRow))+1)), []byte("x")) },
			"intact false, complete true; intact: foreign"},
		"the beginning dropped":    {drop([]byte{tagBase}), "intact true, complete false; complete: altered 0"},
		"the first record dropped": {drop(at(tagRow, 1)), "intact true, complete false; complete: missing 1"},
		"everything dropped": {func(h *house, tx kv.Tx) error {
			err := errors.Join(tx.Delete([]byte{tagBase}), tx.Delete([]byte{tagEnd}))
			for _, tag := range []byte{tagRow, tagActorList, tagVaultList, tagCheckpoint} {
				for _, row := range h.rows(tag) {
					err = errors.Join(err, tx.Delete(row[0]))
				}
			}
			return err
		}, "intact true, complete false; complete: altered 0"},
		"a record hidden from its vault": {func(h *house, tx kv.Tx) error { return tx.Delete(h.rows(tagVaultList)[3][0]) },
			"intact false, complete true; intact: unlisted"},
		"a record shown twice": {func(h *house, tx kv.Tx) error {
			last := h.rows(tagVaultList)
			row := last[len(last)-1]
			row[0][len(row[0])-1]++
			return tx.Put(row[0], row[1])
		}, "intact false, complete true; intact: foreign 0"},
		"a checkpoint changed": {func(h *house, tx kv.Tx) error {
			row := h.rows(tagCheckpoint)[0]
			row[1][20] ^= 1
			return tx.Put(row[0], row[1])
		}, "intact false, complete true; intact: altered"},
	} {
		t.Run(name, func(t *testing.T) {
			h, w := logHouse(t)
			h.change(func(tx kv.Tx) error { return c.change(h, tx) })
			if got := verdict(verify(t, w)); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestNothingIsHealedByGoingOn: once a log was tampered with, appending does not
// make it whole again.
func TestNothingIsHealedByGoingOn(t *testing.T) {
	for name, change := range map[string]func(*house, kv.Tx) error{
		"the end gone": func(_ *house, tx kv.Tx) error { return tx.Delete([]byte{tagEnd}) },
		"the tail gone with the end and the checkpoints": func(h *house, tx kv.Tx) error {
			err := tx.Delete([]byte{tagEnd})
			for _, row := range append(h.rows(tagRow)[6:], h.rows(tagCheckpoint)...) {
				err = errors.Join(err, tx.Delete(row[0]))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, w := logHouse(t)
			h.change(func(tx kv.Tx) error { return change(h, tx) })
			h.use(w, 20)
			must(t, w.Close())
			w = h.warden(h.db)
			h.use(w, 2)
			r := verify(t, w)
			if r.Complete || r.Faults[0].Kind != api.FaultMissing {
				t.Errorf("the data: %s", verdict(r))
			}
			r = verifyFile(t, w, export(t, w))
			if r.Complete || r.Faults[0].Kind != api.FaultMissing {
				t.Errorf("a file of it: %s", verdict(r))
			}
		})
	}
}

// TestNoStoredByteMayChange flips random bytes of everything that the log
// consists of.
func TestNoStoredByteMayChange(t *testing.T) {
	h, w := logHouse(t)
	for _, tag := range []byte{tagRow, tagEnd, tagActorList, tagVaultList, tagBase, tagCheckpoint} {
		rows := h.rows(tag)
		for range 60 {
			row := rows[rand.IntN(len(rows))]
			changed := bytes.Clone(row[1])
			i := rand.IntN(len(changed))
			changed[i] ^= 1 << rand.IntN(8)
			h.change(func(tx kv.Tx) error { return tx.Put(row[0], changed) })
			r := verify(t, w)
			if len(r.Faults) == 0 {
				t.Errorf("byte %d of %x: not seen", i, row[0])
			} else if tag == tagRow && (r.Faults[0].Number != binary.BigEndian.Uint64(row[0][1:]) || r.Faults[0].Kind != api.FaultAltered) {
				t.Errorf("byte %d of %x: %s", i, row[0], verdict(r))
			}
			h.change(func(tx kv.Tx) error { return tx.Put(row[0], row[1]) })
		}
	}
	if got := verdict(verify(t, w)); got != sound {
		t.Errorf("in the end: %s", got)
	}
}
