package warden

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// Tokens of the code host, as bearers. They are asked of the host, kept for the
// request and forgotten: only a keyed hash of them stays in memory for a while,
// so that a burst of requests, right or wrong, is one question.

const (
	maxBearer  = 512 // bytes; no host makes longer ones for people
	bearerTTL  = 60 * time.Second
	refusedTTL = 45 * time.Second
	maxBearers = 10_000
)

// bearers remembers what the code host said of tokens. What was asked before
// something changed is not kept.
type bearers struct {
	now   func() time.Time
	key   [32]byte // of this process
	mu    sync.Mutex
	epoch uint64
	of    map[[32]byte]remembered[bearer]
}

// bearer is the account that a token belongs to, or none.
type bearer struct {
	account string
	refused string // why there is none
}

func newBearers(now func() time.Time) *bearers {
	b := &bearers{now: now, of: make(map[[32]byte]remembered[bearer])}
	_, _ = rand.Read(b.key[:])
	return b
}

func (b *bearers) hash(token string) [32]byte {
	mac := hmac.New(sha256.New, b.key[:])
	mac.Write([]byte(token))
	return [32]byte(mac.Sum(nil))
}

// grantHash is the hash of a token of a grant: what the host says of it as a bearer
// is another question.
func (b *bearers) grantHash(token string) [32]byte { return b.hash("grant " + token) }

// get is an answer that still counts, or else the epoch that a fresh one belongs
// to.
func (b *bearers) get(h [32]byte) (bearer, uint64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.of[h]
	return r.value, b.epoch, ok && b.now().Before(r.until)
}

// put remembers an answer to a question of an epoch.
func (b *bearers) put(h [32]byte, v bearer, epoch uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if epoch != b.epoch {
		return
	}
	ttl := bearerTTL
	if v.account == "" {
		ttl = refusedTTL
	}
	if len(b.of) >= maxBearers {
		clear(b.of)
	}
	b.of[h] = remembered[bearer]{v, b.now().Add(ttl)}
}

// forget drops everything, and whatever is being asked at this moment: an account
// may have been blocked.
func (b *bearers) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch++
	clear(b.of)
}

// usable reports whether a token may be sent to the code host at all.
func usable(token string) bool {
	return len(token) <= maxBearer && strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// identifyBearer finds out at the code host whose token this is.
func (w *Warden) identifyBearer(ctx context.Context, who Caller, c Credential) (Caller, error) {
	unknown := errUnauthorized("This token is not known here. Sign in with coffer login, or create an API key.")
	if !usable(c.Bearer) {
		return Caller{}, unknown
	}
	h := w.host.bearers.hash(c.Bearer)
	known, epoch, ok := w.host.bearers.get(h)
	if !ok && c.Exhausted != nil && c.Exhausted() {
		return Caller{}, unknown
	}
	who.kind, who.scopes, who.token = access.PAT, access.All, api.NewSecret(c.Bearer)
	if !ok {
		// The code of a device login looks like tokens of some hosts.
		if _, ours, err := w.DeviceKey(ctx, who.token); ours || err != nil {
			return Caller{}, cmp.Or[error](err, unknown)
		}
		u, err := w.askBearer(ctx, c.Bearer, h, epoch)
		if err != nil {
			return Caller{}, err
		}
		who.user = u
		return who, nil
	}
	if known.account == "" {
		return Caller{}, errUnauthorized(known.refused)
	}
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		who.user, err = r.UserAt(w.forge.Kind(), known.account)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Caller{}, unknown
	}
	return who, w.outward(err)
}

// askBearer asks the code host, once for all who bring the same token along in an
// epoch.
func (w *Warden) askBearer(ctx context.Context, token string, h [32]byte, epoch uint64) (store.User, error) {
	flight := w.host.asked.DoChan(fmt.Sprintf("bearer %x %d", h, epoch), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roleFlight)
		defer cancel()
		u, err := w.forge.Bearer(ctx, token)
		if errors.Is(err, forge.ErrToken) {
			refused := "The code host does not know this token, or not any more. Make a new one there, or sign in: coffer login."
			if foreign, ok := errors.AsType[*forge.ForeignToken](err); ok {
				refused = "This token cannot be used here: " + foreign.Why + ". Sign in with coffer login, or create an API key."
			}
			w.host.bearers.put(h, bearer{refused: refused}, epoch)
			return store.User{}, errUnauthorized(refused)
		}
		if err != nil {
			return store.User{}, w.errForge(ctx, Caller{kind: access.PAT}, overdue(err))
		}
		seen, err := w.seen(ctx, u)
		if err == nil {
			w.host.bearers.put(h, bearer{account: u.ID}, epoch)
		}
		return seen, err
	})
	select {
	case got := <-flight:
		return got.Val.(store.User), got.Err
	case <-ctx.Done():
		return store.User{}, w.outward(ctx.Err())
	}
}

// seen is the record of an account at the code host, made now if this is the
// first time that it is seen, and brought up to date.
func (w *Warden) seen(ctx context.Context, there forge.User) (u store.User, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		u, err = r.UserAt(w.forge.Kind(), there.ID)
		return err
	})
	if err == nil && u == labelled(u, there) {
		return u, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return u, w.outward(err)
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		u, err = w.seenIn(tx, j, there)
		return 0, err
	})
	return u, w.outward(err)
}

// seenIn is seen within a transaction.
func (w *Warden) seenIn(tx store.Tx, j *journal, there forge.User) (store.User, error) {
	u, err := w.userAt(tx, j, there.ID, there.Login)
	if err != nil || u == labelled(u, there) {
		return u, err
	}
	u = labelled(u, there)
	return u, tx.PutUser(u)
}

// labelled is a user with the name, e-mail and picture that the code host shows
// today.
func labelled(u store.User, there forge.User) store.User {
	u.Login = there.Login
	if there.Email != "" {
		u.Email = there.Email
	}
	if there.AvatarURL != "" {
		u.AvatarURL = there.AvatarURL
	}
	return u
}
