package warden

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
)

// ask puts a question to the code host on somebody's behalf, with the first
// credential that reaches so far: a token of the code host that came with the
// request, which alone says how far it reaches; else the service credential; else
// what the user let us do by signing in there. Nobody at all, who has a zero
// user, is the server itself and has the service credential only.
func ask[T any](ctx context.Context, w *Warden, who Caller, question func(context.Context, forge.Asker) (T, error)) (T, error) {
	as := forge.Asker{User: forge.User{ID: who.user.Account, Login: who.user.Login}}
	if who.kind == access.PAT {
		as.Token = who.token.Reveal()
		return question(ctx, as)
	}
	got, err := question(ctx, as)
	if missing, ok := errors.AsType[*forge.Missing](err); ok && missing.Service {
		w.log.WarnContext(ctx, "the service credential lacks a permission; coffer forge check says more", "missing", missing.What)
		err = forge.ErrNoCredential
	}
	if !errors.Is(err, forge.ErrNoCredential) || who.user.ID.IsZero() {
		return got, err
	}
	return askGranted(ctx, w, who, as, question)
}

// askGranted asks with the user's grant. A token that the host turns down is
// renewed once: it may have been withdrawn alone. One that stays turned down is
// not shown to the host again for a while.
func askGranted[T any](ctx context.Context, w *Warden, who Caller, as forge.Asker, question func(context.Context, forge.Asker) (T, error)) (got T, err error) {
	if as.Token, err = w.grantToken(ctx, who.user.ID); err != nil {
		return got, err
	}
	_, epoch, dead := w.host.bearers.get(w.host.bearers.grantHash(as.Token))
	if dead {
		return got, errNoGrant
	}
	got, err = question(ctx, as)
	if !errors.Is(err, forge.ErrToken) {
		return got, err
	}
	fresh, err := w.renew(ctx, who.user.ID, as.Token)
	if err == nil {
		as.Token = fresh
		if got, err = question(ctx, as); errors.Is(err, forge.ErrToken) {
			err = errNoGrant
		}
	}
	if errors.Is(err, errNoGrant) {
		w.host.bearers.put(w.host.bearers.grantHash(as.Token), bearer{}, epoch)
	}
	return got, err
}

// credential tells apart what the answers of the code host depend on besides the
// user: a token of the code host has its own reach.
func (c Caller) credential() [32]byte {
	if c.kind != access.PAT {
		return [32]byte{}
	}
	return sha256.Sum256([]byte(c.token.Reveal()))
}

// definite reports whether asking again would end the same way, unlike with a host
// that did not answer.
func definite(err error) bool {
	if _, ok := errors.AsType[*forge.Missing](err); ok {
		return true
	}
	for _, answer := range []error{forge.ErrNotFound, forge.ErrGone, forge.ErrRefused, forge.ErrToken, forge.ErrNoCredential, errNoGrant, errNotWhole} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// overdue makes of the end of a question's own time that the host did not answer
// in it: whoever asked may have time left.
func overdue(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &forge.Unavailable{Err: err}
	}
	return err
}

// unavailable is how long to wait before the next try when the host did not say.
const unavailable = 15 * time.Second

// errForge is what a caller may see of a question that the code host did not
// answer. It is never a role, and never "not found".
func (w *Warden) errForge(ctx context.Context, who Caller, err error) error {
	down, isDown := errors.AsType[*forge.Unavailable](err)
	if ours, ok := errors.AsType[*api.Error](w.outward(err)); !isDown && ok {
		return ours // the store's, or a seal's
	}
	if !isDown && errors.Is(err, context.Canceled) {
		return err
	}
	if missing, ok := errors.AsType[*forge.Missing](err); ok && who.kind == access.PAT {
		return api.Errorf(api.Forbidden, "This token lacks %s. Make one that has it, or sign in: coffer login.", missing.What)
	} else if ok {
		return api.Errorf(api.Forbidden, "Your sign-in at the code host lacks %s. Withdraw it there, in the list of applications that you let in, then sign in again: coffer login.", missing.What)
	}
	switch {
	case errors.Is(err, errNoGrant) && who.kind == access.APIKey:
		return api.Errorf(api.Forbidden, "The code host cannot be asked for the permissions of this key's owner, who must sign in again: coffer login. The operator can make that needless with a service credential.")
	case errors.Is(err, errNoGrant):
		return errUnauthorized("Your sign-in at the code host has ended. Sign in again: coffer login.")
	case errors.Is(err, forge.ErrToken):
		return errUnauthorized("The code host does not accept this token any more. Make a new one, or sign in: coffer login.")
	case errors.Is(err, forge.ErrRefused), errors.Is(err, forge.ErrNoCredential):
		w.log.WarnContext(ctx, "the code host refused a question", "forge", w.forge.Kind(), "error", err)
		return api.Errorf(api.Forbidden, "The code host does not let you ask this.")
	}
	answer := &api.Error{Code: api.Unavailable, RetryAfter: unavailable,
		Message: "The code host cannot be asked for your permissions right now. Try again in a moment."}
	if isDown && down.RetryAfter > 0 {
		answer.RetryAfter = down.RetryAfter
	}
	w.log.ErrorContext(ctx, "the code host did not answer", "forge", w.forge.Kind(), "error", err)
	return answer
}
