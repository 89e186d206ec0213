package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnAccountIsFoundByItsPresentCustomerOnly(t *testing.T) {
	s := openStore(t)
	acme := AccountOfOrg("2")
	for _, b := range []Billing{
		{Account: acme, Given: "pro"},
		{Account: acme, Customer: "cus_1", Status: "active"},
		{Account: acme, Customer: "cus_2", Gone: "cus_1"},
		{Account: AccountOfOrg("22"), Customer: "cus_3"},
	} {
		must(t, s.Update(ctx, func(tx Tx) error { return tx.PutBilling(b) }))
	}
	must(t, s.View(ctx, func(r Reader) error {
		b, err := r.Billing(acme)
		must(t, err)
		if diff := cmp.Diff(Billing{Account: acme, Customer: "cus_2", Gone: "cus_1"}, b); diff != "" {
			t.Error(diff)
		}
		if account, err := r.AccountOfCustomer("cus_2"); err != nil || account != acme {
			t.Errorf("got %q, %v", account, err)
		}
		if account, err := r.AccountOfCustomer("cus_1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the customer of before leads to %q, %v", account, err)
		}
		if b, err := r.Billing(AccountOfOrg("3")); err != nil || b != (Billing{Account: AccountOfOrg("3")}) {
			t.Errorf("of an unknown account: %+v, %v", b, err)
		}
		all, err := r.Billings()
		if err != nil || len(all) != 2 {
			t.Errorf("got %+v, %v", all, err)
		}
		return nil
	}))
}

func TestEventsAreForgottenWhenTheyAreOld(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(tx.PutBillingEvent(BillingEvent{ID: []byte("a"), At: 5}), tx.PutBillingEvent(BillingEvent{ID: []byte("b"), At: 6}))
	}))
	must(t, s.Update(ctx, func(tx Tx) error {
		old, err := tx.BillingEventsBefore(6)
		if err != nil || len(old) != 1 {
			t.Errorf("got %v, %v", old, err)
		}
		for _, e := range old {
			if gone, err := tx.DeleteBillingEvent(e); err != nil || !gone {
				t.Errorf("got %v, %v", gone, err)
			}
			if gone, err := tx.DeleteBillingEvent(e); err != nil || gone {
				t.Errorf("once more: %v, %v", gone, err)
			}
		}
		return nil
	}))
	must(t, s.View(ctx, func(r Reader) error {
		a, err := r.TookBillingEvent([]byte("a"))
		must(t, err)
		b, err := r.TookBillingEvent([]byte("b"))
		if err != nil || a || !b {
			t.Errorf("a %v, b %v, %v", a, b, err)
		}
		return nil
	}))
}
