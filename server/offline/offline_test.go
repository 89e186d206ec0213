package offline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	place = Place{"https://vault.example", "ann/app", "production", "ann"}
	label = Label{Place: place, Revision: 7, Taken: time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)}
	held  = map[string]string{"A": "canary", "PEM": "a\nb <&> é\u2028", "EMPTY": ""}
)

func newKey(t testing.TB) Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t testing.TB, k Key) []byte {
	t.Helper()
	data, err := Seal(k, label, held)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestACopyOpensAsWhatItIs(t *testing.T) {
	k := newKey(t)
	data := seal(t, k)
	if strings.Contains(string(data), "canary") {
		t.Error("a value stands in the copy")
	}
	l, values, err := Open(k, place, data)
	if err != nil {
		t.Fatal(err)
	}
	want := label
	want.KeyID = k.ID()
	if diff := cmp.Diff(&want, l) + cmp.Diff(held, values); diff != "" {
		t.Error(diff)
	}
	if l, err := ReadLabel(data); err != nil || *l != want {
		t.Errorf("label %v, %v", l, err)
	}
}

func TestACopyOfSomethingElseDoesNotOpen(t *testing.T) {
	k := newKey(t)
	data := seal(t, k)
	for _, change := range []func(*Place){
		func(p *Place) { p.Server = "https://other.example" },
		func(p *Place) { p.Repository = "ann/other" },
		func(p *Place) { p.Environment = "staging" },
		func(p *Place) { p.User = "bob" },
	} {
		other := place
		change(&other)
		if _, _, err := Open(k, other, data); !errors.Is(err, ErrOther) {
			t.Errorf("%v: got %v", other, err)
		}
	}
	if _, _, err := Open(newKey(t), place, data); !errors.Is(err, ErrKey) {
		t.Errorf("another key: got %v", err)
	}
}

func TestNoByteOfACopyMayChange(t *testing.T) {
	k := newKey(t)
	data := seal(t, k)
	for i := range data {
		data[i] ^= 1
		if _, values, err := Open(k, place, data); err == nil {
			t.Errorf("byte %d changed, and it opens with %d values", i, len(values))
		}
		data[i] ^= 1
	}
	for n := range len(data) {
		if _, _, err := Open(k, place, data[:n]); err == nil {
			t.Errorf("cut to %d bytes it opens", n)
		}
	}
	// A label edited with care: the time moved, all else as it was.
	moved := strings.Replace(string(data), "2026-11-20", "2026-11-21", 1)
	if _, _, err := Open(k, place, []byte(moved)); !errors.Is(err, ErrDamaged) {
		t.Errorf("with another time: got %v", err)
	}
}

func TestAKeyDoesNotPrintItself(t *testing.T) {
	k := newKey(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		if text := fmt.Sprintf(verb, k); text != k.ID() {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	back, err := ParseKey(k.Text() + "\n")
	if err != nil || back != k {
		t.Errorf("read back: %v", err)
	}
	for _, bad := range []string{"", "xyz", k.Text() + "00", k.Text()[2:]} {
		if _, err := ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("got %v", err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := newKey(f)
	data := seal(f, k)
	f.Add(data)
	f.Add([]byte(magic + "{}\n"))
	f.Fuzz(func(t *testing.T, other []byte) {
		if _, _, err := Open(k, place, other); err == nil && string(other) != string(data) {
			t.Errorf("%q opens", other)
		}
	})
}
