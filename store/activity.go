package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"coffer/store/kv"
)

// Activity is one record of the audit log. Number is its place in the log;
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
	Number      uint64         `cbor:"15,keyasint"`
}

func (a Activity) listedOfActor() bool { return !a.Actor.IsZero() && !a.VaultOnly }

var activities = table[Activity]{tagActivity, "activity"}

// AddActivity appends records to the log and to the lists they belong to, and
// returns the number of the last. The log's end is looked for once, however many
// they are.
func (tx Tx) AddActivity(c Chain, all ...Activity) (uint64, error) {
	end, err := tx.proveEnd(c)
	if err != nil {
		return 0, err
	}
	lists := lists{tx: tx}
	if len(all) > 1 {
		lists.last = make(map[string]uint64)
	}
	for _, a := range all {
		a.Number = end.Number + 1
		if a.listedOfActor() {
			if a.ActorNumber, err = lists.append(key(tagActivityActor, a.Actor), a.Number); err != nil {
				return 0, err
			}
		}
		if !a.Vault.IsZero() {
			if a.VaultNumber, err = lists.append(key(tagActivityVault, a.Vault), a.Number); err != nil {
				return 0, err
			}
		}
		if end.Link, err = tx.putActivity(c, end.Link, a); err != nil {
			return 0, err
		}
		end.Number = a.Number
	}
	return end.Number, tx.putEnd(c, end)
}

// lists looks for the end of a list once, however much is appended to it.
type lists struct {
	tx   Tx
	last map[string]uint64 // nil when there is one record only
}

func (l *lists) append(list []byte, number uint64) (uint64, error) {
	last, known := l.last[string(list)]
	if !known {
		var err error
		if last, err = l.tx.lastOf(list); err != nil {
			return 0, err
		}
	}
	last++
	if l.last != nil {
		l.last[string(list)] = last
	}
	return last, l.tx.kv.Put(place(list, last), place(nil, number))
}

// lastOf is the number of a list's last entry. A list whose entries were all
// pruned goes on where it ended.
func (r Reader) lastOf(list []byte) (uint64, error) {
	last, err := lastNumber(r.kv, list)
	if err != nil || last > 0 {
		return last, err
	}
	b, err := r.kv.Get(key(tagActivityLast, list))
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil || len(b) != 8 {
		return 0, corruptUnless(err, "the end of an activity list")
	}
	return binary.BigEndian.Uint64(b), nil
}

func corruptUnless(err error, what string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s has an unknown form", kv.ErrCorrupt, what)
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
		a, err := r.listed(number)
		if err == nil {
			all = append(all, a)
		}
		return passPruned(err)
	})
	return all, total, err
}

// errPruned says that a record was pruned. Its entry in a list goes with it, but
// for one that somebody had tampered with.
var errPruned = errors.New("the record was pruned")

func passPruned(err error) error {
	if errors.Is(err, errPruned) {
		return nil
	}
	return err
}

// listed is the record that an entry of a list names.
func (r Reader) listed(number []byte) (Activity, error) {
	row, err := r.listedRow(number)
	if err != nil {
		return Activity{}, err
	}
	return row.Activity()
}

func (r Reader) listedRow(number []byte) (Row, error) {
	b, err := r.kv.Get(key(tagActivity, number))
	if isNotFound(err) {
		if base, err := r.ActivityBase(); err == nil && len(number) == 8 && binary.BigEndian.Uint64(number) <= base.Number {
			return Row{}, errPruned
		}
		return Row{}, fmt.Errorf("%w: the audit log lacks a record that a list names", kv.ErrCorrupt)
	}
	if err != nil {
		return Row{}, err
	}
	return parseRow(b)
}

// EachActivityIn calls fn for a vault's records, newest first, until fn says stop.
func (r Reader) EachActivityIn(vault ID, fn func(Activity) error) error {
	span := kv.Prefix(key(tagActivityVault, vault))
	span.Reverse = true
	return r.kv.Scan(span, func(_, number []byte) error {
		a, err := r.listed(number)
		if err != nil {
			return passPruned(err)
		}
		return fn(a)
	})
}

// VaultSpan says which records a vault's list names: those behind before, up to
// last.
func (r Reader) VaultSpan(vault ID) (before, last uint64, err error) {
	list := key(tagActivityVault, vault)
	if last, err = r.lastOf(list); err != nil {
		return 0, 0, err
	}
	first, err := firstNumber(r.kv, list)
	if err != nil || first == 0 {
		return last, last, err
	}
	return first - 1, last, nil
}

// ScanActivityIn calls fn for the rows of a vault that stand in its list behind
// after and up to last, in order, with the place in the list. A row that is gone
// is passed over.
func (r Reader) ScanActivityIn(vault ID, after, last uint64, fn func(at uint64, row Row) error) error {
	list := key(tagActivityVault, vault)
	span := kv.Range{Start: place(list, after+1), End: place(list, last+1)}
	return r.kv.Scan(span, func(k, number []byte) error {
		if len(number) != 8 {
			return fmt.Errorf("%w: a list of activity names no record", kv.ErrCorrupt)
		}
		row, err := r.ActivityRow(binary.BigEndian.Uint64(number))
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fn(binary.BigEndian.Uint64(k[len(k)-8:]), row)
	})
}
