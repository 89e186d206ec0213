package store

import (
	"errors"
	"sort"
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
