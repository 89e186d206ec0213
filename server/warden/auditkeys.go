package warden

import (
	"fmt"
	"sync"
	"time"

	"coffer/crypto"
	"coffer/store"
)

// auditKeys are what the audit log is written with: only who holds an opened
// keyring has them, so nothing is appended while the instance is sealed.
type auditKeys struct {
	instance store.ID
	chain    *logChain
	notary   *crypto.Notary
}

// Where the keys of the audit log stand in the instance's record.
func chainPlace(i store.Instance) []byte {
	return crypto.RecordContext(crypto.ID(i.ID), "instance/audit-chain")
}

func notaryPlace(i store.Instance) []byte {
	return crypto.RecordContext(crypto.ID(i.ID), "instance/audit-notary")
}

// newAuditKeys puts new keys of the audit log into an instance's record, and
// returns the beginning of the log, signed.
func newAuditKeys(system *crypto.DataKey, i *store.Instance, now time.Time) (store.Checkpoint, error) {
	chain, sealedChain := system.NewChain(chainPlace(*i))
	chain.Destroy()
	notary, sealedNotary := system.NewNotary(notaryPlace(*i))
	defer notary.Destroy()
	i.AuditChain, i.AuditNotary = sealedChain, sealedNotary
	k := auditKeys{instance: i.ID, notary: notary}
	return k.sign(crypto.Base, store.Checkpoint{At: store.At(now)})
}

func openAuditKeys(system *crypto.DataKey, i store.Instance) (auditKeys, error) {
	chain, err := system.OpenChain(i.AuditChain, chainPlace(i))
	if err != nil {
		return auditKeys{}, fmt.Errorf("open the keys of the audit log: %w", err)
	}
	notary, err := system.OpenNotary(i.AuditNotary, notaryPlace(i))
	if err != nil {
		return auditKeys{}, fmt.Errorf("open the keys of the audit log: %w", err)
	}
	return auditKeys{i.ID, &logChain{Chain: chain}, notary}, nil
}

func (k *auditKeys) destroy() {
	k.chain.mu.Lock()
	defer k.chain.mu.Unlock()
	k.chain.Destroy()
	k.chain.last = store.LogEnd{}
	k.notary.Destroy()
}

// sign signs what c says about the log.
func (k *auditKeys) sign(about byte, c store.Checkpoint) (store.Checkpoint, error) {
	signature, err := k.notary.Sign(k.statement(about, c))
	c.Signature = signature
	return c, err
}

// signed reports whether c is signed as being about this.
func (k *auditKeys) signed(about byte, c store.Checkpoint) bool {
	return k.notary.Signed(k.statement(about, c), c.Signature)
}

func (k *auditKeys) statement(about byte, c store.Checkpoint) crypto.Statement {
	return crypto.Statement{
		About: about, Instance: crypto.ID(k.instance), Number: c.Number, Link: c.Link, At: int64(c.At), Base: c.Base,
	}
}

// logChain remembers the last end that it made: the next record begins with
// proving exactly that one, and need not compute it again.
type logChain struct {
	*crypto.Chain
	mu   sync.Mutex
	last store.LogEnd
}

// End implements store.Chain.
func (c *logChain) End(link store.Link, number uint64) (store.Link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Number == number && c.last.Link == link && number != 0 {
		return c.last.Tag, nil
	}
	end, err := c.Chain.End(link, number)
	if err == nil {
		c.last = store.LogEnd{Number: number, Link: link, Tag: end}
	}
	return end, err
}
