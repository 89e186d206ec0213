package warden

import (
	"context"

	"coffer/server/forge"
	"coffer/store"
)

// TestOnlyGrant keeps a grant for the user of an account at the code host, as a
// sign-in there does.
func (w *Warden) TestOnlyGrant(ctx context.Context, account string, g forge.Grant) error {
	return w.withKeys(func(keys *keyring) error {
		return w.store.Update(ctx, func(tx store.Tx) error {
			u, err := tx.UserAt(w.forge.Kind(), account)
			if err != nil {
				return err
			}
			return w.putGrant(tx, keys, u.ID, g)
		})
	})
}
