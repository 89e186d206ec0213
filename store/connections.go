package store

import "errors"

// Connection is a user's access to a hosting provider, for one team there or, with
// no team, for the personal account.
type Connection struct {
	ID          ID     `cbor:"1,keyasint"`
	User        ID     `cbor:"2,keyasint"`
	Provider    string `cbor:"3,keyasint"`
	Account     string `cbor:"4,keyasint"` // id there, or ""
	AccountName string `cbor:"5,keyasint"`
	Team        string `cbor:"6,keyasint"` // id there; "" is the personal account
	TeamName    string `cbor:"7,keyasint"`
	Kind        string `cbor:"8,keyasint"`  // the provider's kind of token, in its adapter's word
	Access      []byte `cbor:"9,keyasint"`  // sealed under the system key
	Refresh     []byte `cbor:"10,keyasint"` // likewise; empty where there is none
	Expires     Millis `cbor:"11,keyasint"` // of Access; 0 is never
	Broken      bool   `cbor:"12,keyasint"` // the provider turned it down: its user must connect again
	Created     Millis `cbor:"13,keyasint"` // or connected again
	Updated     Millis `cbor:"14,keyasint"`
	Generation  uint64 `cbor:"15,keyasint"` // counts the tokens it had
}

var connections = table[Connection]{tagConnection, "connection"}

// Connections are all connections of everybody.
func (r Reader) Connections() ([]Connection, error) { return connections.list(r.kv) }

// Connection is the connection with this id.
func (r Reader) Connection(id ID) (Connection, error) { return connections.get(r.kv, id) }

// ConnectionsOf lists a user's connections, oldest first.
func (r Reader) ConnectionsOf(user ID) ([]Connection, error) {
	found, err := ids(r.kv, key(tagConnectionUser, user))
	if err != nil {
		return nil, err
	}
	all := make([]Connection, 0, len(found))
	for _, id := range found {
		c, err := r.Connection(id)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// PutConnection writes a connection, new or not. That no other of the user's has
// its provider and team is the caller's to see to, who has read them all.
func (tx Tx) PutConnection(c Connection) error {
	return errors.Join(
		connections.put(tx.kv, c, c.ID),
		tx.kv.Put(key(tagConnectionUser, c.User, c.ID), nil),
	)
}

// DeleteConnection removes a connection with all links that go through it.
func (tx Tx) DeleteConnection(c Connection) error {
	through, err := tx.LinksThrough(c.ID)
	if err != nil {
		return err
	}
	for _, l := range through {
		if err := tx.DeleteSyncLink(l); err != nil {
			return err
		}
	}
	return errors.Join(
		connections.delete(tx.kv, c.ID),
		tx.kv.Delete(key(tagConnectionUser, c.User, c.ID)),
	)
}
