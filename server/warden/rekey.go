package warden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Rekey replaces the master key and the root key. The caller proves it with one of the
// unseal methods, because the server by itself must not be able to get at the master
// key. What the new master key is wrapped to, it can do by itself: a file to a public
// half needs nobody to be there.
//
// One transaction writes the files of all methods, both root keys under the new master
// key, and the system key under the new root key. Before it nothing has begun; after
// it the old master key opens nothing, and what is left is to wrap the data keys.
func (w *Warden) Rekey(ctx context.Context, who Caller, req api.Rekey) (*api.Rekeyed, error) {
	if err := admit(who, access.Rekey); err != nil {
		return nil, w.settle(ctx, who, access.Rekey, store.Vault{}, err)
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	var out *api.Rekeyed
	err := w.withKeys(func(keys *keyring) error {
		r := rekeying{w: w, keys: keys, req: req}
		if err := r.prepare(ctx); err != nil {
			return w.outward(err)
		}
		err := r.commit(ctx, who)
		if err == nil {
			out = r.answer()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.log.Info("the master key was replaced", "key", out.Fingerprint, "before", out.Before)
	w.rotator.rouse()
	return out, nil
}

// rekeying is one rekey under way.
type rekeying struct {
	w    *Warden
	keys *keyring
	req  api.Rekey

	before  store.Instance
	methods []store.Method // as they are
	after   store.Instance
	carried []store.Method // as they will be
	dropped []store.Method
	fresh   *rooted
	master  *crypto.Master
	key     *crypto.Identity // the new recovery key, or nil
	begun   store.Rotation
	proof   opened
	doubt   bool // whether it will be there after a restart
}

// prepare makes all keys and files, outside of any transaction: passphrases take time.
func (r *rekeying) prepare(ctx context.Context) (err error) {
	if r.before, r.methods, err = r.w.instanceWithMethods(ctx); err != nil {
		return err
	}
	var total int
	err = r.w.store.View(ctx, func(s store.Reader) (err error) {
		total, err = s.CountVaultKeys()
		return err
	})
	if err != nil {
		return err
	}
	if len(r.before.OldRootKey) > 0 {
		return errRekeying()
	}
	r.begun.Total = total
	if r.proof, err = r.w.prove(ctx, r.methods, r.before, r.req.Shown()); err != nil {
		return err
	}
	if r.master, err = crypto.NewMaster(); err != nil {
		return err
	}
	if err := r.carry(ctx); err != nil {
		return err
	}
	return r.newRoot()
}

func (r *rekeying) newRoot() error {
	u := r.keys.under.Load()
	root, file, err := crypto.NewRoot(r.master)
	if err != nil {
		return err
	}
	r.after = r.before
	r.after.RootKey = file
	r.after.OldRootKey, err = r.master.WrapRoot(u.root)
	if err == nil {
		r.after.SystemKey, err = root.RewrapDataKey(u.root, systemKey, r.before.SystemKey)
	}
	if err != nil {
		root.Destroy()
		return err
	}
	r.after.Fingerprint, r.after.Recipient = r.master.Fingerprint(), r.master.Recipient()
	r.after.Epoch++
	r.fresh = newRooted(root, u.root, r.after.Epoch)
	for i := range r.carried {
		r.fresh.vouch(&r.carried[i])
	}
	return nil
}

// commit writes everything at once, and then takes the new keys into use.
func (r *rekeying) commit(ctx context.Context, who Caller) error {
	err := r.w.changeSelf(ctx, who, access.Rekey, r.write)
	if err != nil && !r.written(ctx) {
		r.fresh.root.Destroy()
		return err
	}
	r.keys.putRoot(r.fresh)
	if r.doubt = err != nil; r.doubt {
		r.w.log.Error("the disk failed while the master key was replaced; whether it was shows after a restart", "error", err)
	}
	return nil
}

const rekeyDoubt = "The disk failed in the middle of it. Only a restart of the server shows whether the old master key is in force or the new one: keep everything that opened the server before, too. Mend the disk, start the server again, and look: coffer rotate --status."

// written reports whether the change was made although its outcome was not learned.
func (r *rekeying) written(ctx context.Context) bool {
	var now store.Instance
	err := r.w.store.View(context.WithoutCancel(ctx), func(s store.Reader) (err error) {
		now, err = s.Instance()
		return err
	})
	return err == nil && bytes.Equal(now.RootKey, r.after.RootKey)
}

func (r *rekeying) write(tx store.Tx, j *journal) error {
	if err := r.unchanged(tx); err != nil {
		return err
	}
	after := r.after
	after.MasterSince = store.At(j.now)
	total := r.begun.Total
	r.begun = beginRewrap(j, total)
	j.note("master_key_replaced", map[string]any{
		"fingerprint": after.Fingerprint, "before": r.before.Fingerprint, "methods": len(r.carried), "dropped": len(r.dropped),
		"newRecoveryKey": r.key != nil,
	})
	if err := errors.Join(tx.PutInstance(after), tx.PutRotation(r.begun)); err != nil {
		return err
	}
	for _, m := range r.methods {
		if err := tx.DeleteMethod(m.ID); err != nil {
			return err
		}
	}
	for _, m := range r.carried {
		if err := tx.PutMethod(m); err != nil {
			return err
		}
	}
	return nil
}

// unchanged wants instance and methods to be what the new files were made for.
func (r *rekeying) unchanged(tx store.Tx) error {
	now, err := tx.Instance()
	if err != nil {
		return err
	}
	methods, err := tx.Methods()
	if err != nil {
		return err
	}
	same := now.Epoch == r.before.Epoch && slices.EqualFunc(methods, r.methods, func(a, b store.Method) bool {
		return a.ID == b.ID && bytes.Equal(a.File, b.File)
	})
	if !same {
		return api.Errorf(api.Conflict, "The unseal methods were changed meanwhile: nothing was done. Look at them, and rekey again.")
	}
	return nil
}

func (r *rekeying) answer() *api.Rekeyed {
	out := &api.Rekeyed{
		Fingerprint: r.after.Fingerprint, Before: r.before.Fingerprint,
		Methods: shownMethods(r.carried), Dropped: shownMethods(r.dropped),
		Rotation: api.Rotation{Of: api.RotationRoot, StartedAt: api.At(r.begun.Started.Time()), Total: r.begun.Total},
	}
	if r.doubt {
		out.Warning = rekeyDoubt
	}
	if r.key != nil {
		out.RecoveryKey = new(api.Revealed(r.key.Reveal()))
	}
	return out
}

// carry makes the files of all methods for the new master key.
func (r *rekeying) carry(ctx context.Context) error {
	if err := r.knowsDropped(); err != nil {
		return err
	}
	var stuck []string
	for _, m := range r.methods {
		switch {
		case slices.Contains(r.req.Drop, m.ID.String()), r.req.NewRecoveryKey && m.Kind == api.MethodRecovery:
			r.dropped = append(r.dropped, m)
			continue
		}
		file, why, err := r.carryOver(ctx, &m)
		if err != nil {
			return err
		}
		if why != "" {
			stuck = append(stuck, fmt.Sprintf("%s %s: %s", strings.TrimSpace(m.Kind+" "+m.Fingerprint), m.ID, why))
			continue
		}
		m.File = file
		r.carried = append(r.carried, m)
	}
	if len(stuck) > 0 {
		return &api.Error{Code: api.Conflict, Extra: map[string]any{"methods": stuck}, Message: "Nothing was done: the new master key cannot be carried over to " +
			strings.Join(stuck, "; ") + ". Or drop it: coffer rekey --drop ID."}
	}
	if r.req.NewRecoveryKey {
		if len(r.carried) == 0 {
			// It is shown once, after the commit: a kill or a lost connection
			// between the two would take everything with it.
			return api.InvalidField("newRecoveryKey", api.NotAllowed,
				"The new recovery key would be the only way to unseal, and it is shown once: if that answer got lost, everything would be. Add another way first: coffer unseal-method add recovery.")
		}
		if err := r.newRecovery(); err != nil {
			return err
		}
	}
	if len(r.carried) == 0 {
		return api.InvalidField("drop", api.NotAllowed, "At least one unseal method must stay, or nobody could open the instance again.")
	}
	return nil
}

func (r *rekeying) newRecovery() error {
	now := r.w.now()
	key, m, err := recoveryMethod(r.master, store.NewIDs(now), now)
	r.key, r.carried = key, append(r.carried, m)
	return err
}

func (r *rekeying) knowsDropped() error {
	for _, id := range r.req.Drop {
		if !slices.ContainsFunc(r.methods, func(m store.Method) bool { return m.ID.String() == id }) {
			return api.InvalidField("drop", api.NotAllowed, "There is no unseal method %s. See: coffer status.", id)
		}
	}
	return nil
}

// carryOver is the new master key in a file for a method, or why there can be none.
func (r *rekeying) carryOver(ctx context.Context, m *store.Method) (file []byte, why string, err error) {
	if m.Kind == api.MethodPassphrase {
		return r.carryPassphrase(*m)
	}
	if r.proof.method.ID == m.ID && r.proof.recipient != "" {
		m.Recipient = r.proof.recipient // of the very key that was shown
		if m.Fingerprint, err = crypto.RecipientFingerprint(m.Recipient); err != nil {
			return nil, "", err
		}
	} else if !r.keys.under.Load().vouched(*m) {
		return nil, "its public half is not known for sure; unseal once with that key first, or bring it along", nil
	}
	file, err = wrapFor(ctx, r.master, *m)
	if e, ok := errors.AsType[*api.Error](err); ok {
		return nil, e.Message, nil
	}
	return file, "", err
}

func (r *rekeying) carryPassphrase(m store.Method) (file []byte, why string, err error) {
	for _, passphrase := range r.passphrases() {
		_, err := crypto.UnwrapPassphrase(m.File, passphrase)
		if err == nil {
			file, err = crypto.WrapPassphrase(r.master, passphrase, r.w.c.WorkFactor)
			return file, "", err
		}
		if !errors.Is(err, crypto.ErrWrongPassphrase) {
			return nil, "", err
		}
	}
	return nil, "its passphrase is needed; bring it along", nil
}

// passphrases are those at hand: of the request, and of the configuration.
func (r *rekeying) passphrases() (all [][]byte) {
	given := []*api.Secret{r.req.Passphrase}
	if r.req.Proof != nil {
		given = append(given, r.req.Proof.Passphrase)
	}
	for _, p := range given {
		if p != nil {
			all = append(all, []byte(p.Reveal()))
		}
	}
	for _, s := range r.w.start.configured.Sources {
		if text, err := s.Read(); err == nil && s.Kind == api.MethodPassphrase {
			all = append(all, text)
		}
	}
	return all
}
