package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// refusal is an *api.Error that goes into the audit log.
type refusal struct {
	answer      *api.Error
	reason      access.Denial
	environment string
	repo        string // of a vault that is not there, and would be
}

func (r *refusal) Error() string { return r.answer.Error() }

// sourceDenied is the one reason that access knows nothing of: an address.
const sourceDenied access.Denial = "source_ip"

// Admit decides what a credential alone decides: whether its kind and its scopes
// are enough for the action. repo is the repository that the request names, if
// it names one, so that the refusal is recorded there.
func (w *Warden) Admit(ctx context.Context, who Caller, act access.Action, repo string) error {
	refused := admit(who, act)
	if refused == nil {
		return nil
	}
	return w.settle(ctx, who, act, w.vaultNamed(ctx, repo), refused)
}

func admit(who Caller, act access.Action) error {
	if who.misplaced {
		return &refusal{reason: sourceDenied, answer: api.Errorf(api.Forbidden,
			"This API key may not be used from %s. Use it from an allowed address, or create a key that allows this one.", who.ip)}
	}
	denial := act.Admit(who.kinds(), who.scopes)
	if denial == access.Granted {
		return nil
	}
	row := act.Row()
	if row.Kinds&who.kinds() == 0 && row.Kinds&access.OperatorSession != 0 && who.kinds()&access.Session != 0 {
		return &refusal{reason: denial, answer: api.Errorf(api.Forbidden,
			"Only operators of this server may do this. Ask one of them to do it, or to let you.")}
	}
	if row.Kinds&who.kinds() == 0 {
		return &refusal{reason: denial, answer: api.Errorf(api.Forbidden,
			"This cannot be done with this kind of credential (%s); it takes: %s.", who.kind, row.Kinds)}
	}
	return &refusal{reason: denial, answer: api.Errorf(api.Forbidden,
		"This API key lacks the scope %s. Create a key that has it.", row.Scopes)}
}

// vaultNamed is the vault of a repository, or the zero Vault: for records of
// refusals, which are written even if it cannot be found.
func (w *Warden) vaultNamed(ctx context.Context, repo string) store.Vault {
	if repo == "" {
		return store.Vault{}
	}
	v, _ := w.vaultBy(ctx, func(r store.Reader) (store.ID, error) { return r.VaultIDByName(repo) })
	return v
}

// errNoVault answers for a vault that does not exist and for one that the caller
// has no role on, in the same words.
func errNoVault(repo string) *api.Error {
	return api.Errorf(api.NotFound,
		"There is no vault for %s, or you have no access to the repository. Create the vault, or ask an admin of the repository for access.", repo)
}

// pass is what the door found out about a caller before any transaction.
type pass struct {
	w     *Warden
	who   Caller
	act   access.Action
	vault store.Vault
	found found
	keys  *keyring
}

// enter decides what can be decided without looking into the vault. On success
// the keyring is held; leave releases it.
func (w *Warden) enter(ctx context.Context, who Caller, act access.Action, repo string) (*pass, error) {
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, w.vaultNamed(ctx, repo), err)
	}
	vault, found, err := w.find(ctx, who, repo)
	if err != nil {
		return nil, w.settle(ctx, who, act, vault, err)
	}
	if vault.ID.IsZero() {
		return nil, errNoVault(repo)
	}
	if err := w.refuse(ctx, who, act, vault, found, repo); err != nil {
		return nil, w.settle(ctx, who, act, vault, err)
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	return &pass{w, who, act, vault, found, keys}, nil
}

// refuse holds what the code host said of a caller against what the action needs.
func (w *Warden) refuse(ctx context.Context, who Caller, act access.Action, vault store.Vault, f found, repo string) error {
	owns, err := w.orphaned(ctx, who, act, vault, f)
	if err != nil {
		return err
	}
	if owns {
		return refuseRole(who, act, access.Admin, access.Outsider, repo) // all else that limits an admin limits them
	}
	standing := access.Outsider
	if row := act.Row(); row.Standing != access.Outsider && f.role != access.None && f.role < row.Role {
		if standing, err = w.standing(ctx, who, vault); err != nil {
			return err
		}
	}
	return refuseRole(who, act, f.role, standing, repo)
}

// standing is what the caller is to the organization of a vault, live at the code
// host.
func (w *Warden) standing(ctx context.Context, who Caller, vault store.Vault) (access.Standing, error) {
	if vault.OwnerKind != store.OwnerOrg {
		return access.Outsider, nil
	}
	said, err := w.askStanding(ctx, who, organizationWith(vault))
	if err != nil {
		return access.Outsider, w.errForge(ctx, who, err)
	}
	return standingOf(said), nil
}

func (p *pass) leave() { p.keys.users.RUnlock() }

// settle ends what a caller did in a vault. Where that went well, the vault's
// organization is looked at some time later.
func (p *pass) settle(ctx context.Context, err error) error {
	err = p.w.settle(ctx, p.who, p.act, p.vault, err)
	if err == nil && p.vault.OwnerKind == store.OwnerOrg {
		p.w.host.rosters.visited(p.vault.OwnerID, p.who.user)
	}
	return err
}

