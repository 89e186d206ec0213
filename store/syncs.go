package store

import (
	"errors"

	"coffer/store/kv"
)

// SyncRun is one sync, from when it begins to some time after its end.
type SyncRun struct {
	ID          ID    `cbor:"1,keyasint"`
	Vault       ID    `cbor:"2,keyasint"`
	Environment ID    `cbor:"3,keyasint"`
	User        ID    `cbor:"4,keyasint"` // as whom it runs
	Connection  ID    `cbor:"5,keyasint"`
	SyncLink    ID    `cbor:"6,keyasint"` // that runs by itself; else zero
	Place       Place `cbor:"7,keyasint"`

	Provider    string   `cbor:"8,keyasint"`
	Project     string   `cbor:"9,keyasint"`
	ProjectName string   `cbor:"10,keyasint"`
	Service     string   `cbor:"11,keyasint"`
	Target      string   `cbor:"12,keyasint"` // the provider's environment
	Pull        bool     `cbor:"13,keyasint"`
	References  bool     `cbor:"14,keyasint"`
	Deletes     []string `cbor:"15,keyasint"` // keys that may be deleted, and no others

	Status   string        `cbor:"16,keyasint"`
	Created  int           `cbor:"17,keyasint"`
	Updated  int           `cbor:"18,keyasint"`
	Deleted  int           `cbor:"19,keyasint"`
	Skipped  int           `cbor:"20,keyasint"`
	Failed   []SyncFailure `cbor:"21,keyasint"`
	Total    int           `cbor:"22,keyasint"` // steps there are to do
	Began    Millis        `cbor:"23,keyasint"`
	Ended    Millis        `cbor:"24,keyasint"` // 0 while it runs
	Canceled bool          `cbor:"25,keyasint"` // somebody wants it to stop
	Test     bool          `cbor:"26,keyasint"` // an API key of the test environment began it
}

// SyncFailure is one variable that a sync could not write or delete.
type SyncFailure struct {
	Key       string `cbor:"1,keyasint"`
	Operation string `cbor:"2,keyasint"`
	Code      string `cbor:"3,keyasint"`
	RequestID string `cbor:"4,keyasint"`
}

// SyncLease keeps others from syncing with a place while one run does.
type SyncLease struct {
	Run   ID     `cbor:"1,keyasint"`
	Until Millis `cbor:"2,keyasint"`
}

var (
	syncRuns   = table[SyncRun]{tagSyncRun, "sync run"}
	syncLeases = table[SyncLease]{tagSyncLease, "sync lease"}
)

// SyncRun is the run with this id.
func (r Reader) SyncRun(id ID) (SyncRun, error) { return syncRuns.get(r.kv, id) }

// SyncRunsOf lists a vault's runs that are remembered, oldest first.
func (r Reader) SyncRunsOf(vault ID) ([]SyncRun, error) {
	found, err := ids(r.kv, key(tagSyncRunVault, vault))
	if err != nil {
		return nil, err
	}
	all := make([]SyncRun, 0, len(found))
	for _, id := range found {
		run, err := r.SyncRun(id)
		if err != nil {
			return nil, err
		}
		all = append(all, run)
	}
	return all, nil
}

// SyncRunsUnderWay lists the runs that have not ended.
func (r Reader) SyncRunsUnderWay() ([]SyncRun, error) {
	return filter(r, syncRuns, func(run SyncRun) bool { return run.Ended == 0 })
}

// SyncRunsBefore lists the runs that ended before an instant.
func (r Reader) SyncRunsBefore(before Millis) ([]SyncRun, error) {
	return filter(r, syncRuns, func(run SyncRun) bool { return run.Ended != 0 && run.Ended < before })
}

// PutSyncRun writes a run, new or not.
func (tx Tx) PutSyncRun(run SyncRun) error {
	return errors.Join(
		syncRuns.put(tx.kv, run, run.ID),
		tx.kv.Put(key(tagSyncRunVault, run.Vault, run.ID), nil),
	)
}

// DeleteSyncRun forgets a run, and reports whether it was there.
func (tx Tx) DeleteSyncRun(run SyncRun) (bool, error) {
	there, err := exists(tx.kv, key(tagSyncRun, run.ID))
	if err != nil || !there {
		return false, err
	}
	return true, errors.Join(
		syncRuns.delete(tx.kv, run.ID),
		tx.kv.Delete(key(tagSyncRunVault, run.Vault, run.ID)),
	)
}

func (tx Tx) deleteSyncRunsOf(vault ID) error {
	all, err := tx.SyncRunsOf(vault)
	for _, run := range all {
		if err == nil {
			_, err = tx.DeleteSyncRun(run)
		}
	}
	return err
}

// SyncLease is the lease of a place.
func (r Reader) SyncLease(at Place) (SyncLease, error) { return syncLeases.get(r.kv, at[:]) }

// PutSyncLease writes the lease of a place.
func (tx Tx) PutSyncLease(at Place, l SyncLease) error { return syncLeases.put(tx.kv, l, at[:]) }

// DeleteSyncLease gives a place free.
func (tx Tx) DeleteSyncLease(at Place) error { return syncLeases.delete(tx.kv, at[:]) }

// SyncLeasesBefore lists the places whose leases ran out before an instant.
func (r Reader) SyncLeasesBefore(before Millis) ([]Place, error) {
	var all []Place
	err := r.kv.Scan(kv.Prefix(key(tagSyncLease)), func(k, b []byte) error {
		l, err := syncLeases.decode(b)
		if err == nil && l.Until < before {
			all = append(all, Place(k[1:]))
		}
		return err
	})
	return all, err
}
