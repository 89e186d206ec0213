package store

import (
	"errors"

	"coffer/store/kv"
)

// BackupRun is one attempt to put a backup where backups are kept.
type BackupRun struct {
	ID          ID     `cbor:"1,keyasint"`
	Started     Millis `cbor:"2,keyasint"`
	Ended       Millis `cbor:"3,keyasint"`
	Where       string `cbor:"4,keyasint"`
	Name        string `cbor:"5,keyasint,omitempty"` // "" when it failed before there was one
	Size        int64  `cbor:"6,keyasint,omitempty"`
	AuditNumber uint64 `cbor:"7,keyasint,omitempty"`  // of the last record of the audit log in it
	AuditLink   string `cbor:"8,keyasint,omitempty"`  // of that record, in hex
	Error       string `cbor:"9,keyasint,omitempty"`  // "" when it went well
	Left        string `cbor:"10,keyasint,omitempty"` // why old ones could not be removed after it
}

// Drill is what came of trying to restore a backup.
type Drill struct {
	At     Millis `cbor:"1,keyasint"`
	Where  string `cbor:"2,keyasint"`
	Name   string `cbor:"3,keyasint,omitempty"` // of the backup; "" when none could be had
	Reason string `cbor:"4,keyasint,omitempty"` // why it does not restore; "" when it does
	Said   string `cbor:"5,keyasint,omitempty"` // what was found in it

	Good   string `cbor:"6,keyasint,omitempty"` // the last backup that restored, this one or one before
	GoodAt Millis `cbor:"7,keyasint,omitempty"`
}

var (
	backupRuns = table[BackupRun]{tagBackup, "backup"}
	drills     = table[Drill]{tagDrill, "restore drill"}
)

// maxBackupRuns is how many attempts are remembered.
const maxBackupRuns = 200

// BackupRuns lists the attempts that are remembered, oldest first.
func (r Reader) BackupRuns() ([]BackupRun, error) { return backupRuns.list(r.kv) }

// AddBackupRun remembers an attempt. Of failures in a row only the last is kept:
// a place that is away for a week must not push out what went well before.
func (tx Tx) AddBackupRun(b BackupRun) error {
	all, err := tx.BackupRuns()
	if err != nil {
		return err
	}
	if last := len(all) - 1; last >= 0 && all[last].Error != "" && b.Error != "" {
		if err := backupRuns.delete(tx.kv, all[last].ID); err != nil {
			return err
		}
		all = all[:last]
	}
	for len(all) >= maxBackupRuns {
		if err := backupRuns.delete(tx.kv, all[0].ID); err != nil {
			return err
		}
		all = all[1:]
	}
	return backupRuns.put(tx.kv, b, b.ID)
}

// Drill is what came of the last restore drill, the zero Drill before the first.
func (r Reader) Drill() (Drill, error) {
	d, err := drills.get(r.kv)
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return d, err
}

// PutDrill remembers the last restore drill.
func (tx Tx) PutDrill(d Drill) error { return drills.put(tx.kv, d) }
