package store

import (
	"errors"
	"testing"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// TestAFailureAnywhereLeavesNothingHalfDone breaks every step of every kind of
// change in turn.
func TestAFailureAnywhereLeavesNothingHalfDone(t *testing.T) {
	withEnv := func(work func(Tx, *Environment) error) func(Tx) error {
		return func(tx Tx) error {
			envs, err := tx.Environments(id(1))
			if err != nil {
				return err
			}
			if err := work(tx, &envs[0]); err != nil {
				return err
			}
			return tx.PutEnvironment(envs[0])
		}
	}
	for name, change := range map[string]func(Tx) error{
		"add a vault": func(tx Tx) error { return addSample(tx, 2, 2) },
		"trash": withEnv(func(tx Tx, e *Environment) error {
			n, err := tx.NewestOf(*e, "A0")
			if err != nil {
				return err
			}
			return tx.TrashSecret(e, n, 10, 20)
		}),
		"destroy": withEnv(func(tx Tx, e *Environment) error {
			all, err := tx.Trash(e.Vault)
			if err != nil {
				return err
			}
			return tx.DestroySecret(e, all[0])
		}),
		"rename": withEnv(func(tx Tx, e *Environment) error {
			n, err := tx.NewestOf(*e, "A1")
			if err != nil {
				return err
			}
			n.Key = "B"
			return tx.RenameSecret(*e, "A1", n)
		}),
		"delete the vault": func(tx Tx) error {
			v, err := tx.Vault(id(1))
			if err != nil {
				return err
			}
			return tx.DeleteVault(v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openOnce(t)
			sound := &Store{db: db}
			must(t, sound.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 3) }))
			must(t, sound.Update(ctx, withEnv(func(tx Tx, e *Environment) error {
				n, err := tx.NewestOf(*e, "A2")
				if err != nil {
					return err
				}
				return tx.TrashSecret(e, n, 10, 20)
			})))
			kvtest.EveryFault(t, db, func(db kv.DB) error {
				return (&Store{db: db}).Update(ctx, change)
			}, func(after error) {
				if after != nil && !errors.Is(after, kvtest.ErrFault) {
					t.Errorf("an injected fault shows as %v", after)
				}
				must(t, sound.Check(ctx))
			})
		})
	}
}
