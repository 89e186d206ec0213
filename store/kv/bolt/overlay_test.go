package bolt

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/store/kv"
)

func TestOverlayAgreesWithAMap(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 20+rnd.IntN(3000))
		for i := range script {
			script[i] = byte(rnd.Uint32())
		}
		runOverlay(t, script)
	}
}

func FuzzOverlay(f *testing.F) {
	f.Add([]byte("\x00a\x01b\x02c\x03d\x04e\x05f\x06g\x07h"))
	f.Add(bytes.Repeat([]byte("\x00k\x08l\x10m\x05\x00"), 50))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 4096 {
			t.Skip()
		}
		runOverlay(t, script)
	})
}

// runOverlay plays a script of two bytes a step against a database and a map.
// A step writes, deletes, scans, or ends the update, well or badly.
func runOverlay(t *testing.T, script []byte) {
	t.Helper()
	d := open(t, Options{NoSync: true})
	model := map[string]string{}
	for len(script) >= 2 {
		inner := maps.Clone(model)
		commit := false
		err := d.Update(background, func(tx kv.Tx) error {
			for n := 0; len(script) >= 2; n++ {
				op, arg := script[0], script[1]
				script = script[2:]
				if op%64 == 63 {
					commit = arg%3 != 0
					break
				}
				if err := step(tx, inner, op, arg, fmt.Sprint(len(script))); err != nil {
					return err
				}
			}
			if !commit {
				return errVanished
			}
			return nil
		})
		if commit {
			model = inner
		}
		if commit != (err == nil) || err != nil && err != errVanished {
			t.Fatalf("update: %v", err)
		}
		err = d.View(background, func(r kv.Reader) error { return sameScan(r, model, kv.Range{}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Check(background); err != nil {
		t.Fatal(err)
	}
}

func step(tx kv.Tx, model map[string]string, op, arg byte, value string) error {
	key := fmt.Sprintf("k%03d", arg)
	switch {
	case op%8 < 4:
		model[key] = value
		return tx.Put([]byte(key), []byte(value))
	case op%8 < 6:
		delete(model, key)
		return tx.Delete([]byte(key))
	case op%8 == 6:
		v, err := tx.Get([]byte(key))
		if want, ok := model[key]; ok != (err == nil) || string(v) != want {
			return fmt.Errorf("%s is %q, %v, want %q", key, v, err, want)
		}
		return nil
	}
	r := kv.Range{Reverse: op&8 != 0, Limit: int(op>>4) % 4 * 7}
	if arg%2 == 0 {
		r.Start = []byte(key)
	}
	if arg%3 == 0 {
		r.End = fmt.Appendf(nil, "k%03d", int(arg)+int(op))
	}
	return sameScan(tx, model, r)
}

// sameScan compares a scan with the same range of model.
func sameScan(r kv.Reader, model map[string]string, g kv.Range) error {
	var want, got []string
	for _, k := range slices.Sorted(maps.Keys(model)) {
		if g.Contains([]byte(k)) {
			want = append(want, k+"="+model[k])
		}
	}
	if g.Reverse {
		slices.Reverse(want)
	}
	if g.Limit > 0 && len(want) > g.Limit {
		want = want[:g.Limit]
	}
	err := r.Scan(g, func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	})
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		err = fmt.Errorf("scan of %+v (-want +got):\n%s", g, diff)
	}
	return err
}

func TestOverlayForgetsTheBytesOfCallers(t *testing.T) {
	var o overlay
	for i := range 1000 {
		o.put(fmt.Appendf(nil, "%d", i*7919%1000), []byte("value"))
	}
	o.undo()
	for i := range 1000 {
		o.put(fmt.Appendf(nil, "%d", i), []byte("value"))
	}
	o.keep()
	o.reset()
	for _, block := range append(o.spare, o.blocks...) {
		for _, e := range block[:cap(block)] {
			if e.key != nil || e.value != nil {
				t.Fatalf("entry %q is still referred to", e.key)
			}
		}
	}
}
