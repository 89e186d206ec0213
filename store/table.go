package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"coffer/store/kv"
)

// The keyspace: every key begins with one of these bytes. Ids in keys are 16
// bytes, numbers 8 bytes big-endian, names come last.
const (
	tagInstance       = 0x01 // → Instance
	tagMethod         = 0x02 // method → Method
	tagProbe          = 0x03 // → nothing; rewritten to see whether writing works
	tagJob            = 0x04 // name → JobRun
	tagBackup         = 0x05 // run → BackupRun
	tagRotation       = 0x06 // kind vault → Rotation
	tagErasure        = 0x07 // erasure → Erasure; without an erasure, → Compaction
	tagDrill          = 0x08 // → Drill
	tagUser           = 0x10 // user → User
	tagUserForge      = 0x11 // forge 0x00 account → user
	tagAPIKey         = 0x12 // key → APIKey
	tagAPIKeyHash     = 0x13 // SHA-256 → key
	tagAPIKeyUser     = 0x14 // user key → nothing
	tagVault          = 0x20 // vault → Vault
	tagVaultName      = 0x21 // lower-case owner/name → vault
	tagVaultRepo      = 0x22 // repository id at the forge → vault
	tagVaultAccount   = 0x23 // account 0x00 vault → nothing
	tagVaultKey       = 0x24 // vault generation → age file
	tagEnvironment    = 0x25 // vault environment → Environment
	tagNewest         = 0x26 // vault environment name → Newest, framed
	tagSecret         = 0x27 // vault secret → Secret
	tagTrash          = 0x28 // vault secret → nothing
	tagTrashDue       = 0x29 // expiry vault secret → nothing
	tagVersion        = 0x2a // version → Version, framed
	tagRevision       = 0x2b // vault environment revision → Revision
	tagOverride       = 0x2c // vault override → Override
	tagOrg            = 0x2d // forge 0x00 account → Org
	tagSession        = 0x2e // session → Session
	tagSessionUser    = 0x2f // user session → nothing
	tagActivity       = 0x30 // number → Activity, framed
	tagActivityEnd    = 0x31 // → LogEnd, framed; right behind the records, to lie in the page that an append writes anyway
	tagActivityActor  = 0x32 // user number-of-this-user → number
	tagActivityVault  = 0x33 // vault number-of-this-vault → number
	tagActivityLast   = 0x34 // list without its number → number of its last entry, when all were pruned
	tagActivityBase   = 0x35 // → Checkpoint
	tagCheckpoint     = 0x36 // number → Checkpoint
	tagActivityCursor = 0x37 // where records are streamed to → Cursor
	tagLocalName      = 0x40 // lower-case name → kind and id
	tagLocalUser      = 0x41 // user → LocalUser
	tagLocalOrg       = 0x42 // org → LocalOrg
	tagLocalMember    = 0x43 // org user → role
	tagLocalMemberOf  = 0x44 // user org → nothing
	tagLocalRepo      = 0x45 // repo → LocalRepo
	tagLocalRepoName  = 0x46 // owner 0x2f lower-case name → repo
	tagLocalGrant     = 0x47 // repo user → role
	tagLocalGrantedTo = 0x48 // user repo → nothing
	tagLocalLast      = 0x49 // → the highest local id given out
	tagSessionHash    = 0x50 // SHA-256 → session
	tagUsedState      = 0x51 // nonce → UsedState
	tagGrant          = 0x52 // user → Grant
	tagDevice         = 0x54 // SHA-256 of a device code → Device
	tagDeviceUserCode = 0x55 // SHA-256 of a user code → SHA-256 of its device code
	tagDelivery       = 0x56 // SHA-256 of the delivery's id → Delivery
	tagEvent          = 0x57 // number → Event
	tagOrgMember      = 0x58 // org user → OrgMember
	tagConnection     = 0x60 // connection → Connection
	tagConnectionUser = 0x61 // user connection → nothing
	tagLink           = 0x62 // vault link → SyncLink
	tagLinkConnection = 0x63 // connection vault link → nothing
	tagLinkAuto       = 0x64 // vault link → nothing; of links that sync by themselves
	tagLedgerKey      = 0x65 // vault → LedgerKey
	tagLedger         = 0x66 // vault environment place name → LedgerEntry
	tagSyncRun        = 0x67 // run → SyncRun
	tagSyncRunVault   = 0x68 // vault run → nothing
	tagSyncLease      = 0x69 // place → SyncLease

	tagBilling         = 0x70 // account → Billing
	tagBillingCustomer = 0x71 // customer at the payment provider → account
	tagBillingEvent    = 0x72 // SHA-256 of the event's id → BillingEvent
)

