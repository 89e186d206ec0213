package warden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/syncplan"
	"coffer/store"
)

// A sync looks at both sides, plans, and does what the plan says. Looking takes
// our side from one transaction, and the provider's from calls outside of any; what
// is planned is the same for a preview and for a run, because both come through
// here. See syncruns.go for the doing.

// syncState is what is known of syncs under way in this process.
type syncState struct {
	life     context.Context    // of syncs in this process
	stop     context.CancelFunc // ends it
	renewals singleflight.Group // of connections
	wake     chan struct{}      // something that links sync has changed
	busy     atomic.Bool        // there are links that sync by themselves, or runs under way

	mu   sync.Mutex
	runs map[store.ID]context.CancelCauseFunc // under way in this process
}

func newSyncState(closing context.Context) *syncState {
	life, stop := context.WithCancel(closing)
	return &syncState{life: life, stop: stop, wake: make(chan struct{}, 1), runs: make(map[store.ID]context.CancelCauseFunc)}
}

// errHalted means that a run stops because the keys go or the process does. It is
// gone on with later.
var errHalted = errors.New("the server is being sealed or stops")

// StopSyncs lets the runs of syncs under way stop as soon as they can, for this
// process is about to end. The next one goes on with them. Who waits for one is
// told that it still runs.
func (w *Warden) StopSyncs() { w.syncs.stop() }

// halt stops all runs under way until there are keys again.
func (s *syncState) halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.runs {
		stop(errHalted)
	}
}

// rouse has links looked at, if there are any that sync by themselves.
func (s *syncState) rouse() {
	if s.busy.Load() {
		nudge(s.wake)
	}
}

// engage says that there is something to look after.
func (s *syncState) engage() {
	s.busy.Store(true)
	nudge(s.wake)
}

// sides is both sides of a sync, and what lies between them.
type sides struct {
	w      *Warden
	who    Caller
	act    access.Action
	asked  api.SyncTarget
	vault  store.Vault
	env    store.Environment
	role   access.Role
	max    int // bytes of a value in this vault
	local  map[string]api.Secret
	ledger *crypto.Ledger

	to     *reached
	target hosting.Target
	place  store.Place
	remote []hosting.Variable
	known  map[string]store.LedgerEntry
	plan   syncplan.Plan
}

// compare looks at both sides and plans. Its error is one that the caller may see,
// or one of hosting's when ours was all right and the provider was not.
func (w *Warden) compare(ctx context.Context, who Caller, act access.Action, t api.SyncTarget) (*sides, error) {
	s := &sides{w: w, who: who, act: act, asked: t}
	if err := s.here(ctx); err != nil {
		return s, err
	}
	if err := s.aim(ctx); err != nil {
		return s, err
	}
	return s, s.there(ctx)
}

// here takes what our side holds.
func (s *sides) here(ctx context.Context) error {
	var connection store.ID
	values := pull{req: api.PullSecrets{Format: api.FormatJSON}, out: &api.Pulled{}}
	err := s.w.readThen(ctx, s.who, s.act, s.asked.Repository(), func(v *visit) error {
		e, conn, err := s.ours(v)
		if err != nil {
			return err
		}
		plan, err := v.plan()
		if err != nil {
			return err
		}
		s.vault, s.env, s.role, s.max, connection = v.vault, *e, v.role, int(plan.ValueBytes), conn.ID
		if values.rows, err = newestRows(v, e); err != nil {
			return err
		}
		return values.copyOut(v)
	}, func(v *visit) (err error) {
		if err := values.answer(); err != nil {
			return err
		}
		s.ledger, err = s.w.ledgerOf(ctx, v)
		return err
	})
	if err != nil {
		return err
	}
	s.local = make(map[string]api.Secret, len(values.out.Secrets))
	for name, value := range values.out.Secrets {
		s.local[name] = api.NewSecret(string(value))
	}
	s.to, err = s.w.reach(ctx, connection)
	return err
}

