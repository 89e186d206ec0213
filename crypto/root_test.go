package crypto

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestRootOpensUnderItsMaster(t *testing.T) {
	m, other := mustMaster(t), mustMaster(t)
	r, file, err := NewRoot(m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Destroy()
	got, err := m.OpenRoot(file)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Destroy()
	if got.Subkey("x") != r.Subkey("x") {
		t.Error("another root came out")
	}
	_, err = other.OpenRoot(file)
	wrong, ok := errors.AsType[*KeyError](err)
	if !ok || wrong.Wanted != m.Fingerprint() || wrong.Offered != other.Fingerprint() {
		t.Errorf("wrong master: %v", err)
	}
	everyDamage(file, func(what string, bad []byte) {
		if _, err := m.OpenRoot(bad); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrWrongKey) {
			t.Errorf("%s: %v", what, err)
		}
	})
}

func TestRootMadeWithThePublicHalfAloneIsRefused(t *testing.T) {
	m := mustMaster(t)
	to, err := parseRecipient(m.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range [][]byte{make([]byte, 32), make([]byte, 64), nil} {
		planted, err := encryptKey(payload, hintedRecipient{to})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.OpenRoot(planted); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", len(payload), err)
		}
	}
}

func TestRootMovesToANewMaster(t *testing.T) {
	old, next := mustMaster(t), mustMaster(t)
	r, _, err := NewRoot(old)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Destroy()
	file, err := next.WrapRoot(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := next.OpenRoot(file)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Destroy()
	if got.Subkey("x") != r.Subkey("x") {
		t.Error("another root came out")
	}
	if _, err := old.OpenRoot(file); !errors.Is(err, ErrWrongKey) {
		t.Errorf("old master: %v", err)
	}
}

func TestSubkeysDifferByPurposeAndRoot(t *testing.T) {
	a, b := testRoot(t, 1), testRoot(t, 2)
	seen := map[[KeySize]byte]string{}
	for name, key := range map[string][KeySize]byte{
		"a audit": a.Subkey("audit"), "a etag": a.Subkey("etag"), "a empty": a.Subkey(""), "b audit": b.Subkey("audit"),
	} {
		if twin, ok := seen[key]; ok {
			t.Errorf("%s and %s are equal", name, twin)
		}
		seen[key] = name
	}
	if first, again := a.Subkey("audit"), a.Subkey("audit"); first != again {
		t.Error("not deterministic")
	}
}

func TestASubDataKeyOpensWhatItsPurposeSealed(t *testing.T) {
	r := testRoot(t, 1)
	sealed := r.SubDataKey("tickets").Seal(nil, []byte("text"), RecordContext(id(1), "x"))
	if got, err := r.SubDataKey("tickets").Open(nil, sealed, RecordContext(id(1), "x")); err != nil || string(got) != "text" {
		t.Errorf("%q %v", got, err)
	}
	for name, other := range map[string]*DataKey{"purpose": r.SubDataKey("ticket"), "root": testRoot(t, 2).SubDataKey("tickets")} {
		if _, err := other.Open(nil, sealed, RecordContext(id(1), "x")); err == nil {
			t.Errorf("another %s opens it", name)
		}
	}
}

func TestDestroyedRootFailsEverywhere(t *testing.T) {
	m := mustMaster(t)
	r := newRoot(bytes.Repeat([]byte{1}, KeySize))
	_, file, err := r.NewDataKey(id(1))
	if err != nil {
		t.Fatal(err)
	}
	r.Destroy()
	r.Destroy()
	_, _, errNew := r.NewDataKey(id(1))
	_, errOpen := r.OpenDataKey(id(1), file)
	_, errWrap := m.WrapRoot(r)
	for _, err := range []error{errNew, errOpen, errWrap} {
		if !errors.Is(err, ErrDestroyed) {
			t.Error(err)
		}
	}
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "crypto: ") {
			t.Errorf("Subkey: recovered %q", text)
		}
	}()
	r.Subkey("x")
}

func TestRootMayBeDestroyedWhileInUse(t *testing.T) {
	r := newRoot(bytes.Repeat([]byte{1}, KeySize))
	_, file, err := r.NewDataKey(id(1))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				_, err := r.OpenDataKey(id(1), file)
				if errors.Is(err, ErrDestroyed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	r.Destroy()
	wg.Wait()
}
