package store

import "coffer/store/kv"

// Delivery is a webhook's delivery that was taken: it is not taken again.
type Delivery struct {
	ID []byte `cbor:"1,keyasint"` // SHA-256 of the code host's id for it
	At Millis `cbor:"2,keyasint"`
}

// Event is what a delivery asks us to do, until it is done.
type Event struct {
	Number uint64 `cbor:"1,keyasint"`
	At     Millis `cbor:"2,keyasint"`
	Topic  string `cbor:"3,keyasint"`
	Name   string `cbor:"4,keyasint"` // the code host's, for logs
	Repo   string `cbor:"5,keyasint"` // immutable ids there, or ""
	Org    string `cbor:"6,keyasint"`
	User   string `cbor:"7,keyasint"`
	Login  string `cbor:"8,keyasint"` // of Org
	Tries  int    `cbor:"9,keyasint"`
	Next   Millis `cbor:"10,keyasint"` // not to be tried before
}

var (
	deliveries = table[Delivery]{tagDelivery, "webhook delivery"}
	events     = table[Event]{tagEvent, "webhook event"}
)

// TakeDelivery writes a delivery, or fails with ErrExists when it was taken
// before.
func (tx Tx) TakeDelivery(d Delivery) error {
	if there, err := exists(tx.kv, key(tagDelivery, d.ID)); err != nil {
		return err
	} else if there {
		return ErrExists
	}
	return deliveries.put(tx.kv, d, d.ID)
}

// DeliveriesBefore lists the deliveries that were taken before a time.
func (r Reader) DeliveriesBefore(before Millis) ([]Delivery, error) {
	var old []Delivery
	err := r.kv.Scan(kv.Prefix(key(tagDelivery)), func(_, b []byte) error {
		d, err := deliveries.decode(b)
		if err == nil && d.At < before {
			old = append(old, d)
		}
		return err
	})
	return old, err
}

// DeleteDelivery forgets a delivery, and reports whether it was there.
func (tx Tx) DeleteDelivery(d Delivery) (bool, error) {
	there, err := exists(tx.kv, key(tagDelivery, d.ID))
	if err != nil || !there {
		return false, err
	}
	return true, deliveries.delete(tx.kv, d.ID)
}

// AddEvent gives e a number and writes it.
func (tx Tx) AddEvent(e Event) error {
	last, err := lastNumber(tx.kv, key(tagEvent))
	if err != nil {
		return err
	}
	e.Number = last + 1
	return events.put(tx.kv, e, e.Number)
}

// Events lists the events that are not done, oldest first.
func (r Reader) Events() ([]Event, error) { return events.list(r.kv) }

// PutEvent writes an event that could not be done yet.
func (tx Tx) PutEvent(e Event) error { return events.put(tx.kv, e, e.Number) }

// DeleteEvent removes an event that is done.
func (tx Tx) DeleteEvent(e Event) error { return events.delete(tx.kv, e.Number) }