// ledgerPlace is where the key of a vault's fingerprints stands.
func ledgerPlace(vault store.ID) []byte { return crypto.RecordContext(vault, "vault/ledger") }

// ledgerOf opens the key of a vault's fingerprints, which is made at its first use.
func (w *Warden) ledgerOf(ctx context.Context, v *visit) (*crypto.Ledger, error) {
	for {
		ledger, err := w.openLedger(ctx, v)
		if !errors.Is(err, store.ErrNotFound) {
			return ledger, err
		}
		if err := w.makeLedger(ctx, v); err != nil {
			return nil, err
		}
	}
}

// openLedger opens it with the data key that there is in the same snapshot: a
// rotation may replace both at any time.
func (w *Warden) openLedger(ctx context.Context, v *visit) (ledger *crypto.Ledger, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		sealed, err := r.LedgerKey(v.vault.ID)
		if err != nil {
			return err
		}
		k, err := v.keys.dataKey(r, v.vault.ID, sealed.Generation)
		if err == nil {
			ledger, err = k.OpenLedger(sealed.Sealed, ledgerPlace(v.vault.ID))
		}
		return unlessGone(err)
	})
	return ledger, err
}

// unlessGone keeps an error from being taken for that of a record which may be
// missing.
func unlessGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("a key is missing: %v", err)
	}
	return err
}

// makeLedger makes the key, unless somebody else was faster.
func (w *Warden) makeLedger(ctx context.Context, v *visit) error {
	return w.store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.LedgerKey(v.vault.ID)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		vault, err := tx.Vault(v.vault.ID)
		if errors.Is(err, store.ErrNotFound) {
			return errNoVault(v.vault.Repository())
		}
		if err != nil {
			return err
		}
		k, err := v.keys.dataKey(tx.Reader, vault.ID, vault.Generation)
		if err != nil {
			return err
		}
		_, fresh := k.NewLedger(ledgerPlace(vault.ID))
		return tx.PutLedgerKey(vault.ID, store.LedgerKey{Generation: vault.Generation, Sealed: fresh})
	})
}

// there takes what the provider holds, and plans.
func (s *sides) there(ctx context.Context) (err error) {
	s.remote, err = asking(ctx, s.w, s.to, func(c hosting.Credential) ([]hosting.Variable, error) {
		return s.to.List(ctx, c, s.target)
	})
	if err != nil {
		return err
	}
	err = s.w.store.View(ctx, func(r store.Reader) (err error) {
		s.known, err = r.Ledger(s.env, s.place)
		return err
	})
	s.plan = syncplan.Make(s.state())
	return err
}

func (s *sides) state() syncplan.State {
	state := syncplan.State{
		Direction: syncplan.Push, AllowDelete: s.asked.AllowDelete, AllowReferences: s.asked.AllowReferences,
		Provider: s.to.Describe(), Local: s.local, Remote: s.remote,
		Ledger:      make(map[string]syncplan.Known, len(s.known)),
		Fingerprint: s.fingerprint, LegalKey: api.ValidKey, MaxValue: s.max,
	}
	if s.asked.Pull() {
		state.Direction = syncplan.Pull
	}
	for name, entry := range s.known {
		state.Ledger[name] = syncplan.Known{Fingerprint: entry.Fingerprint, Mark: entry.Mark}
	}
	return state
}

func (s *sides) fingerprint(name string, value api.Secret) []byte {
	return s.ledger.Fingerprint(name, value.Reveal())
}

// hash names what would be done, and where.
func (s *sides) hash() string {
	return s.plan.Hash(s.env.ID.String(), fmt.Sprintf("%x", s.place))
}

// PreviewSync tells what a sync would do.
func (w *Warden) PreviewSync(ctx context.Context, who Caller, req api.SyncQuery) (*api.SyncPreview, error) {
	s, err := w.compare(ctx, who, access.SyncPreview, req.Target())
	if err != nil {
		return nil, s.outward(ctx, err)
	}
	return s.preview(), nil
}

