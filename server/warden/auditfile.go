package warden

import (
	"bytes"
	"errors"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/audit"
	"coffer/store"
)

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
		line.Shown.Actor = &api.Actor{ID: new(a.Actor.String()), Username: a.ActorName}
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
