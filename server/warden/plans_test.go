package warden_test

import (
	"context"
	"fmt"
	"testing"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store/kv"
)

// meter counts the records that are read.
type meter struct {
	kv.DB
	read int
}

func (m *meter) View(ctx context.Context, fn func(kv.Reader) error) error {
	return m.DB.View(ctx, func(r kv.Reader) error { return fn(metered{r, m}) })
}

func (m *meter) Update(ctx context.Context, fn func(kv.Tx) error) error {
	return m.DB.Update(ctx, func(tx kv.Tx) error { return fn(meteredTx{metered{tx, m}, tx}) })
}

type metered struct {
	r kv.Reader
	m *meter
}

func (r metered) Get(key []byte) ([]byte, error) {
	r.m.read++
	return r.r.Get(key)
}

func (r metered) Scan(g kv.Range, fn func(key, value []byte) error) error {
	return r.r.Scan(g, func(key, value []byte) error {
		r.m.read++
		return fn(key, value)
	})
}

type meteredTx struct {
	metered
	tx kv.Tx
}

func (t meteredTx) Put(key, value []byte) error { return t.tx.Put(key, value) }
func (t meteredTx) Delete(key []byte) error     { return t.tx.Delete(key) }

// TestAChangeCostsTheSameHoweverManyVaultsThereAre fills an account with vaults:
// without a limit none of them is looked at, with one no more than it allows.
func TestAChangeCostsTheSameHoweverManyVaultsThereAre(t *testing.T) {
	for name, most := range map[string]int{"team": 0, "pro": 5 * 2} {
		plan, err := billing.Plans().Find(name)
		must(t, err)
		h := newHouse(t)
		m := &meter{DB: h.db}
		push := func() int {
			h.with = func(c *warden.Config) { c.Plan = plan }
			w := h.warden(m)
			ann := h.ann(w)
			m.read = 0
			must(t, second(w.Push(t.Context(), ann, pushOf(map[string]string{"A": "1", "B": "1", "C": "1"}))))
			return m.read
		}
		alone := push()
		h.with = func(*warden.Config) {}
		w := h.warden(h.db)
		for i := range 40 {
			must(t, second(w.CreateVault(t.Context(), h.ann(w), api.CreateVault{RepoFullName: fmt.Sprintf("ann/repo%d", i)})))
		}
		if among := push(); among > alone+most {
			t.Errorf("%s: %d reads with one vault, %d with 41", name, alone, among)
		}
	}
}
