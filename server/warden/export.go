package warden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"coffer/crypto"
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

// appendRow writes a record's line. One that cannot be read is written as it is
// stored: the file must show what is there.
func appendRow(b *bytes.Buffer, row store.Row) error {
	line := &audit.Record{Number: row.Number, Prev: row.Prev[:], Link: row.Link[:], Stored: row.Record}
	if _, err := readRecord(line); err != nil {
		line.Number, line.VaultNumber, line.Shown = row.Number, 0, nil
	}
	return audit.AppendLine(b, line)
}

// readRecord fills a record's line with what its stored form says, and with
// nothing that changes later: ids stay when vaults and users go.
func readRecord(line *audit.Record) (vault string, err error) {
	a, err := store.Row{Record: line.Stored}.Activity()
	if err != nil {
		return "", err
	}
	line.Number, line.VaultNumber = a.Number, a.VaultNumber
	line.Shown = &api.Activity{
		ID: a.ID.String(), Action: a.Action, Platform: a.Platform, Metadata: a.Metadata,
		RepoFullName: orNull(a.Repository), IP: orNull(a.IP), UserAgent: orNull(a.UserAgent),
		Timestamp: api.At(a.At.Time()),
	}
	if !a.Actor.IsZero() {
		line.Shown.Actor = &api.Person{ID: a.Actor.String(), Username: a.ActorName}
	}
	if !a.Vault.IsZero() {
		vault = a.Vault.String()
		line.Shown.VaultID = &vault
	}
	return vault, nil
}

// header is the first line of a file that begins behind begins: in a vault's
// list behind the place before.
func (k *auditKeys) header(kind string, begins store.Checkpoint, vault store.ID, before uint64) (*audit.Header, error) {
	h := &audit.Header{Format: audit.Format, Kind: kind, Instance: k.instance.String(), PublicKey: k.notary.PublicKey()}
	if !vault.IsZero() {
		h.VaultID = vault.String()
	}
	h.Begins = markOf(begins, before)
	s, err := k.inFile(h, nil)
	if err == nil {
		h.Begins.Signature, err = k.notary.Sign(s)
	}
	return h, err
}

// ends is the last line of the file: in a vault's list at the place last.
func (k *auditKeys) ends(h *audit.Header, ends store.Checkpoint, last uint64) (*audit.Mark, error) {
	m := markOf(ends, last)
	s, err := k.inFile(h, &m)
	if err == nil {
		m.Signature, err = k.notary.Sign(s)
	}
	return &m, err
}

func markOf(c store.Checkpoint, vaultNumber uint64) audit.Mark {
	return audit.Mark{Number: c.Number, VaultNumber: vaultNumber, Link: bytes.Clone(c.Link[:]), Base: c.Base, Time: api.At(c.At.Time())}
}

// signedIn reports whether a file's beginning, or an end of it, is signed.
func (k *auditKeys) signedIn(h *audit.Header, end *audit.Mark) bool {
	m := end
	if m == nil {
		m = &h.Begins
	}
	s, err := k.inFile(h, end)
	return err == nil && k.notary.Signed(s, m.Signature)
}

var errMark = errors.New("not a mark of a file")

// inFile is what is signed about a file's beginning, or an end of it.
func (k *auditKeys) inFile(h *audit.Header, end *audit.Mark) (s crypto.Statement, err error) {
	m := end
	if m == nil {
		m = &h.Begins
	}
	if len(m.Link) != len(crypto.Link{}) {
		return s, errMark
	}
	s = crypto.Statement{
		Instance: crypto.ID(k.instance), Number: m.Number, Link: crypto.Link(m.Link), At: m.Time.UnixMilli(),
		Base: m.Base, VaultNumber: m.VaultNumber,
	}
	switch {
	case h.Kind == audit.Export && end == nil:
		s.About = crypto.ExportBegins
	case h.Kind == audit.Export:
		s.About = crypto.ExportEnds
	case h.Kind == audit.Stream && end == nil:
		s.About = crypto.StreamBegins
	case h.Kind == audit.Stream:
		s.About = crypto.StreamEnds
	default:
		return s, errMark
	}
	if h.VaultID != "" {
		var id store.ID
		id, err = store.ParseID(h.VaultID)
		s.Vault = crypto.ID(id)
	}
	return s, err
}
