package store

// Override sets what one user, or everybody with one role, may do in one
// environment of a vault or in all of them.
type Override struct {
	ID          ID     `cbor:"1,keyasint"`
	Vault       ID     `cbor:"2,keyasint"`
	Environment ID     `cbor:"3,keyasint"` // zero for all
	User        ID     `cbor:"4,keyasint"` // zero when it is for a role
	Role        string `cbor:"5,keyasint"`
	Read        bool   `cbor:"6,keyasint"`
	Write       bool   `cbor:"7,keyasint"`
	CreatedBy   ID     `cbor:"8,keyasint"`
	Created     Millis `cbor:"9,keyasint"`
	Updated     Millis `cbor:"10,keyasint"`
}

var overrides = table[Override]{tagOverride, "permission override"}

// Overrides lists a vault's overrides, oldest first.
func (r Reader) Overrides(vault ID) ([]Override, error) { return overrides.list(r.kv, vault) }

// Override is an override of this vault.
func (r Reader) Override(vault, id ID) (Override, error) { return overrides.get(r.kv, vault, id) }

// PutOverride writes an override. That no other has its target is the caller's
// to see to, who has read them all.
func (tx Tx) PutOverride(o Override) error { return overrides.put(tx.kv, o, o.Vault, o.ID) }

// DeleteOverride removes an override.
func (tx Tx) DeleteOverride(o Override) error { return overrides.delete(tx.kv, o.Vault, o.ID) }

func (tx Tx) deleteOverridesOf(e Environment) error {
	all, err := tx.Overrides(e.Vault)
	for _, o := range all {
		if err == nil && o.Environment == e.ID {
			err = tx.DeleteOverride(o)
		}
	}
	return err
}
