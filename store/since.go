package store

import (
	"errors"
	"sort"

	"coffer/store/kv"
)

// ActivityOfSince is a page of a user's records from an instant on, newest first,
// and how many there are.
func (r Reader) ActivityOfSince(user ID, since Millis, limit, offset int) ([]Activity, int, error) {
	list := key(tagActivityActor, user)
	first, err := firstNumber(r.kv, list)
	if err != nil || first == 0 {
		return nil, 0, err
	}
	last, err := lastNumber(r.kv, list)
	if err != nil {
		return nil, 0, err
	}
	// Numbers have no gaps and times hardly ever fall, so the first record that
	// is recent can be searched for.
	skipped := sort.Search(int(last-first+1), func(i int) bool {
		at, e := r.activityTime(list, first+uint64(i))
		err = errors.Join(err, e)
		return at >= since
	})
	if err != nil {
		return nil, 0, err
	}
	return r.activityBetween(list, first+uint64(skipped), last, limit, offset)
}

func (r Reader) activityTime(list []byte, n uint64) (Millis, error) {
	number, err := r.kv.Get(place(list, n))
	if err != nil {
		return 0, err
	}
	a, err := r.listed(number)
	if errors.Is(err, errPruned) {
		return 0, nil
	}
	return a.At, err
}

// Deed is what counting needs to know of a record of the audit log. That is little,
// because many are counted.
type Deed struct {
	Action   string `cbor:"2,keyasint"`
	At       Millis `cbor:"3,keyasint"`
	Metadata struct {
		DryRun bool `cbor:"dryRun"`
	} `cbor:"9,keyasint"`
}

var deeds = table[Deed]{tagActivity, "activity"}

// EachDeedOf calls fn for what a user did from an instant on, newest first, and
// for no more than most records. It reports whether there are older ones still.
func (r Reader) EachDeedOf(user ID, since Millis, most int, fn func(Deed)) (cut bool, err error) {
	return r.eachDeed(key(tagActivityActor, user), since, most, fn)
}

// EachDeedIn is EachDeedOf for what was done in a vault.
func (r Reader) EachDeedIn(vault ID, since Millis, most int, fn func(Deed)) (cut bool, err error) {
	return r.eachDeed(key(tagActivityVault, vault), since, most, fn)
}

func (r Reader) eachDeed(list []byte, since Millis, most int, fn func(Deed)) (cut bool, err error) {
	span := kv.Prefix(list)
	span.Reverse, span.Limit = true, most+1
	n := 0
	err = r.kv.Scan(span, func(_, number []byte) error {
		d, err := r.deed(number)
		if err != nil {
			return passPruned(err)
		}
		if d.At < since {
			return kv.Stop
		}
		if n++; n > most {
			cut = true
			return kv.Stop
		}
		fn(d)
		return nil
	})
	return cut, err
}

// deed is what counting needs of the record that an entry of a list names.
func (r Reader) deed(number []byte) (Deed, error) {
	row, err := r.listedRow(number)
	if err != nil {
		return Deed{}, err
	}
	return deeds.decode(row.Record)
}
