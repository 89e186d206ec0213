// Package warden holds the rules: who may do what, what is written, what is
// recorded.
//
// It is the one door to the data. An operation names what it wants to do; the
// door finds out the caller's role at the code host, asks access, opens a
// transaction and lets the operation in; what the operation did, or that it was
// refused, goes into the audit log before anybody gets an answer:
//
//	Push ─▶ change ─▶ enter: credential, scope, vault, role ─▶ refused? record, 403 or 404
//	                  └▶ transaction: rights ▸ work ▸ audit record ▸ commit
//	Pull ─▶ read ──▶ enter ─▶ snapshot: rights ▸ copy what is sealed
//	                  └▶ audit record durable ─▶ open the values ─▶ answer
//
// The invariant: nobody reaches a record of a vault but through read or change,
// and neither lets anybody in unasked. Only this package holds store and crypto
// at once. It knows no HTTP; httpd turns requests into calls and errors into
// statuses. See DESIGN.md.
package warden

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/server/hosting"
	"coffer/server/stream"
	"coffer/store"
	"coffer/store/kv"
)

// Config is what a Warden works with. Store and Log are needed, the rest has
// defaults.
type Config struct {
	Store *store.Store
	Log   *slog.Logger

	// Copier copies the data of Store, for backups; without it there are none.
	Copier kv.Copier

	// Backups say where and when backups are made without anybody asking.
	Backups Backups

	// File is what the store keeps its data in, to measure it and to write it anew;
	// nil where there is none.
	File kv.Rewriter

	// OldCopies names the files that hold the data as they were once, which writing
	// that file anew does not reach; nil where there are none.
	OldCopies func() ([]string, error)

	// Forge makes the code host that the instance is bound to; nil means the
	// built-in one, which keeps its accounts in the directory it is given.
	Forge func(forge.Directory) forge.Forge

	// ForgeURL is where that host is, always in the same spelling; "" for the
	// built-in one. ForgeMovedFrom is where it was before, if it moved.
	ForgeURL, ForgeMovedFrom string

	// ForgeCredential is by whose rights that host is asked: one of api's.
	ForgeCredential string

	// RoleTTL is for how long a role counts that the code host named; 0, and
	// more than a minute, mean a minute.
	RoleTTL time.Duration

	Now        func() time.Time
	Version    string
	WorkFactor int // scrypt's log2 N for new passphrases; 0 means 18

	// BatchReads lets a read of values answer up to 10 ms before its audit
	// record is durable; a crash can lose the records of that window.
	BatchReads bool

	// AdditiveClients are beginnings of User-Agents whose pushes merge unless
	// they say otherwise.
	AdditiveClients []string

	Plans      billing.Table // nil means the contract's
	Plan       billing.Plan  // of whoever has nothing that gives a higher one
	UpgradeURL string        // where a higher plan is had

	// Payments is the payment provider, nil while billing is off; Offers are the
	// prices that may be subscribed to there, and Origins are those that a browser
	// may be sent back to from there.
	Payments billing.Payments
	Offers   billing.Offers
	Origins  []string

	SessionTTL       time.Duration // of every sign-in; 0 means MaxSessionTTL
	TrashRetention   time.Duration
	VersionRetention billing.Retention // of replaced values
	AuditRetention   billing.Retention

	// Hosting are the providers that values may be synced with, by name. Others are
	// turned off.
	Hosting map[string]hosting.Provider

	// SyncWait is for how long a request waits for its sync; 0 means 25 seconds.
	SyncWait time.Duration

	// Stream is where new records of the audit log go too, nil for nowhere, and
	// StreamName what it is remembered by. The Warden closes it.
	Stream     stream.Target
	StreamName string

	// TestOnlyCheckpoints is how many records lie between two signed checkpoints
	// of the audit log; 0 means 1,000.
	TestOnlyCheckpoints uint64

	// Status is the wire's number for a code, which the audit log shows.
	Status func(api.Code) int
}

// Warden is the door. Its methods may be called by many goroutines at once.
type Warden struct {
	c           Config
	store       *store.Store
	forge       forge.Forge
	now         func() time.Time
	log         *slog.Logger
	host        hostState
	syncs       *syncState
	pay         payState
	keys        atomic.Pointer[keyring] // nil while sealed
	uses        *keyUses
	passwords   *passwords
	batch       *batch
	notary      *notary
	pump        *pump // nil when nothing is streamed
	compactions *compactor
	rotator     *rotator
	ready       readiness
	tallies     *tallies
	copying     chan struct{} // holds a token while a backup is made
	sealing     sync.Mutex    // one initialisation, unsealing or sealing at a time
	start       startState
	closing     context.CancelFunc
	workers     sync.WaitGroup
}

