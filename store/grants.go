package store

// Grant is what a user let us do at the code host by signing in there.
type Grant struct {
	User       ID     `cbor:"1,keyasint"`
	Access     []byte `cbor:"2,keyasint"` // sealed under the system key
	Refresh    []byte `cbor:"3,keyasint"` // likewise; empty where access tokens do not end
	Expires    Millis `cbor:"4,keyasint"` // of Access; 0 is never
	Renewed    Millis `cbor:"5,keyasint"`
	Generation uint64 `cbor:"6,keyasint"` // counts the user's sign-ins and renewals
}

var grants = table[Grant]{tagGrant, "grant"}

// Grant is a user's grant.
func (r Reader) Grant(user ID) (Grant, error) { return grants.get(r.kv, user) }

// Grants lists everybody's.
func (r Reader) Grants() ([]Grant, error) { return grants.list(r.kv) }

// PutGrant writes a user's grant in place of the one before.
func (tx Tx) PutGrant(g Grant) error { return grants.put(tx.kv, g, g.User) }

// DeleteGrant removes a user's grant.
func (tx Tx) DeleteGrant(user ID) error { return grants.delete(tx.kv, user) }
