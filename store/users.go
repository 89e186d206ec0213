package store

// User is a person or machine account of the code host, recorded at first sight.
type User struct {
	ID        ID     `cbor:"1,keyasint"`
	Forge     string `cbor:"2,keyasint"` // kind of code host
	Account   string `cbor:"3,keyasint"` // immutable id there
	Login     string `cbor:"4,keyasint"` // name there, refreshed
	Email     string `cbor:"5,keyasint"`
	AvatarURL string `cbor:"6,keyasint"`
	Created   Millis `cbor:"7,keyasint"`
	Disabled  Millis `cbor:"8,keyasint,omitempty"` // since when nothing of theirs lets anybody in; 0 is not
}

var users = table[User]{tagUser, "user"}

// User is the user with this id.
func (r Reader) User(id ID) (User, error) { return r.memos.users.get(r, users, id) }

// Users lists all users, in the order in which they came.
func (r Reader) Users() ([]User, error) { return users.list(r.kv) }

// UserAt is the user of an account at the code host.
func (r Reader) UserAt(forge, account string) (User, error) {
	id, err := r.kv.Get(key(tagUserForge, forge, "\x00", account))
	if err != nil {
		return User{}, err
	}
	return r.User(ID(id))
}

// PutUser writes a user and finds it by its account from then on.
func (tx Tx) PutUser(u User) error {
	if err := tx.kv.Put(key(tagUserForge, u.Forge, "\x00", u.Account), u.ID[:]); err != nil {
		return err
	}
	return users.put(tx.kv, u, u.ID)
}

// HasUsersOf reports whether anybody of a kind of code host was ever seen.
func (r Reader) HasUsersOf(forge string) (bool, error) {
	return r.any(key(tagUserForge, forge, "\x00"))
}
