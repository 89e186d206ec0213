package warden

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// UnsealMethods lists the ways to unseal, with what each protects from.
func (w *Warden) UnsealMethods(ctx context.Context, who Caller, _ api.Empty) ([]api.OperatorUnsealMethod, error) {
	all := []api.OperatorUnsealMethod{}
	err := w.self(ctx, who, access.UnsealMethodList, func(r store.Reader) error {
		methods, err := r.Methods()
		for _, m := range methods {
			all = append(all, operatorMethod(m))
		}
		return err
	})
	return all, err
}

func shownMethod(m store.Method) api.UnsealMethod {
	return api.UnsealMethod{ID: m.ID.String(), Kind: m.Kind, Fingerprint: m.Fingerprint, CreatedAt: api.At(m.Created.Time()),
		Threshold: m.Threshold, Total: m.Total}
}

func operatorMethod(m store.Method) api.OperatorUnsealMethod {
	shown := api.OperatorUnsealMethod{UnsealMethod: shownMethod(m), Label: m.Label, KeyFile: m.Path}
	if p, err := crypto.ParsePlugin([]byte(m.Identity), m.Recipient); m.Kind == api.MethodPlugin && err == nil {
		shown.Plugin = p.Name()
	}
	shown.ProtectsFrom, shown.DoesNotProtectFrom = protection(m.Kind)
	return shown
}

// protection says what an unseal method is good against, and against what not. In
// any case somebody who controls the machine while it is unsealed has everything.
func protection(kind string) (from, notFrom string) {
	switch kind {
	case api.MethodPassphrase:
		return "Somebody who takes the whole machine while it is off, unless the passphrase is in a file on it.",
			"Somebody who guesses it: they need only a copy of the data, and as much time as the passphrase is good for. After a reboot somebody must type it, unless it is in a file."
	case api.MethodKeyFile:
		return "Somebody who gets the data or its backups without the file.",
			"Somebody who gets the disk or the machine with the file on it. It starts by itself, for them too."
	case api.MethodRecovery:
		return "The loss of everything else: the key opens the data and its backups, on any machine.",
			"Whoever finds the key: it opens everything, alone. Keep it where nobody looks, and not beside the data."
	case api.MethodPlugin:
		return "Somebody who gets the data, the backups and the disk without the hardware that the plugin asks.",
			"The loss of that hardware: without another method everything is lost with it. Nor, with most plugins, from somebody who records now and has a quantum computer later."
	default:
		return "Any one holder, and the loss of some shares: nobody opens it alone, and as many as are needed open it without the others.",
			"Holders who agree, if they are as many as are needed. After a reboot as many must come together."
	}
}

// AddUnsealMethod adds a way to unseal for whoever shows one that is there already.
// What it makes is in the answer, this once.
func (w *Warden) AddUnsealMethod(ctx context.Context, who Caller, req api.AddUnsealMethod) (*api.AddedUnsealMethod, error) {
	if err := admit(who, access.UnsealMethodAdd); err != nil {
		return nil, w.settle(ctx, who, access.UnsealMethodAdd, store.Vault{}, err)
	}
	i, methods, err := w.instanceWithMethods(ctx)
	if err != nil {
		return nil, w.outward(err)
	}
	proof, err := w.prove(ctx, methods, i, req.Proof)
	if err != nil {
		return nil, err
	}
	now := w.now()
	m := store.Method{ID: store.NewIDs(now).Next(), Kind: req.Kind, Created: store.At(now), Label: req.Label}
	out := &api.AddedUnsealMethod{}
	if err := w.newMethod(ctx, &m, out, proof.master, req); err != nil {
		return nil, err
	}
	err = w.changeSelf(ctx, who, access.UnsealMethodAdd, func(tx store.Tx, j *journal) error {
		if err := stillProven(tx, proof); err != nil {
			return err
		}
		if err := w.vouch(tx.Reader, &m); err != nil {
			return err
		}
		j.note("unseal_method_added", aboutMethod(m))
		return tx.PutMethod(m)
	})
	if err != nil {
		return nil, err
	}
	out.OperatorUnsealMethod = operatorMethod(m)
	return out, nil
}