// refuseRole asks access about everything but environments.
func refuseRole(who Caller, act access.Action, role access.Role, standing access.Standing, repo string) error {
	facts := access.Facts{Role: role, Standing: standing, Rights: access.Rights{Read: true, Write: true},
		Type: access.Development, TestKey: who.isTest()}
	switch denial := act.Decide(facts); denial {
	case access.Granted:
		return nil
	case access.NoRole:
		return &refusal{reason: denial, answer: errNoVault(repo)}
	case access.RoleTooLow:
		return &refusal{reason: denial, answer: api.Errorf(api.Forbidden,
			"This needs the role %s on %s; yours is %s. Ask an admin of the repository.", act.Row().Role, repo, role)}
	default:
		return &refusal{reason: denial, answer: api.Errorf(api.Forbidden,
			"A test key may not do this. Use a live key.")}
	}
}

// read lets a caller look into a vault. What look notes is recorded before read
// returns; without the record there is no answer. Values that look copied out
// sealed are opened by the caller of read afterwards, with p.open.
func (w *Warden) read(ctx context.Context, who Caller, act access.Action, repo string, look func(*visit) error) error {
	return w.readThen(ctx, who, act, repo, look, nil)
}

// readThen is read, with work to do outside the transaction while the keys are
// still held: opening values.
func (w *Warden) readThen(ctx context.Context, who Caller, act access.Action, repo string, look, then func(*visit) error) error {
	p, err := w.enter(ctx, who, act, repo)
	if err != nil {
		return err
	}
	defer p.leave()
	var v *visit
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		if v, err = p.visit(r, w.now()); err != nil {
			return err
		}
		return look(v)
	})
	if err == nil && then != nil {
		err = then(v)
	}
	if err == nil {
		err = w.record(ctx, p.keys, v.notes)
	}
	return p.settle(ctx, err)
}

// change lets a caller change a vault. What work wrote and what it noted become
// durable together or not at all.
func (w *Warden) change(ctx context.Context, who Caller, act access.Action, repo string, work func(*visit) error) error {
	p, err := w.enter(ctx, who, act, repo)
	if err != nil {
		return err
	}
	defer p.leave()
	now := w.now()
	ids := store.NewIDs(now)
	touched := false
	err = w.append(ctx, p.keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		v, err := p.visit(tx.Reader, now)
		if err != nil {
			return nil, err
		}
		v.tx, v.ids = tx, ids
		if err := work(v); err != nil {
			return nil, err
		}
		touched = v.touched
		return v.notes, v.withinPlan()
	})
	if err == nil && touched {
		w.syncs.rouse()
	}
	return p.settle(ctx, err)
}

// self lets a caller look at what is their own.
func (w *Warden) self(ctx context.Context, who Caller, act access.Action, look func(store.Reader) error) error {
	if err := admit(who, act); err != nil {
		return w.settle(ctx, who, act, store.Vault{}, err)
	}
	return w.settle(ctx, who, act, store.Vault{}, w.store.View(ctx, look))
}

// changeSelf lets a caller change what is their own.
func (w *Warden) changeSelf(ctx context.Context, who Caller, act access.Action, work func(store.Tx, *journal) error) error {
	if err := admit(who, act); err != nil {
		return w.settle(ctx, who, act, store.Vault{}, err)
	}
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	now := w.now()
	ids := store.NewIDs(now)
	err = w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		j := &journal{w: w, who: who, now: now, ids: ids}
		err := work(tx, j)
		return j.notes, err
	})
	return w.settle(ctx, who, act, store.Vault{}, err)
}

// settle records a refusal and makes of any error what the caller may see.
func (w *Warden) settle(ctx context.Context, who Caller, act access.Action, vault store.Vault, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return w.outward(err)
	}
	if refused.repo != "" {
		vault.Owner, vault.Name, _ = api.SplitRepo(refused.repo)
	}
	if vault.Owner == "" {
		return refused.answer
	}
	j := journal{w: w, who: who, now: w.now(), vault: vault}
	meta := map[string]any{"operation": act.String(), "reason": string(refused.reason)}
	if refused.environment != "" {
		meta["environment"] = refused.environment
	}
	if w.c.Status != nil {
		meta["status"] = w.c.Status(refused.answer.Code)
	}
	j.note("access_denied", meta)
	j.notes[0].VaultOnly = !vault.ID.IsZero() && !w.knowsOf(ctx, who, vault)
	if err := w.write(ctx, j.notes); err != nil {
		return w.outward(err)
	}
	return refused.answer
}

// knowsOf reports whether a caller may know that there is a vault. Their own
// activity must not tell them of one that every other answer hides.
func (w *Warden) knowsOf(ctx context.Context, who Caller, vault store.Vault) bool {
	f, err := w.role(ctx, who, vault)
	return err == nil && f.role != access.None
}
