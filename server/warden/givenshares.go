package warden

import (
	"context"
	"errors"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// SharesTime is how long shares that were given wait for the next one.
const SharesTime = 10 * time.Minute

// given gathers shares until there are enough. The zero value is none. They are in
// memory only, and for one key at a time.
type given struct {
	method store.Method
	shares []*crypto.Share
	until  time.Time
	timer  *time.Timer
}

// drop forgets the shares.
func (g *given) drop() {
	if g.timer != nil {
		g.timer.Stop()
	}
	*g = given{}
}

// shown is how far it is, nil while nothing was given.
func (g *given) shown() *api.GivenShares {
	if len(g.shares) == 0 {
		return nil
	}
	return &api.GivenShares{
		Fingerprint: g.method.Fingerprint, Given: len(g.shares), Threshold: g.method.Threshold,
		Missing: g.method.Threshold - len(g.shares), ExpiresAt: api.At(g.until),
	}
}

// unlockStepwise is unlock for shares that may come one after another. There is no
// master and no error while more are needed. Its caller holds the sealing lock.
func (w *Warden) unlockStepwise(ctx context.Context, methods []store.Method, req api.Unseal) (opened, error) {
	if req.Share == nil {
		return w.unlock(ctx, methods, req)
	}
	shares, err := parseShares(*req.Share)
	if err != nil {
		return opened{}, err
	}
	g := &w.start.given
	if !w.now().Before(g.until) {
		g.drop()
	}
	if m, err := methodOf(methods, shares[0]); err == nil && len(shares) >= m.Threshold {
		// Who has all of them needs nobody else's. Else whoever gives one that is
		// forged, again and again, could keep the instance sealed.
		o, err := byShares(methods, shares)
		g.drop()
		return o, err
	}
	for _, s := range shares {
		if err := g.take(methods, s); err != nil {
			return opened{}, err
		}
	}
	g.until = w.now().Add(SharesTime)
	if len(g.shares) < g.method.Threshold {
		w.forgetSharesLater()
		return opened{}, nil
	}
	o, err := byShares(methods, g.shares)
	g.drop()
	return o, err
}

// forgetSharesLater takes shares out of memory when nobody goes on.
func (w *Warden) forgetSharesLater() {
	g := &w.start.given
	if g.timer != nil {
		g.timer.Stop()
	}
	var mine *time.Timer
	mine = time.AfterFunc(SharesTime, func() {
		w.sealing.Lock()
		defer w.sealing.Unlock()
		// Whatever the wall clock says, which may have been set back.
		if g.timer == mine {
			g.drop()
		}
	})
	g.timer = mine
}

// take adds a share that can belong to what was given before.
func (g *given) take(methods []store.Method, s *crypto.Share) error {
	m, err := methodOf(methods, s)
	if err != nil {
		return err
	}
	if len(g.shares) > 0 && g.method.ID != m.ID {
		return api.Errorf(api.Forbidden, "This is a share of key %s, and those given before belong to %s. Go on with those, or wait until they are forgotten.", m.Fingerprint, g.method.Fingerprint)
	}
	for _, other := range g.shares {
		if other.Index() == s.Index() {
			return api.Errorf(api.Forbidden, "Share %d was given already. Another one is needed.", s.Index())
		}
	}
	g.method, g.shares = m, append(g.shares, s)
	return nil
}

// methodOf is the method that a share belongs to.
func methodOf(methods []store.Method, s *crypto.Share) (store.Method, error) {
	sets := ""
	for _, m := range methods {
		if m.Kind != api.MethodShares {
			continue
		}
		if len(m.Fingerprint) > len(s.Set()) && m.Fingerprint[:len(s.Set())] == s.Set() && m.Threshold == s.Threshold() && m.Total == s.Total() {
			return m, nil
		}
		sets += " " + m.Fingerprint
	}
	if sets == "" {
		return store.Method{}, api.Errorf(api.Forbidden, "This instance has no shares, or none any more. Unseal as its methods say: coffer status.")
	}
	return store.Method{}, api.Errorf(api.Forbidden, "This share belongs to another key: its set is %s, and this instance opens with shares of%s. Is it of another instance, or of shares that were replaced?", s.Set(), sets)
}

func parseShares(text api.Secret) ([]*crypto.Share, error) {
	shares, err := crypto.ParseShares([]byte(text.Reveal()))
	if err != nil {
		return nil, api.Errorf(api.Forbidden, "This is %v. A share begins with COFFER-SHARE-1 and has 14 groups of 6 characters.", err)
	}
	return shares, nil
}

// byShares opens with shares that came together.
func byShares(methods []store.Method, shares []*crypto.Share) (opened, error) {
	m, err := methodOf(methods, shares[0])
	if err != nil {
		return opened{}, err
	}
	identity, err := crypto.CombineShares(shares)
	switch {
	case errors.Is(err, crypto.ErrTooFewShares):
		return opened{}, api.Errorf(api.Forbidden, "These are %d shares, and %d are needed.", len(shares), m.Threshold)
	case errors.Is(err, crypto.ErrRepeatedShare), errors.Is(err, crypto.ErrForeignShare):
		return opened{}, api.Errorf(api.Forbidden, "%s. Give different shares of one key.", sentence(err.Error()))
	case err != nil:
		return opened{}, errForged()
	}
	o, err := byIdentity([]store.Method{m}, identity, "The key of these shares")
	if api.CodeOf(err) == api.Forbidden {
		return opened{}, errForged()
	}
	return o, err
}

func errForged() error {
	return api.Errorf(api.Forbidden, "These shares fit together and do not open: at least one of them is forged. All that were given are forgotten. Begin again, with other shares if there are any.")
}
