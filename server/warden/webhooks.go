package warden

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// A webhook only says "ask again". What was remembered of the code host is
// dropped at once; what there is to do besides is written down with the id of the
// delivery, and done by a worker that tries again until it works.

const (
	deliveryTime = 24 * time.Hour   // for how long a delivery's id is remembered
	eventPause   = 30 * time.Second // before the second try; doubled with each further one
	maxPause     = time.Hour
	maxTries     = 24 // a day, about; polling makes up for what is dropped then
	eventLook    = time.Minute
	eventTime    = 2 * time.Minute // bounds one try
)

// Webhook takes a delivery from the code host of this kind, once. Header returns
// one of its headers, or ""; body is as it came over the wire.
func (w *Warden) Webhook(ctx context.Context, kind string, header func(string) string, body []byte) error {
	hooks, ok := w.forge.(forge.Hooks)
	if !ok || w.forge.Kind() != kind {
		return errNoHook
	}
	e, err := hooks.Event(forge.Delivery{Header: header, Body: body, At: w.now()})
	if err != nil {
		w.tallies.deliveries.note(outcomeRefused)
		return hookError(err)
	}
	if e.Topic != forge.Ignored {
		w.forgetHost()
	}
	err = w.takeDelivery(ctx, e)
	if errors.Is(err, store.ErrExists) {
		w.tallies.deliveries.note(outcomeRepeated)
		return nil
	}
	if err != nil {
		w.tallies.deliveries.note(outcomeFailed)
		w.log.ErrorContext(ctx, "a webhook's delivery could not be stored", "event", e.Name, "error", err)
		return &api.Error{Code: api.Internal}
	}
	w.tallies.deliveries.note(outcomeTaken)
	nudge(w.host.events)
	return nil
}

// forgetHost drops whatever is remembered of the code host's answers.
func (w *Warden) forgetHost() {
	w.host.roles.forget()
	w.host.bearers.forget()
}

var errNoHook = &api.Error{Code: api.Unavailable, RetryAfter: time.Hour,
	Message: "This server takes no webhooks from here: it is bound to another code host, or no webhook secret is configured. Set forge.webhook_secret_file or COFFER_FORGE_WEBHOOK_SECRET."}

func hookError(err error) error {
	switch {
	case errors.Is(err, forge.ErrNoSecret):
		return errNoHook
	case errors.Is(err, forge.ErrNoSignature):
		return api.Errorf(api.BadRequest, "A webhook needs the headers with its event, its delivery id and its signature. Set a secret at the code host.")
	case errors.Is(err, forge.ErrSignature):
		return api.Errorf(api.Forbidden, "The webhook's signature is wrong. Is the secret at the code host the one that is configured here?")
	}
	return api.Errorf(api.BadRequest, "The webhook's body cannot be understood. Is its content type JSON?")
}

// takeDelivery writes down that a delivery came, with what there is to do.
func (w *Warden) takeDelivery(ctx context.Context, e forge.Event) error {
	id := sha256.Sum256([]byte(e.ID))
	now := store.At(w.now())
	return w.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.TakeDelivery(store.Delivery{ID: id[:], At: now}); err != nil {
			return err
		}
		if e.Topic == forge.Ignored {
			return nil
		}
		return tx.AddEvent(store.Event{
			At: now, Topic: string(e.Topic), Name: clip(e.Name, 64),
			Repo: e.Repo, Org: e.Org, User: e.User, Login: clip(e.Login, 255),
		})
	})
}

// ExpireDeliveries forgets the ids of old deliveries.
func (w *Warden) ExpireDeliveries(ctx context.Context) (int, error) {
	before := store.At(w.now().Add(-deliveryTime))
	var due []store.Delivery
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		due, err = r.DeliveriesBefore(before)
		return err
	})
	if err != nil {
		return 0, w.outward(err)
	}
	return sweep(ctx, w, due, store.Tx.DeleteDelivery)
}

// runEvents does what webhooks ask for, until ctx ends.
func (w *Warden) runEvents(ctx context.Context) {
	tick := time.NewTicker(eventLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.host.events:
		case <-tick.C:
		}
		if w.keys.Load() == nil {
			continue
		}
		if err := w.doEvents(ctx); err != nil && ctx.Err() == nil {
			w.log.ErrorContext(ctx, "what webhooks ask for could not be looked up", "error", err)
		}
	}
}

