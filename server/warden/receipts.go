package warden

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// vaultErased is the action of the record that a receipt names.
const vaultErased = "vault_erased"

// receiptStatement is what a receipt of the first format says in words. What its
// numbers say is signed; that these are its words is a part of the format.
const receiptStatement = "The data keys of this vault were destroyed and all its rows deleted. " +
	"Then the data file of the instance was written anew without them, and took the place of the old file. " +
	"Not covered: older backups, snapshots that upgrades took, snapshots of the file system, blocks that the disk does not use any more, " +
	"offline copies of clients, what hosting providers hold, and the activity log, which tells what was done and names secrets."

// receipt is the text that proves an erasure.
func (k *auditKeys) receipt(e store.Erasure, record store.Row, c store.Compaction) ([]byte, error) {
	signed := crypto.Erasure{
		Instance: crypto.ID(k.instance), Vault: crypto.ID(e.Vault), Number: record.Number, Link: record.Link,
		ErasedAt: int64(e.At), Compacted: int64(c.Ended), Before: uint64(c.Before), After: uint64(c.After),
		Repository: e.Repository, By: e.By,
	}
	signature, err := k.notary.SignErasure(signed)
	if err != nil {
		return nil, err
	}
	return receiptText(api.Receipt{
		Coffer: api.ReceiptKind, Instance: k.instance.String(), RepoFullName: e.Repository, VaultID: e.Vault.String(),
		ErasedAt: api.At(e.At.Time()), ErasedBy: e.By, AuditRecord: record.Number, AuditLink: base64.StdEncoding.EncodeToString(record.Link[:]),
		CompactedAt: api.At(c.Ended.Time()), BeforeBytes: c.Before, AfterBytes: c.After, Statement: receiptStatement,
		PublicKey: k.notary.PublicKey(), Signature: base64.StdEncoding.EncodeToString(signature),
	})
}

// receiptText is the one form that a receipt has.
func receiptText(r api.Receipt) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r)
	return b.Bytes(), err
}

// receiptHead is how every receipt begins, of this format and of later ones.
const receiptHead = "{\n  \"coffer\": \"erasure-receipt/"

// MaxReceipt is more than the bytes in any receipt.
const MaxReceipt = 16 << 10

// IsReceipt reports whether a file that begins with these bytes is a receipt.
func IsReceipt(head []byte) bool { return bytes.HasPrefix(head, []byte(receiptHead)) }

// ErrReceipt means that a receipt does not prove what it says.
var ErrReceipt = errors.New("this receipt proves nothing")

// VerifyReceipt checks a receipt, with nothing but the public key of the instance
// that signed it. With the key "" it takes the one in the receipt: then it is
// whole, and whose it is remains to be seen.
func VerifyReceipt(text []byte, publicKey string) (*api.Receipt, error) {
	var r api.Receipt
	if !IsReceipt(text) {
		return nil, fmt.Errorf("%w: it does not begin as a receipt does", ErrReceipt)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: it cannot be read: %v", ErrReceipt, err)
	}
	if r.Coffer != api.ReceiptKind {
		return nil, fmt.Errorf("%w to this version, which knows %s, not %s: use a newer coffer", ErrReceipt, api.ReceiptKind, r.Coffer)
	}
	// Numbers are signed, the text is not: it must be the one that they make.
	again, err := receiptText(r)
	if err != nil || !bytes.Equal(again, text) || r.Statement != receiptStatement {
		return nil, fmt.Errorf("%w: it was altered", ErrReceipt)
	}
	if publicKey != "" && r.PublicKey != publicKey {
		return nil, fmt.Errorf("%w: another instance signed it, whose public key is %s", ErrReceipt, r.PublicKey)
	}
	signed, signature, err := signedReceipt(r)
	if err != nil {
		return nil, fmt.Errorf("%w: it was altered: %v", ErrReceipt, err)
	}
	if ok, err := crypto.ErasureSigned(r.PublicKey, signed, signature); err != nil || !ok {
		return nil, fmt.Errorf("%w: its signature does not hold", ErrReceipt)
	}
	return &r, nil
}

// signedReceipt is what of a receipt is signed, and the signature.
func signedReceipt(r api.Receipt) (e crypto.Erasure, signature []byte, err error) {
	instance, instanceErr := store.ParseID(r.Instance)
	vault, vaultErr := store.ParseID(r.VaultID)
	link, linkErr := base64.StdEncoding.Strict().DecodeString(r.AuditLink)
	signature, signatureErr := base64.StdEncoding.Strict().DecodeString(r.Signature)
	if err := errors.Join(instanceErr, vaultErr, linkErr, signatureErr); err != nil {
		return e, nil, err
	}
	if len(link) != len(e.Link) {
		return e, nil, errors.New("the link has another length")
	}
	return crypto.Erasure{
		Instance: crypto.ID(instance), Vault: crypto.ID(vault), Number: r.AuditRecord, Link: crypto.Link(link),
		ErasedAt: r.ErasedAt.UnixMilli(), Compacted: r.CompactedAt.UnixMilli(), Before: uint64(r.BeforeBytes), After: uint64(r.AfterBytes),
		Repository: r.RepoFullName, By: r.ErasedBy,
	}, signature, nil
}
