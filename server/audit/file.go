package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"coffer/server/api"
)

// Format names the form of the files that this package writes. What it says
// about bytes is frozen: an exported file must verify years later. A change
// gets a new name, and the old form is still read.
const Format = "coffer-audit/1"

// Kinds of files.
const (
	Export = "export" // the log, or one vault's records, at one time: header, records, end
	Stream = "stream" // what was written while it was watched: header, records, an end now and then
)

// Header is the first line of a file.
type Header struct {
	Format    string `json:"format"`
	Kind      string `json:"kind"`
	Instance  string `json:"instance"`
	VaultID   string `json:"vaultId,omitempty"`
	PublicKey string `json:"publicKey"`
	Begins    Mark   `json:"begins"`
}

// End is a line that says with which record a file ends.
type End struct {
	Ends *Mark `json:"ends"`
}

// Mark is a signed statement about where a file begins or ends.
type Mark struct {
	Number      uint64   `json:"number"`
	VaultNumber uint64   `json:"vaultNumber,omitempty"`
	Link        Bytes    `json:"link"`
	Base        uint64   `json:"base"` // number behind which the file begins
	Time        api.Time `json:"time"`
	Signature   Bytes    `json:"signature"`
}

// Bytes are base64 in JSON.
type Bytes = []byte

// Record is one record of the log, in a line of its own: what people and
// programs read of it first, then what proves it. Stored is the record as it is
// stored; everything before must be what Stored says.
type Record struct {
	Number      uint64        `json:"number"`
	VaultNumber uint64        `json:"vaultNumber,omitempty"` // among its vault's records
	Shown       *api.Activity `json:"-"`                     // nil if Stored cannot be read
	Prev        Bytes         `json:"prev"`
	Link        Bytes         `json:"link"`
	Stored      Bytes         `json:"record"`
}

// AppendLine writes a Header, an End or a Record, and a line feed. One of these
// has one text: a file is compared with it byte by byte.
func AppendLine(dst *bytes.Buffer, v any) error {
	if r, ok := v.(*Record); ok {
		v = r.line()
	}
	enc := json.NewEncoder(dst)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write a line of the audit log: %w", err)
	}
	return nil
}

// line puts what is shown between number and proof.
func (r *Record) line() any {
	type head struct {
		Number      uint64 `json:"number"`
		VaultNumber uint64 `json:"vaultNumber,omitempty"`
	}
	type proof struct {
		Prev   Bytes `json:"prev"`
		Link   Bytes `json:"link"`
		Stored Bytes `json:"record"`
	}
	h, p := head{r.Number, r.VaultNumber}, proof{r.Prev, r.Link, r.Stored}
	if r.Shown == nil {
		return &struct {
			head
			proof
		}{h, p}
	}
	return &struct {
		head
		api.Activity
		proof
	}{h, *r.Shown, p}
}

// Plain is the line of a record without its proof, for where nobody verifies
// it: a system log.
func (r *Record) Plain() ([]byte, error) {
	var b bytes.Buffer
	err := AppendLine(&b, struct {
		Number      uint64 `json:"number"`
		VaultNumber uint64 `json:"vaultNumber,omitempty"`
		*api.Activity
		Link Bytes `json:"link"`
	}{r.Number, r.VaultNumber, r.Shown, r.Link})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
