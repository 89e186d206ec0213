package warden

import (
	"context"
	"errors"
	"fmt"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/audit"
	"coffer/store"
	"coffer/store/kv"
)

// VerifyAudit judges the audit log as it lies in the data: reads go on, and so
// do requests that append to it.
func (w *Warden) VerifyAudit(ctx context.Context, who Caller) (*api.AuditReport, error) {
	if err := admit(who, access.AuditVerify); err != nil {
		return nil, w.settle(ctx, who, access.AuditVerify, store.Vault{}, err)
	}
	for range verifyTries {
		v := &verification{w: w}
		err := v.run(ctx)
		if err == nil {
			return &v.report, nil
		}
		if !errors.Is(err, errMoved) {
			return nil, w.outward(err)
		}
	}
	return nil, api.Errorf(api.Unavailable, "Old records are being removed from the audit log just now. Try again when that is done.")
}

const (
	verifyTries = 5
	verifyBatch = 500 // rows or entries read in one snapshot
)

// errMoved means that the beginning of the log moved while it was judged.
var errMoved = errors.New("the audit log was pruned meanwhile")

// verification goes through the log in snapshots that are held for a few
// milliseconds each.
type verification struct {
	w       *Warden
	judge   audit.Judge
	report  api.AuditReport
	begun   bool
	base    uint64 // where the log begins, whether that is signed or not
	at      uint64 // the last row that was judged
	last    uint64 // the last row there was, once that was seen
	done    bool
	entries uint64 // that the lists should have
}

func (v *verification) run(ctx context.Context) error {
	for !v.done {
		if err := v.view(ctx, v.rows); err != nil {
			return err
		}
	}
	if err := v.lists(ctx); err != nil {
		return err
	}
	v.judge.Finish(0, "Nothing proves where the audit log ends.")
	v.judge.Report(&v.report)
	return nil
}

// view runs step on a snapshot, with the keys, unless the log's beginning moved.
func (v *verification) view(ctx context.Context, step func(store.Reader, *auditKeys) error) error {
	return v.w.withKeys(func(k *keyring) error {
		return v.w.store.View(ctx, func(r store.Reader) error {
			base, err := r.ActivityBase()
			switch {
			case errors.Is(err, store.ErrNotFound), errors.Is(err, kv.ErrCorrupt):
				base = store.Checkpoint{}
			case err != nil:
				return err
			}
			if !v.begun {
				v.begun = true
				v.begin(&k.audit, base)
			} else if base.Number != v.base {
				return errMoved
			}
			return step(r, &k.audit)
		})
	})
}

func (v *verification) begin(k *auditKeys, base store.Checkpoint) {
	v.base = base.Number
	v.report = api.AuditReport{Source: "log", Instance: k.instance.String(), PublicKey: k.notary.PublicKey()}
	if !k.signed(crypto.Base, base) {
		v.fault(api.VerdictComplete, api.FaultAltered, 0, "The signed beginning of the audit log is not as it was written, or missing: nothing proves where the log begins.")
		return
	}
	v.at = base.Number
	v.judge.Begin(base.Number, base.Number, base.Link)
	v.report.Begins = &api.AuditMark{Number: base.Number, Time: api.At(base.At.Time())}
}

func (v *verification) fault(against, kind string, number uint64, format string, args ...any) {
	v.judge.Fault(api.AuditFault{Against: against, Kind: kind, Number: number, Detail: fmt.Sprintf(format, args...)})
}

// rows judges the next rows and, when they were the last, the end.
func (v *verification) rows(r store.Reader, k *auditKeys) error {
	before, count := v.at, 0
	err := r.ScanActivity(v.at, verifyBatch, func(row store.Row) error {
		count++
		v.at = row.Number
		return v.row(r, k, row)
	})
	if err == nil {
		err = v.checkpoints(r, k, before)
	}
	if err != nil || count == verifyBatch {
		return err
	}
	v.done, v.last = true, v.at
	return v.end(r, k)
}

