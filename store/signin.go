package store

// UsedState remembers that a browser came back from the code host with a state,
// so that it cannot come back with it again.
type UsedState struct {
	Nonce   []byte `cbor:"1,keyasint"`
	Expires Millis `cbor:"2,keyasint"` // when the state is good no longer anyway
}

var usedStates = table[UsedState]{tagUsedState, "used state"}

// UseState notes the use of a state, or fails with ErrExists if it was used.
func (tx Tx) UseState(s UsedState) error {
	used, err := exists(tx.kv, key(tagUsedState, s.Nonce))
	if err != nil {
		return err
	}
	if used {
		return ErrExists
	}
	return usedStates.put(tx.kv, s, s.Nonce)
}

// ExpiredStates lists the used states that are good no longer.
func (r Reader) ExpiredStates(now Millis) ([]UsedState, error) {
	return filter(r, usedStates, func(s UsedState) bool { return s.Expires <= now })
}

// ForgetState forgets a used state.
func (tx Tx) ForgetState(s UsedState) error { return usedStates.delete(tx.kv, s.Nonce) }
