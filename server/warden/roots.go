package warden

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"time"

	"coffer/crypto"
	"coffer/store"
)

// wrappedKey is a new data key, and the count of the root key that wraps it.
type wrappedKey struct {
	file  []byte
	epoch uint64
}

// newDataKey makes a data key for a vault, which is to be written in a transaction
// that asks check.
func (k *keyring) newDataKey(vault store.ID) (wrappedKey, error) {
	u := k.under.Load()
	key, file, err := u.root.NewDataKey(crypto.ID(vault))
	if err == nil {
		key.Destroy()
	}
	return wrappedKey{file, u.epoch}, err
}

// errRootReplaced says that the root key was replaced between the making of a data
// key and its writing.
var errRootReplaced = errors.New("the root key was replaced meanwhile")

// check lets a data key be written only under the root key that is in force in this
// very transaction. So whoever wraps data keys anew, vault by vault, meets them all:
// none is written under the old root key behind them.
func (n wrappedKey) check(r store.Reader) error { return isEpoch(r, n.epoch) }

// inForce wants the root key of the keyring to be the one of the record.
func (k *keyring) inForce(r store.Reader) error { return isEpoch(r, k.under.Load().epoch) }

func isEpoch(r store.Reader, epoch uint64) error {
	i, err := r.Instance()
	if err == nil && i.Epoch != epoch {
		return errRootReplaced
	}
	return err
}

// underOneRoot lends the keyring to work that writes a data key, and does it again if
// the root key was replaced meanwhile.
func (w *Warden) underOneRoot(ctx context.Context, work func(*keyring) error) error {
	for {
		err := w.withKeys(work)
		if !errors.Is(err, errRootReplaced) {
			return err
		}
		// Its record is written, and the new key about to be in the keyring.
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// vouch marks the public half of an unseal method as one that the server itself wrote
// down. The master key that replaces another one is wrapped to these halves without
// their holders being there: whoever can write the data file must not be able to put
// his own among them.
func (u *rooted) vouch(m *store.Method) { m.Vouched = u.voucher(*m) }

// vouched reports whether vouch marked the method as it is now.
func (u *rooted) vouched(m store.Method) bool {
	return m.Vouched != nil && hmac.Equal(m.Vouched, u.voucher(m))
}

func (u *rooted) voucher(m store.Method) []byte {
	if m.Recipient == "" && m.Identity == "" {
		return nil
	}
	mac := hmac.New(sha256.New, u.vouches[:])
	mac.Write(m.ID[:])
	mac.Write([]byte(m.Kind + "\x00" + m.Recipient + "\x00" + m.Identity))
	return mac.Sum(nil)
}

// vouch marks a method that is about to be written.
func (w *Warden) vouch(r store.Reader, m *store.Method) error {
	return w.withKeys(func(k *keyring) error {
		if err := k.inForce(r); err != nil {
			return err
		}
		k.under.Load().vouch(m)
		return nil
	})
}

// dropOldRoot forgets a root key that nothing is wrapped under any more, when no
// snapshot from before can be read any longer.
func (w *Warden) dropOldRoot(k *keyring, old *crypto.Root) {
	w.workers.Go(func() {
		select {
		case <-w.rotator.life.Done(): // the keyring is wiped as a whole
		case <-time.After(oldRootTime):
			k.dropOldRoot(old)
		}
	})
}

// putRoot takes a new root key into use. Who lets the one before the last go at this
// moment must not put the last one back.
func (k *keyring) putRoot(u *rooted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.under.Store(u)
}

func (k *keyring) dropOldRoot(old *crypto.Root) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if u := k.under.Load(); u.old == old {
		without := *u
		without.old = nil
		k.under.Store(&without)
	}
	old.Destroy()
}