// doEvents does what is due. One at a time does so: the same event twice at once
// would ask the host for nothing.
func (w *Warden) doEvents(ctx context.Context) error {
	w.host.doing.Lock()
	defer w.host.doing.Unlock()
	var all []store.Event
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.Events()
		return err
	})
	if err != nil {
		return err
	}
	now := store.At(w.now())
	for _, e := range all {
		if e.Next > now {
			continue
		}
		if err := w.doEvent(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// doEvent tries an event, and puts it off if it fails.
func (w *Warden) doEvent(ctx context.Context, e store.Event) error {
	within, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	failed := w.effect(within, e)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed == nil || e.Tries+1 >= maxTries {
		if failed != nil {
			w.log.ErrorContext(ctx, "what a webhook asked for was given up", "event", e.Name, "tries", e.Tries+1, "error", failed)
		}
		return w.store.Update(ctx, func(tx store.Tx) error { return tx.DeleteEvent(e) })
	}
	w.log.WarnContext(ctx, "what a webhook asked for will be tried again", "event", e.Name, "error", failed)
	pause := min(eventPause<<min(e.Tries, 10), maxPause)
	e.Tries++
	e.Next = store.At(w.now().Add(pause))
	return w.store.Update(ctx, func(tx store.Tx) error { return tx.PutEvent(e) })
}

// effect does what an event asks for. It may be done again.
func (w *Warden) effect(ctx context.Context, e store.Event) error {
	switch topic := forge.Topic(e.Topic); topic {
	case forge.RepoChanged, forge.RepoDeleted:
		return w.lookAgain(ctx, e.Repo, topic == forge.RepoDeleted)
	case forge.AppInstalled, forge.AppRemoved:
		if err := w.noteApp(ctx, e, topic); err != nil {
			return err
		}
	case forge.UserChanged:
		return nil
	}
	if e.Org == "" {
		return nil
	}
	return w.SyncOrg(ctx, e.Org)
}

// noteApp records that our application came to, or went from, an account. An
// event that is tried again is recorded once.
func (w *Warden) noteApp(ctx context.Context, e store.Event, topic forge.Topic) error {
	if e.Tries > 0 {
		return nil
	}
	action := "vcs_app_installed"
	if topic == forge.AppRemoved {
		action = "vcs_app_uninstalled"
	}
	_, err := w.step(ctx, func(_ store.Tx, j *journal) (int, error) {
		j.note(action, map[string]any{"org": e.Login, "event": e.Name})
		return 0, nil
	})
	return err
}

// lookAgain asks the code host about the repository of a vault and writes down
// what changed. deleted says that the host announced its end, which is believed
// when it then cannot be found.
func (w *Warden) lookAgain(ctx context.Context, repoID string, deleted bool) error {
	v, err := w.vaultBy(ctx, func(r store.Reader) (store.ID, error) { return r.VaultIDByRepo(repoID) })
	if err != nil || v.ID.IsZero() {
		return err
	}
	asked := w.now()
	repo, err := w.askAbout(ctx, v)
	switch {
	case err == nil:
		w.follow(ctx, v, found{repo: repo, asked: asked})
	case errors.Is(err, forge.ErrGone), deleted && errors.Is(err, forge.ErrNotFound):
		w.follow(ctx, v, found{gone: true, asked: asked})
	case errors.Is(err, forge.ErrNotFound):
		w.log.WarnContext(ctx, "the code host does not show the repository of a vault", "vault", v.ID.String())
	case errors.Is(err, forge.ErrNoCredential):
		// Whoever comes next brings a credential along.
	case definite(err):
		w.log.WarnContext(ctx, "the code host does not let us ask about the repository of a vault", "vault", v.ID.String(), "error", err)
	default:
		return fmt.Errorf("ask about the repository of vault %s: %w", v.ID, err)
	}
	return nil
}

// askAbout asks for a vault's repository: by the service credential, which sees
// what it sees whoever made the vault, else by what that user let us do.
func (w *Warden) askAbout(ctx context.Context, v store.Vault) (forge.Repository, error) {
	question := func(ctx context.Context, as forge.Asker) (forge.Repository, error) {
		return w.forge.RepositoryByID(ctx, as, repositoryOf(v))
	}
	repo, err := ask(ctx, w, Caller{}, question)
	if !errors.Is(err, forge.ErrNoCredential) {
		return repo, err
	}
	var creator store.User
	failed := w.store.View(ctx, func(r store.Reader) (err error) {
		creator, err = r.User(v.CreatedBy)
		return err
	})
	if errors.Is(failed, store.ErrNotFound) {
		return repo, err
	}
	if failed != nil {
		return repo, failed
	}
	as := forge.Asker{User: forge.User{ID: creator.Account, Login: creator.Login}}
	again, failed := askGranted(ctx, w, Caller{user: creator}, as, question)
	if errors.Is(failed, errNoGrant) {
		return repo, err
	}
	return again, failed
}
