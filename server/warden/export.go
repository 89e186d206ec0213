package warden

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/audit"
	"coffer/store"
	"coffer/store/kv"
)

// exportBatch is how many bytes of a file are made from one snapshot.
const exportBatch = 256 << 10

// ExportAudit writes the whole audit log to out: one record in a line, between a
// signed beginning and a signed end. What was written when it fails has no end.
func (w *Warden) ExportAudit(ctx context.Context, who Caller, out io.Writer) error {
	if err := admit(who, access.AuditExport); err != nil {
		return w.settle(ctx, who, access.AuditExport, store.Vault{}, err)
	}
	j := journal{w: w, who: who, now: w.now()}
	j.note("activity_exported", nil)
	if err := w.write(ctx, j.notes); err != nil {
		return w.outward(err)
	}
	return w.outward(w.export(ctx, out, store.ID{}))
}

// ExportVaultActivity writes a vault's part of the audit log to out. The server
// can prove each record of it, and that none of the vault's is missing; of other
// vaults' records the file says nothing.
func (w *Warden) ExportVaultActivity(ctx context.Context, who Caller, ref api.Ref, out io.Writer) error {
	var vault store.ID
	err := w.read(ctx, who, access.VaultActivityExport, ref.Repository(), func(v *visit) error {
		vault = v.vault.ID
		v.note("activity_exported", nil)
		return nil
	})
	if err != nil {
		return err
	}
	return w.outward(w.export(ctx, out, vault))
}

func (w *Warden) export(ctx context.Context, out io.Writer, vault store.ID) error {
	// The checkpoint makes the data itself remember what was handed out.
	always := func(records uint64, _ time.Duration) bool { return records > 0 }
	if _, err := w.checkpoint(ctx, always); err != nil {
		return err
	}
	e := &export{w: w, vault: vault, kind: audit.Export}
	if err := e.begin(ctx); err != nil {
		return err
	}
	for !e.done {
		err := w.store.View(ctx, e.lines)
		if err != nil {
			return err
		}
		if _, err := e.buf.WriteTo(out); err != nil {
			return fmt.Errorf("send the audit log: %w", err)
		}
	}
	return nil
}

// export is a file on its way out.
type export struct {
	w     *Warden
	vault store.ID // zero for all
	kind  string
	base  uint64
	at    uint64 // the last place that was written: in the log, or in the vault's list
	last  uint64
	ends  []byte
	done  bool
	buf   bytes.Buffer
}

// begin reads, in one snapshot, from where to where the file goes, and signs
// both.
func (e *export) begin(ctx context.Context) error {
	var begins, ends store.Checkpoint
	before, last := uint64(0), uint64(0)
	err := e.w.store.View(ctx, func(r store.Reader) (err error) {
		if begins, err = r.ActivityBase(); err != nil {
			return err
		}
		end, err := r.LogEnd()
		if err == nil && !e.vault.IsZero() {
			before, last, err = r.VaultSpan(e.vault)
		}
		ends = store.Checkpoint{Number: end.Number, Link: end.Link, Base: begins.Number}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	begins.Base = begins.Number
	begins.At, ends.At = store.At(e.w.now()), store.At(e.w.now())
	e.base, e.at, e.last = begins.Number, begins.Number, ends.Number
	if !e.vault.IsZero() {
		e.at, e.last = before, last
	}
	return e.w.withKeys(func(k *keyring) error {
		h, err := k.audit.header(e.kind, begins, e.vault, before)
		if err != nil {
			return err
		}
		end, err := k.audit.ends(h, ends, last)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := audit.AppendLine(&b, &audit.End{Ends: end}); err != nil {
			return err
		}
		e.ends = b.Bytes()
		return audit.AppendLine(&e.buf, h)
	})
}

// lines puts the next records into the buffer, and the end behind the last.
func (e *export) lines(r store.Reader) error {
	base, err := r.ActivityBase()
	if err != nil {
		return err
	}
	if base.Number != e.base {
		return errMoved
	}
	add := func(at uint64, row store.Row) error {
		e.at = at
		if err := appendRow(&e.buf, row); err != nil {
			return err
		}
		if e.buf.Len() >= exportBatch {
			return kv.Stop
		}
		return nil
	}
	if e.vault.IsZero() {
		err = r.ScanActivity(e.at, 0, func(row store.Row) error {
			if row.Number > e.last {
				return kv.Stop
			}
			return add(row.Number, row)
		})
	} else {
		err = r.ScanActivityIn(e.vault, e.at, e.last, add)
	}
	if err == nil && e.buf.Len() < exportBatch {
		e.done = true
		e.buf.Write(e.ends)
	}
	return err
}
