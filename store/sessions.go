package store

import "slices"

// Session is one sign-in of a user: what a service token or the cookie of a
// browser stands for.
type Session struct {
	ID        ID     `cbor:"1,keyasint"`
	User      ID     `cbor:"2,keyasint"`
	Created   Millis `cbor:"3,keyasint"`
	Expires   Millis `cbor:"4,keyasint"`
	LastUsed  Millis `cbor:"5,keyasint"`
	IP        string `cbor:"6,keyasint"`
	UserAgent string `cbor:"7,keyasint"`
	Hash      []byte `cbor:"8,keyasint,omitempty"` // SHA-256 of the browser's token; none for a service token
}

// InBrowser reports whether a cookie stands for the session.
func (s Session) InBrowser() bool { return len(s.Hash) > 0 }

// Idle reports whether it is a browser's that was not used since an instant. A
// service token needs no use to stay good.
func (s Session) Idle(since Millis) bool {
	return s.InBrowser() && max(s.Created, s.LastUsed) < since
}

var sessions = table[Session]{tagSession, "session"}

// Session is the session with this id. A session that was ended is not found.
func (r Reader) Session(id ID) (Session, error) { return sessions.get(r.kv, id) }

// SessionByHash is the session of a browser whose token has this SHA-256.
func (r Reader) SessionByHash(hash [32]byte) (Session, error) {
	id, err := r.kv.Get(key(tagSessionHash, hash[:]))
	if err != nil {
		return Session{}, err
	}
	return r.Session(ID(id))
}

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
	if s.InBrowser() {
		if err := tx.kv.Put(key(tagSessionHash, s.Hash), s.ID[:]); err != nil {
			return err
		}
	}
	return sessions.put(tx.kv, s, s.ID)
}

// DeleteSession ends a session.
func (tx Tx) DeleteSession(s Session) error {
	if err := tx.kv.Delete(key(tagSessionUser, s.User, s.ID)); err != nil {
		return err
	}
	if s.InBrowser() {
		if err := tx.kv.Delete(key(tagSessionHash, s.Hash)); err != nil {
			return err
		}
	}
	return sessions.delete(tx.kv, s.ID)
}
