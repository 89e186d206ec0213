package store

import "slices"

// Session is one sign-in of a user: what a service token stands for.
type Session struct {
	ID        ID     `cbor:"1,keyasint"`
	User      ID     `cbor:"2,keyasint"`
	Created   Millis `cbor:"3,keyasint"`
	Expires   Millis `cbor:"4,keyasint"`
	LastUsed  Millis `cbor:"5,keyasint"`
	IP        string `cbor:"6,keyasint"`
	UserAgent string `cbor:"7,keyasint"`
}

var sessions = table[Session]{tagSession, "session"}

// Session is the session with this id. A session that was ended is not found.
func (r Reader) Session(id ID) (Session, error) { return sessions.get(r.kv, id) }

// Sessions lists a user's sessions, newest first.
func (r Reader) Sessions(user ID) ([]Session, error) {
	found, err := ids(r.kv, key(tagSessionUser, user))
	if err != nil {
		return nil, err
	}
	slices.Reverse(found)
	all := make([]Session, 0, len(found))
	for _, id := range found {
		s, err := r.Session(id)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// PutSession writes a session.
func (tx Tx) PutSession(s Session) error {
	if err := tx.kv.Put(key(tagSessionUser, s.User, s.ID), nil); err != nil {
		return err
	}
	return sessions.put(tx.kv, s, s.ID)
}

// DeleteSession ends a session.
func (tx Tx) DeleteSession(s Session) error {
	if err := tx.kv.Delete(key(tagSessionUser, s.User, s.ID)); err != nil {
		return err
	}
	return sessions.delete(tx.kv, s.ID)
}
