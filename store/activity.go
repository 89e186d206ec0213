package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"coffer/store/kv"
)

// Activity is one record of the audit log. Its number is its place in the log;
// ActorNumber and VaultNumber are its places in the lists of its actor and its
// vault. All three count up without gaps.
type Activity struct {
	ID          ID             `cbor:"1,keyasint"`
	Action      string         `cbor:"2,keyasint"`
	At          Millis         `cbor:"3,keyasint"`
	Actor       ID             `cbor:"4,keyasint"` // zero for the server's own
	ActorName   string         `cbor:"5,keyasint"`
	Vault       ID             `cbor:"6,keyasint"`
	Repository  string         `cbor:"7,keyasint"`
	Platform    string         `cbor:"8,keyasint"`
	Metadata    map[string]any `cbor:"9,keyasint"`
	IP          string         `cbor:"10,keyasint"`
	UserAgent   string         `cbor:"11,keyasint"`
	ActorNumber uint64         `cbor:"12,keyasint"`
	VaultNumber uint64         `cbor:"13,keyasint"`
	VaultOnly   bool           `cbor:"14,keyasint,omitempty"` // not in the actor's list
}

func (a Activity) listedOfActor() bool { return !a.Actor.IsZero() && !a.VaultOnly }

var activities = table[Activity]{tagActivity, "activity"}

// AddActivity appends records to the log and to the lists they belong to.
func (tx Tx) AddActivity(all ...Activity) error {
	lists := lists{tx: tx, last: make(map[string]uint64)}
	for _, a := range all {
		number, err := lists.next(key(tagActivity))
		if err != nil {
			return err
		}
		if a.listedOfActor() {
			if a.ActorNumber, err = lists.append(key(tagActivityActor, a.Actor), number); err != nil {
				return err
			}
		}
		if !a.Vault.IsZero() {
			if a.VaultNumber, err = lists.append(key(tagActivityVault, a.Vault), number); err != nil {
				return err
			}
		}
		if err := activities.put(tx.kv, a, number); err != nil {
			return err
		}
	}
	return nil
}

// lists looks for the end of a list once, however much is appended to it.
type lists struct {
	tx   Tx
	last map[string]uint64
}

func (l *lists) next(list []byte) (uint64, error) {
	last, known := l.last[string(list)]
	if !known {
		var err error
		if last, err = lastNumber(l.tx.kv, list); err != nil {
			return 0, err
		}
	}
	l.last[string(list)] = last + 1
	return last + 1, nil
}

func (l *lists) append(list []byte, number uint64) (uint64, error) {
	n, err := l.next(list)
	if err != nil {
		return 0, err
	}
	return n, l.tx.kv.Put(place(list, n), place(nil, number))
}

// place is a new key: list, then n.
func place(list []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(list), n)
}

// ActivityOf is a page of a user's records, newest first, and how many there are.
func (r Reader) ActivityOf(user ID, limit, offset int) ([]Activity, int, error) {
	return r.activityPage(key(tagActivityActor, user), limit, offset)
}

// ActivityIn is a page of a vault's records, newest first, and how many there are.
func (r Reader) ActivityIn(vault ID, limit, offset int) ([]Activity, int, error) {
	return r.activityPage(key(tagActivityVault, vault), limit, offset)
}

// activityPage needs no count and no skipping: the numbers of a list have no
// gaps, and records only ever leave at its old end.
func (r Reader) activityPage(list []byte, limit, offset int) ([]Activity, int, error) {
	first, err := firstNumber(r.kv, list)
	if err != nil || first == 0 {
		return nil, 0, err
	}
	last, err := lastNumber(r.kv, list)
	if err != nil {
		return nil, 0, err
	}
	return r.activityBetween(list, first, last, limit, offset)
}

// activityBetween is a page of the records first to last of a list.
func (r Reader) activityBetween(list []byte, first, last uint64, limit, offset int) ([]Activity, int, error) {
	total := int(last - first + 1)
	if offset >= total {
		return nil, total, nil
	}
	page := kv.Range{
		Start:   place(list, first),
		End:     place(list, last-uint64(offset)+1),
		Limit:   limit,
		Reverse: true,
	}
	all := make([]Activity, 0, min(limit, total-offset))
	err := r.kv.Scan(page, func(_, number []byte) error {
		b, err := r.kv.Get(key(tagActivity, number))
		if err != nil {
			return fmt.Errorf("%w: the audit log lacks a record that a list names", kv.ErrCorrupt)
		}
		a, err := activities.decode(b)
		all = append(all, a)
		return err
	})
	return all, total, err
}

// EachActivityIn calls fn for a vault's records, newest first, until fn says stop.
func (r Reader) EachActivityIn(vault ID, fn func(Activity) error) error {
	span := kv.Prefix(key(tagActivityVault, vault))
	span.Reverse = true
	return r.kv.Scan(span, func(_, number []byte) error {
		a, err := activities.get(r.kv, number)
		if err != nil {
			return err
		}
		return fn(a)
	})
}
