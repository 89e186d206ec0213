package warden

import (
	"context"

	"coffer/store"
)

// ExpireTrash removes the secrets that were in the trash for their time.
func (w *Warden) ExpireTrash(ctx context.Context) (int, error) {
	total := 0
	for more := true; more; {
		n, err := w.step(ctx, func(tx store.Tx, j *journal) (n int, err error) {
			n, more, err = expireSome(tx, j)
			return n, err
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// expireSome removes as many due secrets as fit into one transaction, and of a
// secret with a long history a piece of that.
func expireSome(tx store.Tx, j *journal) (removed int, more bool, err error) {
	due, err := tx.DueTrash(store.At(j.now), stepMost)
	if err != nil {
		return 0, false, err
	}
	room := stepMost
	for _, s := range due {
		history, err := tx.ReplacedBefore(s.Version, store.At(j.now))
		if err != nil {
			return 0, false, err
		}
		if len(history.Versions) > stepMost {
			piece, _ := history.Split(stepMost)
			_, err := tx.CutHistory(piece)
			return removed, true, err
		}
		if room -= trashWeight + len(history.Versions); room < 0 && removed > 0 {
			return removed, true, nil
		}
		if err := expireSecret(tx, j, s); err != nil {
			return 0, false, err
		}
		removed++
	}
	return removed, len(due) == stepMost, nil
}

func expireSecret(tx store.Tx, j *journal, s store.Secret) error {
	vault, err := tx.Vault(s.Vault)
	if err != nil {
		return err
	}
	e, err := tx.Environment(s.Vault, s.Environment)
	if err != nil {
		return err
	}
	j.vault = vault
	j.note("secret_permanently_deleted", map[string]any{
		"secretId": s.ID.String(), "key": s.Key, "environment": e.Name, "retention": true,
	})
	e.Expired = store.At(j.now)
	if err := tx.DestroySecret(&e, s); err != nil {
		return err
	}
	return tx.PutEnvironment(e)
}
