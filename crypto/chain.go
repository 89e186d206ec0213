package crypto

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"
)

// Link authenticates a record of a log and, through the link before it, every
// record before that. It is public.
type Link = [sha256.Size]byte

// The keys of a chain are derived from its secret, one for each use, so that a
// record can never pass for the end of a log.
const (
	labelChainLink = "coffer/audit-link/v1\x00"
	labelChainEnd  = "coffer/audit-end/v1\x00"
)

// Chain links the records of a log: whoever changes, adds, moves or removes a
// record needs its key to make the links fit again. It is safe for concurrent
// use, also with Destroy. It does not print itself.
type Chain struct {
	redacted
	state *chainState
}

// chainState holds keyed hashes that are used again and again: keying one costs
// as much as hashing a record. The copies that crypto/hmac keeps of its key
// cannot be cleared; Destroy lets go of them.
type chainState struct{ keys atomic.Pointer[chainKeys] }

type chainKeys struct{ links, ends sync.Pool }

// NewChain makes a chain of a random secret, and returns that sealed by k for
// the place that context names.
func (k *DataKey) NewChain(context []byte) (*Chain, []byte) {
	secret := make([]byte, KeySize)
	defer clear(secret)
	_, _ = rand.Read(secret)
	return newChain(secret), k.Seal(nil, secret, context)
}

// OpenChain opens what [DataKey.NewChain] sealed.
func (k *DataKey) OpenChain(sealed, context []byte) (*Chain, error) {
	secret, err := k.openSecret(sealed, context)
	if err != nil {
		return nil, fmt.Errorf("chain key: %w", err)
	}
	defer clear(secret)
	return newChain(secret), nil
}

// openSecret opens a sealed secret of [KeySize] bytes.
func (k *DataKey) openSecret(sealed, context []byte) ([]byte, error) {
	secret, err := k.Open(nil, sealed, context)
	if err == nil && len(secret) != KeySize {
		clear(secret)
		return nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, len(secret))
	}
	return secret, err
}

func newChain(secret []byte) *Chain {
	keys := &chainKeys{}
	keys.links.New = macs(derive(secret, nil, labelChainLink))
	keys.ends.New = macs(derive(secret, nil, labelChainEnd))
	c := &Chain{state: new(chainState)}
	c.state.keys.Store(keys)
	return c
}

// Link is the link of the record with this number, behind the record with the
// link previous:
//
//	HMAC-SHA256(link key, previous || number || record)
//
// What stands before the record has a fixed size, so no two inputs read alike.
// It is an HMAC because a record is written for every request, and a signature
// would cost thirty times as much; what others must be able to check without
// the key is signed by a [Notary].
func (c *Chain) Link(previous Link, number uint64, record []byte) (Link, error) {
	keys := c.state.keys.Load()
	if keys == nil {
		return Link{}, errChainDestroyed
	}
	return authenticate(&keys.links, previous, number, record), nil
}

// End authenticates that a log ends with the record of this number and link:
//
//	HMAC-SHA256(end key, link || number)
//
// Links alone do not say where a log ends: without its last records a chain is
// still a chain.
func (c *Chain) End(link Link, number uint64) (Link, error) {
	keys := c.state.keys.Load()
	if keys == nil {
		return Link{}, errChainDestroyed
	}
	return authenticate(&keys.ends, link, number, nil), nil
}

// Destroy takes the key away: afterwards every method fails with
// [ErrDestroyed]. Calls under way finish.
func (c *Chain) Destroy() { c.state.keys.Store(nil) }

var errChainDestroyed = fmt.Errorf("chain key: %w", ErrDestroyed)

// mac is a keyed hash with room for what goes in and out, which would else be
// allocated for each record.
type mac struct {
	hash  hash.Hash
	fixed [len(Link{}) + 8]byte
	sum   Link
}

func macs(key []byte) func() any {
	return func() any { return &mac{hash: hmac.New(sha256.New, key)} }
}

func authenticate(pool *sync.Pool, link Link, number uint64, text []byte) Link {
	m := pool.Get().(*mac)
	defer pool.Put(m)
	copy(m.fixed[:], link[:])
	binary.BigEndian.PutUint64(m.fixed[len(link):], number)
	m.hash.Reset()
	m.hash.Write(m.fixed[:])
	m.hash.Write(text)
	m.hash.Sum(m.sum[:0])
	return m.sum
}