// outward is what the caller may see of an error. Before a provider was reached it
// is none of a provider's.
func (s *sides) outward(ctx context.Context, err error) error {
	if s == nil || s.to == nil {
		return notFoundConnection(err)
	}
	return s.w.errProvider(ctx, s.to.conn.Provider, err)
}

// notFoundConnection speaks of a connection that went while it was wanted.
func notFoundConnection(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return api.InvalidField("connectionId", api.UnknownValue, "You have no such connection. List yours, or connect first.")
	case errors.Is(err, errReconnect):
		return api.Errorf(api.Conflict, "The provider turned this connection's credential down. Reconnect: connect again, then try once more.")
	}
	return err
}

func (s *sides) preview() *api.SyncPreview {
	out := &api.SyncPreview{
		ToCreate: s.plan.Keys(syncplan.Create), ToUpdate: s.plan.Keys(syncplan.Update),
		ToDelete: s.plan.Keys(syncplan.Delete), ToSkip: s.plan.Keys(syncplan.Skip),
		Details: make(map[string]api.SyncDetail, len(s.plan.Steps)), Warnings: []api.SyncWarning{}, PlanHash: s.hash(),
		Direction: s.direction(), KeywayEnvironment: s.env.Name, ProviderEnvironment: s.target.Environment.Name,
	}
	for _, step := range s.plan.Steps {
		out.Details[step.Key] = api.SyncDetail{Action: string(step.Action), Reason: string(step.Reason)}
	}
	for _, warning := range s.plan.Warnings {
		out.Warnings = append(out.Warnings, api.SyncWarning(warning))
	}
	return out
}

func (s *sides) direction() string {
	if s.asked.Pull() {
		return api.SyncPull
	}
	return api.SyncPush
}

// SyncStatus tells what is where, for somebody who has not synced yet.
func (w *Warden) SyncStatus(ctx context.Context, who Caller, req api.SyncQuery) (*api.SyncStatus, error) {
	s, err := w.compare(ctx, who, access.SyncStatus, req.Target())
	if err != nil {
		return nil, s.outward(ctx, err)
	}
	theirs := s.theirs()
	return &api.SyncStatus{
		IsFirstSync: len(s.known) == 0, VaultIsEmpty: len(s.local) == 0,
		ProviderHasSecrets: len(theirs) > 0, ProviderSecretCount: len(theirs),
	}, nil
}

// theirs are the variables at the provider that users made.
func (s *sides) theirs() []hosting.Variable {
	return slices.DeleteFunc(slices.Clone(s.remote), func(v hosting.Variable) bool {
		return v.Origin != hosting.FromUser && v.Origin != hosting.FromReference
	})
}

// SyncDiff compares what both sides hold, by name.
func (w *Warden) SyncDiff(ctx context.Context, who Caller, req api.SyncQuery) (*api.SyncDiff, error) {
	s, err := w.compare(ctx, who, access.SyncDiff, req.Target())
	if err != nil {
		return nil, s.outward(ctx, err)
	}
	theirs := s.theirs()
	out := &api.SyncDiff{
		KeywayCount: len(s.local), ProviderCount: len(theirs),
		OnlyInKeyway: []string{}, OnlyInProvider: []string{}, Different: []string{}, Same: []string{}, Unreadable: []string{},
	}
	there := make(map[string]bool, len(theirs))
	for _, v := range theirs {
		there[v.Key] = true
		value, here := s.local[v.Key]
		list := &out.Different
		switch {
		case !here:
			list = &out.OnlyInProvider
		case !v.Readable:
			list = &out.Unreadable
		case v.Value == value:
			list = &out.Same
		}
		*list = append(*list, v.Key)
	}
	for name := range s.local {
		if !there[name] {
			out.OnlyInKeyway = append(out.OnlyInKeyway, name)
		}
	}
	for _, list := range [][]string{out.OnlyInKeyway, out.OnlyInProvider, out.Different, out.Same, out.Unreadable} {
		slices.Sort(list)
	}
	return out, nil
}
