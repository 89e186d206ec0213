package store

import (
	"errors"
	"testing"
)

func TestARememberedRecordIsTheOneOfTheTransaction(t *testing.T) {
	s := openStore(t)
	name := func(r Reader) string {
		u, err := r.User(id(1))
		must(t, err)
		return u.Login
	}
	write := func(tx Tx, login string) error { return tx.PutUser(User{ID: id(1), Login: login}) }
	must(t, s.Update(ctx, func(tx Tx) error { return write(tx, "ann") }))
	must(t, s.View(ctx, func(r Reader) error {
		if got := name(r); got != "ann" {
			t.Errorf("got %s, want ann", got)
		}
		return nil
	}))
	refused := errors.New("refused")
	err := s.Update(ctx, func(tx Tx) error {
		must(t, write(tx, "eve"))
		if got := name(tx.Reader); got != "eve" {
			t.Errorf("inside the transaction: got %s, want eve", got)
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	must(t, s.View(ctx, func(r Reader) error {
		if got := name(r); got != "ann" {
			t.Errorf("after a transaction that failed: got %s, want ann", got)
		}
		return nil
	}))
}

func TestAMemoIsBounded(t *testing.T) {
	var m memo[User]
	for n := range uint64(maxRemembered + 10) {
		m.keep(string(key(tagUser, n)), remembered[User]{})
	}
	if len(m.of) != maxRemembered {
		t.Errorf("it remembers %d records, want %d", len(m.of), maxRemembered)
	}
}