// key builds a key from its tag and parts: ID, uint64, string or []byte.
func key(tag byte, parts ...any) []byte {
	k := make([]byte, 1, 64)
	k[0] = tag
	for _, p := range parts {
		switch p := p.(type) {
		case ID:
			k = append(k, p[:]...)
		case uint64:
			k = binary.BigEndian.AppendUint64(k, p)
		case string:
			k = append(k, p...)
		case []byte:
			k = append(k, p...)
		default:
			panic(fmt.Sprintf("store: no key part of type %T", p))
		}
	}
	return k
}

// table keeps records of one type under one tag: a byte for the record's own
// version, then CBOR with whole numbers for names, which may gain members.
type table[T any] struct {
	tag  byte
	noun string
}

const recordVersion = 1

var (
	encoding, _ = cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode()
	decoding, _ = cbor.DecOptions{
		DefaultMapType:  reflect.TypeFor[map[string]any](),
		IntDec:          cbor.IntDecConvertSignedOrFail,
		MaxNestedLevels: 16,
	}.DecMode()
)

func (t table[T]) get(r kv.Reader, parts ...any) (T, error) {
	b, err := r.Get(key(t.tag, parts...))
	if err != nil {
		var zero T
		return zero, err
	}
	return t.decode(b)
}

func (t table[T]) decode(b []byte) (T, error) {
	var v T
	if len(b) == 0 || b[0] != recordVersion {
		return v, fmt.Errorf("%w: a record of type %s has an unknown form", kv.ErrCorrupt, t.noun)
	}
	if err := decoding.Unmarshal(b[1:], &v); err != nil {
		return v, fmt.Errorf("%w: a record of type %s cannot be read: %w", kv.ErrCorrupt, t.noun, err)
	}
	return v, nil
}

func (t table[T]) put(tx kv.Tx, v T, parts ...any) error {
	b, err := encoding.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", t.noun, err)
	}
	return tx.Put(key(t.tag, parts...), append([]byte{recordVersion}, b...))
}

func (t table[T]) delete(tx kv.Tx, parts ...any) error {
	return tx.Delete(key(t.tag, parts...))
}

// list decodes all records whose keys begin with parts, in order.
func (t table[T]) list(r kv.Reader, parts ...any) ([]T, error) {
	var all []T
	err := r.Scan(kv.Prefix(key(t.tag, parts...)), func(_, b []byte) error {
		v, err := t.decode(b)
		all = append(all, v)
		return err
	})
	return all, err
}

// exists reports whether a key is there.
func exists(r kv.Reader, k []byte) (bool, error) {
	_, err := r.Get(k)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// ids are the ids at the end of every key that begins with prefix.
func ids(r kv.Reader, prefix []byte) ([]ID, error) {
	var all []ID
	err := r.Scan(kv.Prefix(prefix), func(k, _ []byte) error {
		all = append(all, ID(k[len(k)-16:]))
		return nil
	})
	return all, err
}

// deleteAll removes every key that begins with prefix.
func deleteAll(tx kv.Tx, prefix []byte) error {
	var keys [][]byte
	err := tx.Scan(kv.Prefix(prefix), func(k, _ []byte) error {
		keys = append(keys, append([]byte(nil), k...))
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = tx.Delete(k)
		}
	}
	return err
}

// lastNumber is the number at the end of the last key that begins with prefix,
// and firstNumber that of the first; both 0 when there is none.
func lastNumber(r kv.Reader, prefix []byte) (uint64, error)  { return edge(r, prefix, true) }
func firstNumber(r kv.Reader, prefix []byte) (uint64, error) { return edge(r, prefix, false) }

func edge(r kv.Reader, prefix []byte, last bool) (n uint64, err error) {
	span := kv.Prefix(prefix)
	span.Limit, span.Reverse = 1, last
	err = r.Scan(span, func(k, _ []byte) error {
		n = binary.BigEndian.Uint64(k[len(k)-8:])
		return nil
	})
	return n, err
}