func aboutMethod(m store.Method) map[string]any {
	meta := map[string]any{"id": m.ID.String(), "kind": m.Kind}
	if m.Fingerprint != "" {
		meta["fingerprint"] = m.Fingerprint
	}
	if m.Label != "" {
		meta["label"] = m.Label
	}
	return meta
}

func (w *Warden) instanceWithMethods(ctx context.Context) (i store.Instance, methods []store.Method, err error) {
	if methods, err = w.methods(ctx); err != nil {
		return i, nil, err
	}
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		i, err = r.Instance()
		return err
	})
	return i, methods, err
}

// stillProven refuses what was proven by a method that has gone meanwhile, or for a
// master key that was replaced.
func stillProven(tx store.Tx, proof opened) error {
	_, gone := tx.Method(proof.method.ID)
	if gone != nil && !errors.Is(gone, store.ErrNotFound) {
		return gone
	}
	i, err := tx.Instance()
	if err != nil {
		return err
	}
	if gone != nil || i.Fingerprint != proof.master.Fingerprint() {
		return api.Errorf(api.Conflict, "Somebody changed the ways to unseal at the same time. Look at them, and try again.")
	}
	return nil
}

// newMethod makes a method's key and seals the master to it.
func (w *Warden) newMethod(ctx context.Context, m *store.Method, out *api.AddedUnsealMethod, master *crypto.Master, req api.AddUnsealMethod) (err error) {
	switch req.Kind {
	case api.MethodPassphrase:
		m.File, err = crypto.WrapPassphrase(master, []byte(req.Passphrase.Reveal()), w.c.WorkFactor)
		return err
	case api.MethodPlugin:
		return w.newPlugin(ctx, m, master, req)
	case api.MethodShares:
		identity, shares, err := crypto.NewShares(req.Threshold, req.Total)
		if err != nil {
			return api.InvalidField("total", api.NotAllowed, "%v.", err)
		}
		for _, s := range shares {
			out.Shares = append(out.Shares, api.Revealed(s.Reveal()))
		}
		m.Threshold, m.Total = req.Threshold, req.Total
		return sealFor(ctx, m, master, identity)
	case api.MethodKeyFile:
		if req.KeyFile != "" {
			m.Path = filepath.Clean(req.KeyFile)
		}
		return newKeyFile(ctx, m, out, master, req)
	default:
		return makeKey(ctx, m, out, master)
	}
}

// makeKey makes a key and hands it out.
func makeKey(ctx context.Context, m *store.Method, out *api.AddedUnsealMethod, master *crypto.Master) error {
	identity, err := crypto.NewIdentity()
	if err != nil {
		return err
	}
	key := api.Revealed(identity.Reveal())
	out.Key = &key
	return sealFor(ctx, m, master, identity)
}

func sealFor(ctx context.Context, m *store.Method, master *crypto.Master, identity *crypto.Identity) (err error) {
	m.Fingerprint, m.Recipient = identity.Fingerprint(), identity.Recipient()
	m.File, err = wrapFor(ctx, master, *m)
	return err
}

// newKeyFile takes the key that came along, or its public half, or makes one.
func newKeyFile(ctx context.Context, m *store.Method, out *api.AddedUnsealMethod, master *crypto.Master, req api.AddUnsealMethod) error {
	switch {
	case req.Key != nil:
		identity, err := crypto.ParseIdentity([]byte(req.Key.Reveal()))
		if err != nil {
			return api.InvalidField("key", api.NotAllowed, "This holds no usable key (%v).", err)
		}
		return sealFor(ctx, m, master, identity)
	case req.Recipient != "":
		fingerprint, err := crypto.RecipientFingerprint(req.Recipient)
		if err != nil {
			return api.InvalidField("recipient", api.NotAllowed, "%v.", sentence(err.Error()))
		}
		m.Fingerprint, m.Recipient = fingerprint, strings.TrimSpace(req.Recipient)
		m.File, err = wrapFor(ctx, master, *m)
		return err
	}
	return makeKey(ctx, m, out, master)
}

