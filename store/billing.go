package store

import "coffer/store/kv"

// Billing is what gives an account its plan: what the operator gave it, its one
// trial, and its subscription as the payment provider said last. An account
// without any of it has no record.
type Billing struct {
	Account string `cbor:"1,keyasint"`
	Given   string `cbor:"2,keyasint"` // plan that the operator gave it, or ""

	TrialStarted   Millis `cbor:"3,keyasint"`
	TrialEnds      Millis `cbor:"4,keyasint"`
	TrialConverted Millis `cbor:"5,keyasint"` // when a subscription was confirmed while it ran
	TrialExpired   Millis `cbor:"6,keyasint"` // when its end was recorded; its end itself is TrialEnds

	Customer     string `cbor:"10,keyasint"` // at the payment provider, like all that follows
	Gone         string `cbor:"11,keyasint"` // customer that it had before, and that was deleted there
	Subscription string `cbor:"12,keyasint"`
	Status       string `cbor:"13,keyasint"` // in the provider's words; "" when there was never a subscription
	Plan         string `cbor:"14,keyasint"` // that is subscribed to, or "" when its price is none of ours
	Price        string `cbor:"15,keyasint"` // id of that price
	PeriodEnd    Millis `cbor:"16,keyasint"`
	Canceling    bool   `cbor:"17,keyasint"` // it ends with the period
}

// BillingEvent is an event of the payment provider that took effect: it is not
// taken again.
type BillingEvent struct {
	ID []byte `cbor:"1,keyasint"` // SHA-256 of the provider's id for it
	At Millis `cbor:"2,keyasint"`
}

var (
	billings      = table[Billing]{tagBilling, "billing state"}
	billingEvents = table[BillingEvent]{tagBillingEvent, "payment event"}
)

// Billing is what is known of an account, with nothing in it when that is so.
func (r Reader) Billing(account string) (Billing, error) {
	b, err := billings.get(r.kv, account)
	if isNotFound(err) {
		return Billing{Account: account}, nil
	}
	return b, err
}

// Billings lists all accounts of which something is known.
func (r Reader) Billings() ([]Billing, error) { return billings.list(r.kv) }

// AccountOfCustomer is the account of a customer of the payment provider.
func (r Reader) AccountOfCustomer(customer string) (string, error) {
	b, err := r.kv.Get(key(tagBillingCustomer, customer))
	return string(b), err
}

// PutBilling writes what is known of an account.
func (tx Tx) PutBilling(b Billing) error {
	old, err := tx.Billing(b.Account)
	if err != nil {
		return err
	}
	if old.Customer != "" && old.Customer != b.Customer {
		if err := tx.kv.Delete(key(tagBillingCustomer, old.Customer)); err != nil {
			return err
		}
	}
	if b.Customer != "" {
		if err := tx.kv.Put(key(tagBillingCustomer, b.Customer), []byte(b.Account)); err != nil {
			return err
		}
	}
	return billings.put(tx.kv, b, b.Account)
}

// TookBillingEvent reports whether an event took effect before.
func (r Reader) TookBillingEvent(id []byte) (bool, error) {
	return exists(r.kv, key(tagBillingEvent, id))
}

// PutBillingEvent writes that an event took effect.
func (tx Tx) PutBillingEvent(e BillingEvent) error { return billingEvents.put(tx.kv, e, e.ID) }

// BillingEventsBefore lists the events that took effect before a time.
func (r Reader) BillingEventsBefore(before Millis) ([]BillingEvent, error) {
	var old []BillingEvent
	err := r.kv.Scan(kv.Prefix(key(tagBillingEvent)), func(_, b []byte) error {
		e, err := billingEvents.decode(b)
		if err == nil && e.At < before {
			old = append(old, e)
		}
		return err
	})
	return old, err
}

// DeleteBillingEvent forgets an event, and reports whether it was there.
func (tx Tx) DeleteBillingEvent(e BillingEvent) (bool, error) {
	there, err := tx.TookBillingEvent(e.ID)
	if err != nil || !there {
		return false, err
	}
	return true, billingEvents.delete(tx.kv, e.ID)
}
