package store

import (
	"errors"

	"coffer/store/kv"
)

// SyncLink is a target at a hosting provider that one of a vault's environments is
// synced with.
type SyncLink struct {
	ID          ID     `cbor:"1,keyasint"`
	Vault       ID     `cbor:"2,keyasint"`
	Environment ID     `cbor:"3,keyasint"`
	User        ID     `cbor:"4,keyasint"` // who made it, and as whom it syncs by itself
	Connection  ID     `cbor:"5,keyasint"`
	Provider    string `cbor:"6,keyasint"`
	Project     string `cbor:"7,keyasint"` // id there
	ProjectName string `cbor:"8,keyasint"`
	Service     string `cbor:"9,keyasint"` // id there, or ""
	ServiceName string `cbor:"10,keyasint"`
	Target      string `cbor:"11,keyasint"` // the provider's environment
	Auto        bool   `cbor:"12,keyasint"`
	References  bool   `cbor:"13,keyasint"`
	Created     Millis `cbor:"14,keyasint"`
	Synced      Millis `cbor:"15,keyasint"` // end of the last sync that did all; 0 is never
	Revision    uint64 `cbor:"16,keyasint"` // of the environment that is all there
	Status      string `cbor:"17,keyasint"` // of the last sync
	Problem     string `cbor:"18,keyasint"` // a sentence about it, or ""
	Ended       Millis `cbor:"19,keyasint"` // when it ended
	Failures    int    `cbor:"20,keyasint"` // in a row, of those by itself
	Next        Millis `cbor:"21,keyasint"` // not to sync by itself before
	Disabled    bool   `cbor:"22,keyasint"` // it syncs by itself no more, Problem says why
	Drift       int    `cbor:"23,keyasint"` // keys that a sync would change there
	Checked     Millis `cbor:"24,keyasint"` // when that was looked at
}

var links = table[SyncLink]{tagLink, "sync link"}

// SyncLinks lists a vault's links, oldest first.
func (r Reader) SyncLinks(vault ID) ([]SyncLink, error) { return links.list(r.kv, vault) }

// AllSyncLinks lists the links of all vaults.
func (r Reader) AllSyncLinks() ([]SyncLink, error) { return links.list(r.kv) }

// SyncLink is a link of this vault.
func (r Reader) SyncLink(vault, id ID) (SyncLink, error) { return links.get(r.kv, vault, id) }

// LinksThrough lists the links that go through a connection.
func (r Reader) LinksThrough(connection ID) ([]SyncLink, error) {
	return r.linksAt(key(tagLinkConnection, connection))
}

// AutoLinks lists all links that sync by themselves.
func (r Reader) AutoLinks() ([]SyncLink, error) { return r.linksAt(key(tagLinkAuto)) }

// linksAt reads the links whose vault and id end the keys that begin with prefix.
func (r Reader) linksAt(prefix []byte) ([]SyncLink, error) {
	var all []SyncLink
	err := r.kv.Scan(kv.Prefix(prefix), func(k, _ []byte) error {
		l, err := r.SyncLink(ID(k[len(k)-32:len(k)-16]), ID(k[len(k)-16:]))
		all = append(all, l)
		return err
	})
	return all, err
}

// PutSyncLink writes a link, new or not.
func (tx Tx) PutSyncLink(l SyncLink) error {
	before, err := tx.SyncLink(l.Vault, l.ID)
	if err == nil && before.Connection != l.Connection {
		err = tx.kv.Delete(key(tagLinkConnection, before.Connection, l.Vault, l.ID))
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	auto := key(tagLinkAuto, l.Vault, l.ID)
	if l.Auto && !l.Disabled {
		err = tx.kv.Put(auto, nil)
	} else {
		err = tx.kv.Delete(auto)
	}
	return errors.Join(
		err,
		links.put(tx.kv, l, l.Vault, l.ID),
		tx.kv.Put(key(tagLinkConnection, l.Connection, l.Vault, l.ID), nil),
	)
}

// DeleteSyncLink removes a link. What was learned of its target is kept, as long as
// its environment is.
func (tx Tx) DeleteSyncLink(l SyncLink) error {
	return errors.Join(
		links.delete(tx.kv, l.Vault, l.ID),
		tx.kv.Delete(key(tagLinkConnection, l.Connection, l.Vault, l.ID)),
		tx.kv.Delete(key(tagLinkAuto, l.Vault, l.ID)),
	)
}

func (tx Tx) deleteLinksOf(e Environment) error {
	all, err := tx.SyncLinks(e.Vault)
	for _, l := range all {
		if err == nil && l.Environment == e.ID {
			err = tx.DeleteSyncLink(l)
		}
	}
	return err
}
