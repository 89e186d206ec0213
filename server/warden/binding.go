package warden

import (
	"context"
	"errors"
	"fmt"

	"coffer/server/forge"
	"coffer/store"
)

// bind holds the configured code host against the one whose ids stand in the
// records. Ids of another host would give strangers the rights of those who have
// the same numbers here, so a host is only changed while nothing depends on it,
// or when the operator says that it is the same one at a new address.
func (w *Warden) bind(ctx context.Context) error {
	var from, to host
	to = host{w.forge.Kind(), w.c.ForgeURL}
	bound := func(r store.Reader) error {
		i, err := r.Instance()
		if from = (host{i.ForgeKind, i.ForgeURL}); from.kind == "" {
			from.kind = forge.KindLocal
		}
		return err
	}
	err := w.store.View(ctx, bound)
	if errors.Is(err, store.ErrNotFound) || err == nil && from == to {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the instance's record: %w", err)
	}
	err = w.store.Update(ctx, func(tx store.Tx) error {
		if err := bound(tx.Reader); err != nil {
			return err
		}
		if err := w.mayRebind(tx.Reader, from, to); err != nil {
			return err
		}
		i, err := tx.Instance()
		if err != nil {
			return err
		}
		i.ForgeKind, i.ForgeURL = to.kind, to.url
		return tx.PutInstance(i)
	})
	if err == nil {
		w.log.InfoContext(ctx, "the instance is bound to another code host now", "before", from.String(), "now", to.String())
	}
	return err
}

// host is a code host: the same kind at the same address is the same host.
type host struct{ kind, url string }

func (h host) String() string {
	if h.kind == forge.KindLocal {
		return "the built-in code host (forge.kind: local)"
	}
	return h.kind + " at " + h.url
}

func (w *Warden) mayRebind(r store.Reader, from, to host) error {
	if from.kind == to.kind && from.url == w.c.ForgeMovedFrom {
		return nil
	}
	vaults, err := r.HasVaults()
	if err != nil {
		return err
	}
	users, err := r.HasUsersOf(from.kind)
	if err != nil || !vaults && !users {
		return err
	}
	return &OtherHostError{from.String(), to.String(), from.kind == to.kind, from.url}
}

// OtherHostError means that the data belongs to another code host than the one
// configured.
type OtherHostError struct {
	Bound, Configured string
	sameKind          bool
	url               string
}

func (e *OtherHostError) Error() string {
	text := fmt.Sprintf("this data belongs to %s, and the configuration names %s. "+
		"Users and repositories are known by their numbers there, which mean other people and repositories elsewhere. "+
		"Give the configuration that the data was made with (--config, COFFER_CONFIG or the COFFER_FORGE_ variables), "+
		"or take a fresh data directory for the other code host", e.Bound, e.Configured)
	if e.sameKind {
		text += fmt.Sprintf(". If it is the same code host at a new address, say so with forge.moved_from: %s", e.url)
	}
	return text
}
