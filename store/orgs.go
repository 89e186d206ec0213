package store

// Org is an organization of the code host, recorded at first sight.
type Org struct {
	ID          ID                                    `cbor:"1,keyasint"`
	Forge       string                                `cbor:"2,keyasint"` // kind of code host
	Account     string                                `cbor:"3,keyasint"` // immutable id there
	Login       string                                `cbor:"4,keyasint"` // name there, refreshed
	DisplayName string                                `cbor:"5,keyasint"`
	Defaults    map[string]map[string]map[string]bool `cbor:"6,keyasint"` // role → type → read, write
	Created     Millis                                `cbor:"7,keyasint"`
	Updated     Millis                                `cbor:"8,keyasint"`
}

var orgs = table[Org]{tagOrg, "organization"}

// OrgAt is the organization of an account at the code host.
func (r Reader) OrgAt(forge, account string) (Org, error) {
	return orgs.get(r.kv, forge, "\x00", account)
}

// PutOrg writes an organization.
func (tx Tx) PutOrg(o Org) error { return orgs.put(tx.kv, o, o.Forge, "\x00", o.Account) }
