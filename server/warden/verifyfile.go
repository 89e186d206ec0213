package warden

import (
	"context"
	"errors"
	"io"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/audit"
	"coffer/store"
)

// VerifyAuditFile judges a file that the audit log was exported or streamed to.
func (w *Warden) VerifyAuditFile(ctx context.Context, who Caller, file io.Reader) (*api.AuditReport, error) {
	if err := admit(who, access.AuditVerify); err != nil {
		return nil, w.settle(ctx, who, access.AuditVerify, store.Vault{}, err)
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	instance, public := keys.audit.instance.String(), keys.audit.notary.PublicKey()
	keys.users.RUnlock()
	report, top, err := audit.CheckFile(ctx, file, audit.Keys{
		Instance: instance, PublicKey: public, Read: readRecord,
		// A file may take long: sealing waits for one record, not for all.
		Link: func(prev audit.Link, number uint64, stored []byte) (link audit.Link, err error) {
			err = w.withKeys(func(k *keyring) error {
				link, err = k.audit.chain.Link(prev, number, stored)
				return err
			})
			return link, err
		},
		Signed: func(h *audit.Header, end *audit.Mark) (ok bool) {
			return w.withKeys(func(k *keyring) error {
				ok = k.audit.signedIn(h, end)
				return nil
			}) == nil && ok
		},
	})
	if err == nil && top.Number != 0 {
		report.Log, err = w.inLog(ctx, top)
	}
	if err != nil {
		return nil, w.outward(err)
	}
	return report, nil
}

// inLog says what the log holds in place of a record in a file. An authentic
// record that the log does not know is the trace of data that were put back to an
// older state: from inside, that cannot be seen.
func (w *Warden) inLog(ctx context.Context, s audit.Step) (found string, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		row, err := r.ActivityRow(s.Number)
		if err == nil {
			if found = api.LogDiffers; row.Link == s.Link {
				found = api.LogSame
			}
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		base, err := r.ActivityBase()
		if err != nil {
			return err
		}
		end, err := r.LogEnd()
		switch {
		case s.Number <= base.Number:
			found = api.LogPruned
		case s.Number > end.Number:
			found = api.LogBehind
		default:
			found = api.LogMissing
		}
		return err
	})
	return found, err
}