// newPlugin seals the master to a plugin's key, and has the plugin open it: one that
// does not is found out now and not after the next reboot.
func (w *Warden) newPlugin(ctx context.Context, m *store.Method, master *crypto.Master, req api.AddUnsealMethod) error {
	p, err := crypto.ParsePlugin([]byte(req.Identity), req.Recipient)
	if errors.Is(err, crypto.ErrRecipient) {
		return api.InvalidField("recipient", api.NotAllowed, "%s.", sentence(err.Error()))
	}
	if err != nil {
		return api.InvalidField("identity", api.NotAllowed, "%s.", sentence(err.Error()))
	}
	m.Identity, m.Recipient, m.Fingerprint = p.Identity(), p.Recipient(), p.Fingerprint()
	m.File, err = wrapFor(ctx, master, *m)
	if err == nil {
		_, err = byPlugin(ctx, *m)
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return api.InvalidField("identity", api.NotAllowed, "%s", e.Message)
	}
	return err
}

// RemoveUnsealMethod takes a way to unseal away for whoever shows another one. So
// there is always one that opens: not only in the list, but in somebody's hands.
func (w *Warden) RemoveUnsealMethod(ctx context.Context, who Caller, req api.RemoveUnsealMethod) (*api.RemovedUnsealMethod, error) {
	if err := admit(who, access.UnsealMethodRemove); err != nil {
		return nil, w.settle(ctx, who, access.UnsealMethodRemove, store.Vault{}, err)
	}
	i, methods, err := w.instanceWithMethods(ctx)
	if err != nil {
		return nil, w.outward(err)
	}
	var others []store.Method
	var target *store.Method
	for n, m := range methods {
		if m.ID.String() == req.ID {
			target = &methods[n]
		} else {
			others = append(others, m)
		}
	}
	switch {
	case target == nil:
		return nil, errNoMethod()
	case len(others) == 0:
		return nil, api.Errorf(api.Conflict, "This is the last way to unseal: without it everything would be lost. Add another one first.")
	}
	proof, err := w.prove(ctx, others, i, req.Proof)
	if err != nil {
		if _, same := w.prove(ctx, []store.Method{*target}, i, req.Proof); same == nil {
			return nil, api.Errorf(api.Forbidden, "Show another way to unseal than the one that you remove: one that stays must be known to open. Send its passphrase, key or shares along.")
		}
		return nil, err
	}
	out := &api.RemovedUnsealMethod{ID: req.ID, Warning: warningWithout(*target, others)}
	return out, w.changeSelf(ctx, who, access.UnsealMethodRemove, func(tx store.Tx, j *journal) error {
		if err := stillProven(tx, proof); err != nil {
			return err
		}
		if _, err := tx.Method(target.ID); errors.Is(err, store.ErrNotFound) {
			return errNoMethod()
		} else if err != nil {
			return err
		}
		j.note("unseal_method_removed", aboutMethod(*target))
		return tx.DeleteMethod(target.ID)
	})
}

func errNoMethod() *api.Error {
	return api.Errorf(api.NotFound, "There is no such way to unseal. List them: coffer unseal-method list.")
}

// warningWithout is what to do now that a method is gone.
func warningWithout(gone store.Method, left []store.Method) string {
	if gone.Kind != api.MethodRecovery {
		return ""
	}
	for _, m := range left {
		if m.Kind == api.MethodRecovery {
			return ""
		}
	}
	return "This was the last recovery key. Whoever loses what is left loses everything; backups made before still open with the old one. Add a new one: coffer unseal-method add recovery."
}
