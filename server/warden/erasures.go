package warden

import (
	"context"
	"errors"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// EraseVault removes a vault with everything in it but its activity, destroys its
// data keys, and has the data compacted, so that nothing of it is left in the data
// file. The receipt that proves it is made when that is done. What is begun is
// finished, by the next start if need be.
func (w *Warden) EraseVault(ctx context.Context, who Caller, req api.Erase) (*api.BegunErasure, error) {
	if err := w.mayCompact(ctx, who, access.VaultErase); err != nil {
		return nil, err
	}
	e := store.Erasure{ID: store.NewIDs(w.now()).Next(), By: who.user.Login}
	err := w.changeSelf(ctx, who, access.VaultErase, func(tx store.Tx, j *journal) error {
		vault, err := vaultCalled(tx.Reader, req.RepoFullName)
		if err != nil {
			return err
		}
		e.Vault, e.Repository, e.At = vault.ID, vault.Repository(), store.At(j.now)
		j.vault = vault
		j.note(vaultErased, map[string]any{"erasureId": e.ID.String()})
		return errors.Join(tx.DeleteVault(vault), tx.PutErasure(e))
	})
	if err != nil {
		return nil, err
	}
	if keys := w.keys.Load(); keys != nil {
		keys.forget(e.Vault)
	}
	// It is erased, whatever becomes of the rest now: the answer says how far it is.
	if err := w.compactions.ask(who).wait(ctx); err != nil {
		w.log.Error("a vault was erased, but the data are not compacted yet", "erasure", e.ID, "error", err)
	}
	err = w.store.View(context.WithoutCancel(ctx), func(r store.Reader) (err error) {
		e, err = r.Erasure(e.ID)
		return err
	})
	return &api.BegunErasure{Erasure: shownErasure(e)}, w.outward(err)
}

func vaultCalled(r store.Reader, repo string) (store.Vault, error) {
	id, err := r.VaultIDByName(repo)
	if errors.Is(err, store.ErrNotFound) {
		return store.Vault{}, api.Errorf(api.NotFound, "There is no vault for %s.", repo)
	}
	if err != nil {
		return store.Vault{}, err
	}
	return r.Vault(id)
}

// Erasures lists the vaults that were erased, newest first, with their receipts.
func (w *Warden) Erasures(ctx context.Context, who Caller, _ api.Empty) (*api.Erasures, error) {
	out := &api.Erasures{Erasures: []api.Erasure{}}
	err := w.self(ctx, who, access.ErasureList, func(r store.Reader) error {
		all, err := r.Erasures()
		for _, e := range all {
			out.Erasures = append(out.Erasures, shownErasure(e))
		}
		return err
	})
	return out, err
}

// Erasure is one of them.
func (w *Warden) Erasure(ctx context.Context, who Caller, ref api.ErasureRef) (*api.Erasure, error) {
	var out api.Erasure
	err := w.self(ctx, who, access.ErasureGet, func(r store.Reader) error {
		id, err := store.ParseID(ref.ID)
		var e store.Erasure
		if err == nil {
			e, err = r.Erasure(id)
		} else {
			err = store.ErrNotFound
		}
		if errors.Is(err, store.ErrNotFound) {
			return api.Errorf(api.NotFound, "There is no such erasure.")
		}
		out = shownErasure(e)
		return err
	})
	return &out, err
}

func shownErasure(e store.Erasure) api.Erasure {
	return api.Erasure{
		ID: e.ID.String(), RepoFullName: e.Repository, VaultID: e.Vault.String(),
		ErasedAt: api.At(e.At.Time()), ErasedBy: orNull(e.By), Receipt: orNull(string(e.Receipt)),
	}
}

// openErasures are those without a receipt.
func (w *Warden) openErasures(ctx context.Context) (open []store.Erasure, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		all, err := r.Erasures()
		open = slices.DeleteFunc(all, func(e store.Erasure) bool { return len(e.Receipt) > 0 })
		return err
	})
	return open, err
}

// FinishErasures compacts the data if a vault was erased and has no receipt yet:
// because the disk was full, say.
func (w *Warden) FinishErasures(ctx context.Context) error {
	if open, err := w.openErasures(ctx); err != nil || len(open) == 0 || w.c.File == nil {
		return err
	}
	run := w.compactions.ask(Caller{})
	select {
	case <-run.done:
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attest gives an erasure its receipt, after a compaction that began behind it.
func (w *Warden) attest(tx store.Tx, keys *keyring, e store.Erasure, c store.Compaction) error {
	record, err := recordOfErasure(tx.Reader, e)
	if err != nil {
		return err
	}
	e.Receipt, err = keys.audit.receipt(e, record, c)
	if err != nil {
		return err
	}
	return tx.PutErasure(e)
}

// recordOfErasure is the audit record of an erasure: one of the last of its vault,
// of which nothing but refusals can tell later.
func recordOfErasure(r store.Reader, e store.Erasure) (store.Row, error) {
	for offset := 0; ; offset += stepMost {
		all, _, err := r.ActivityIn(e.Vault, stepMost, offset)
		if err != nil {
			return store.Row{}, err
		}
		for _, a := range all {
			if a.Action == vaultErased && a.Metadata["erasureId"] == e.ID.String() {
				return r.ActivityRow(a.Number)
			}
		}
		if len(all) < stepMost {
			// It was pruned meanwhile: the receipt names none.
			return store.Row{}, nil
		}
	}
}