// New makes a sealed Warden. Close it before its store.
func New(c Config) *Warden {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.WorkFactor == 0 {
		c.WorkFactor = crypto.DefaultWorkFactor
	}
	if c.Plans == nil {
		c.Plans = billing.Plans()
	}
	if c.SyncWait == 0 {
		c.SyncWait = syncWait
	}
	if c.SessionTTL == 0 {
		c.SessionTTL = MaxSessionTTL
	}
	if c.TrashRetention == 0 {
		c.TrashRetention = 30 * 24 * time.Hour
	}
	w := &Warden{c: c, store: c.Store, now: c.Now, log: c.Log, host: newHostState(c.Now, c.RoleTTL), tallies: newTallies()}
	if c.Forge == nil {
		c.Forge = func(d forge.Directory) forge.Forge { return forge.NewLocal(d) }
	}
	w.forge = c.Forge(directory{w})
	w.uses = newKeyUses()
	w.copying = make(chan struct{}, 1)
	w.passwords = newPasswords(c.Now)
	ctx, cancel := context.WithCancel(context.Background())
	w.closing = cancel
	w.syncs = newSyncState(ctx)
	w.batch = newBatch(w)
	w.notary = newNotary(w)
	w.workers.Go(func() { w.batch.run(ctx) })
	w.compactions = newCompactor(w)
	w.workers.Go(func() { w.notary.run(ctx) })
	w.workers.Go(func() { w.compactions.run(w.syncs.life) })
	if c.Stream != nil {
		w.pump = newPump(w)
		w.workers.Go(func() { w.pump.run(ctx) })
	}
	w.workers.Go(func() { w.flushUses(ctx) })
	w.workers.Go(func() { w.runEvents(ctx) })
	w.workers.Go(func() { w.readRosters(ctx) })
	w.workers.Go(func() { w.runSyncs(w.syncs.life) })
	w.rotator = newRotator(ctx)
	w.workers.Go(w.runRotations)
	return w
}

// Close finishes what is under way and takes the keys out of memory.
func (w *Warden) Close() error {
	w.sealing.Lock()
	defer w.sealing.Unlock()
	// Calls end first: what waits to be recorded needs the keys and the workers,
	// and what was recorded last is to be streamed.
	keys := w.keys.Swap(nil)
	if keys != nil {
		keys.retire()
		defer keys.wipe()
	}
	w.closing()
	w.workers.Wait()
	if w.pump != nil {
		return w.pump.finish(keys)
	}
	return nil
}

// ForgeKind is the kind of code host that the instance is bound to.
func (w *Warden) ForgeKind() string { return w.forge.Kind() }

// State is what the instance can do at the moment: one of api's states.
func (w *Warden) State() string {
	switch {
	case w.keys.Load() != nil:
		return api.StateOK
	case w.start.initialized.Load():
		return api.StateSealed
	default:
		return api.StateUninitialized
	}
}

// readiness remembers the last proof that writing works, so that a prober in a
// hurry costs no more than one write a second.
type readiness struct {
	sync.Mutex
	at  time.Time
	err error
}

// Ready is nil when the instance is unsealed and could write within the last
// second.
func (w *Warden) Ready(ctx context.Context) error {
	if w.State() != api.StateOK {
		return w.errSealed()
	}
	w.ready.Lock()
	defer w.ready.Unlock()
	if now := w.now(); now.Sub(w.ready.at).Abs() >= time.Second {
		// Others will be told the same: it must not depend on who asks first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		w.ready.at, w.ready.err = now, w.store.Update(ctx, store.Tx.Probe)
	}
	if w.ready.err != nil {
		return w.outward(w.ready.err)
	}
	return nil
}

// outward turns what a user may see into an *api.Error and leaves the rest to
// become an internal error.
func (w *Warden) outward(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kv.ErrFull):
		return &api.Error{Code: api.Unavailable, RetryAfter: 30 * time.Second,
			Message: "The server's storage is full: nothing was written. Ask the operator to make room, then try again."}
	case errors.Is(err, kv.ErrReadOnly):
		return &api.Error{Code: api.Unavailable, RetryAfter: 30 * time.Second,
			Message: "The server's storage takes no writes: nothing was written. Ask the operator to make it writable, then try again."}
	case errors.Is(err, kv.ErrClosed):
		return &api.Error{Code: api.Unavailable, RetryAfter: 5 * time.Second,
			Message: "The server is stopping. Try again in a few seconds."}
	case errors.Is(err, context.DeadlineExceeded):
		return api.Errorf(api.Timeout, "The request took too long and was given up: nothing was written. Try again.")
	}
	return err
}