func (v *verification) row(r store.Reader, k *auditKeys, row store.Row) error {
	a, unreadable := row.Activity()
	place := row.Number
	if unreadable == nil {
		// The record's own number decides whether it is authentic; its key decides
		// whether it stands where it belongs.
		row.Number = a.Number
	}
	proven, err := row.Proven(k.chain)
	if err != nil {
		return err
	}
	if unreadable != nil || !proven {
		v.judge.Unproven(0, place)
		return nil
	}
	v.judge.Record(audit.Step{Place: a.Number, Number: a.Number, Prev: row.Prev, Link: row.Link})
	if a.Number != place {
		v.fault(api.VerdictIntact, api.FaultReordered, a.Number, "Record %d stands where record %d belongs.", a.Number, place)
	}
	return v.listed(r, a)
}

// listed wants a record to be in the lists that people look at.
func (v *verification) listed(r store.Reader, a store.Activity) error {
	actor, vault, err := r.Listed(a)
	if err != nil {
		return err
	}
	if a.ActorNumber != 0 {
		v.entries++
	}
	if a.VaultNumber != 0 {
		v.entries++
	}
	if !actor || !vault {
		v.fault(api.VerdictIntact, api.FaultUnlisted, a.Number, "Record %d is in the log, but not in the lists that users and admins see.", a.Number)
	}
	return nil
}

// checkpoints holds those of the rows behind before, up to the last one judged,
// against the rows.
func (v *verification) checkpoints(r store.Reader, k *auditKeys, before uint64) error {
	return r.ScanCheckpoints(before, 0, func(number uint64, c store.Checkpoint, unreadable error) error {
		if number > v.at {
			return kv.Stop
		}
		if !v.sound(k, number, c, unreadable) {
			return nil
		}
		row, err := r.ActivityRow(number)
		if err == nil && row.Link != c.Link {
			v.fault(api.VerdictIntact, api.FaultForeign, number, "Record %d is not the one that was there when a checkpoint was signed at %s.", number, api.At(c.At.Time()))
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil // missing: the judge knows
		}
		return err
	})
}

func (v *verification) sound(k *auditKeys, number uint64, c store.Checkpoint, unreadable error) bool {
	if unreadable == nil && c.Number == number && k.signed(crypto.Checkpoint, c) {
		return true
	}
	v.fault(api.VerdictIntact, api.FaultAltered, number, "The checkpoint of record %d is not as it was signed.", number)
	return false
}

// end judges where the log ends. It runs in the snapshot that had no more rows.
func (v *verification) end(r store.Reader, k *auditKeys) error {
	end, err := r.LogEnd()
	holds := false
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, kv.ErrCorrupt):
	case err != nil:
		return err
	default:
		if holds, err = end.Holds(k.chain); err != nil {
			return err
		}
	}
	if !holds {
		v.fault(api.VerdictComplete, api.FaultAltered, 0, "The end of the audit log is not as it was written, or missing: nothing proves that record %d was the last.", v.at)
	} else {
		v.judge.End(0, end.Number, end.Number, end.Link)
		v.report.Ends = &api.AuditMark{Number: end.Number, Time: api.At(v.w.now())}
	}
	return r.ScanCheckpoints(v.at, 0, func(number uint64, c store.Checkpoint, unreadable error) error {
		if v.sound(k, number, c, unreadable) {
			v.fault(api.VerdictComplete, api.FaultCut, v.at+1, "The log ends with record %d, and a checkpoint signed at %s names record %d.", v.at, api.At(c.At.Time()), number)
		}
		return nil
	})
}

// lists counts the entries of all lists. Every record was found in its own; were
// there more entries, they would name what is none of theirs. Where records are
// gone or altered, their entries are more too, and nothing new. Entries of pruned
// records, which such a one may have left behind, show nothing.
func (v *verification) lists(ctx context.Context) error {
	found := uint64(0)
	var after []byte
	for more := true; more; {
		err := v.view(ctx, func(r store.Reader, _ *auditKeys) (err error) {
			count := 0
			var beyond []uint64
			after, err = r.ScanActivityLists(after, verifyBatch, func(number uint64) {
				switch count++; {
				case number > v.last:
					beyond = append(beyond, number)
				case number > v.base:
					found++
				}
			})
			more = count == verifyBatch
			for _, number := range beyond {
				if err != nil {
					return err
				}
				// Written since the rows were judged, or a fake.
				if _, err = r.ActivityRow(number); errors.Is(err, store.ErrNotFound) {
					found, err = found+1, nil
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if found > v.entries && v.judge.Sound() {
		v.fault(api.VerdictIntact, api.FaultForeign, 0, "The lists that users and admins see name %d records that are not theirs.", found-v.entries)
	}
	return nil
}
