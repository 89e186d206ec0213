package warden

import (
	"context"
	"errors"
	"fmt"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// maxProofFaults is how many faults a proof names.
const maxProofFaults = 20

// Prove opens everything that is sealed in the instance, and judges its audit log.
// What it finds wrong stands in the proof; an error means that it could not look.
func (s *Specimen) Prove(ctx context.Context) (*api.BackupProof, error) {
	p := &proof{BackupProof: api.BackupProof{
		Opened: true, Passphrase: s.backup.content.Master != nil, Keys: []string{}, Backup: &s.backup.About, Faults: []string{},
	}}
	for _, k := range s.backup.About.OpensWith {
		if k.Fingerprint != "" {
			p.Keys = append(p.Keys, k.Fingerprint)
		}
	}
	err := s.w.withKeys(func(k *keyring) error {
		p.keys = k
		return s.w.store.View(ctx, func(r store.Reader) error {
			p.r, p.ctx = r, ctx
			for _, look := range []func() error{p.newest, p.versions, p.ledgers, p.connections, p.grants} {
				if err := look(); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if err := p.log(ctx, s); err != nil {
		return nil, err
	}
	p.Good = len(p.Faults) == 0 && p.more == 0
	if p.more > 0 {
		p.Faults = append(p.Faults, fmt.Sprintf("There are %d more.", p.more))
	}
	return &p.BackupProof, nil
}

// proof is what is being found out about a Specimen.
type proof struct {
	api.BackupProof
	r     store.Reader
	ctx   context.Context
	keys  *keyring
	plain []byte // of the last value, to be used again
	more  int    // faults beyond those that are named
}

func (p *proof) fault(format string, args ...any) {
	if len(p.Faults) < maxProofFaults {
		p.Faults = append(p.Faults, fmt.Sprintf(format, args...))
		return
	}
	p.more++
}

// opens tries one sealed value, and counts it.
func (p *proof) opens(count *int, key *crypto.DataKey, sealed, place []byte, what string, args ...any) {
	*count++
	var err error
	p.plain, err = key.Open(p.plain[:0], sealed, place)
	clear(p.plain)
	if err != nil {
		p.fault("%s does not open.", fmt.Sprintf(what, args...))
	}
}

// newest opens the newest value of every secret that is not in the trash.
func (p *proof) newest() error {
	vaults, err := p.r.Vaults()
	if err != nil {
		return err
	}
	p.Vaults = len(vaults)
	for _, v := range vaults {
		envs, err := p.r.Environments(v.ID)
		if err != nil {
			return err
		}
		for _, e := range envs {
			if err := p.environment(v, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *proof) environment(v store.Vault, e store.Environment) error {
	all, err := p.r.Newest(e)
	if err != nil {
		return err
	}
	for _, n := range all {
		if key := p.key(e.Vault, n.Generation); key != nil {
			p.opens(&p.Values, key, n.Sealed, newestContext(&e, n), "The value of %s in %s of %s", n.Key, e.Name, v.Repository())
		}
	}
	return p.ctx.Err()
}

// key is a vault's data key, or nil where it does not open, which is a fault.
func (p *proof) key(vault store.ID, generation uint32) *crypto.DataKey {
	key, err := p.keys.dataKey(p.r, vault, uint64(generation))
	if err != nil {
		p.fault("A data key of vault %s is missing or does not open.", vault)
		return nil
	}
	return key
}

// versions opens every version of every secret, those in the trash included.
func (p *proof) versions() error {
	return p.r.EachVersion(func(v store.Version) error {
		if key := p.key(v.Vault, v.Generation); key != nil {
			p.opens(&p.Values, key, v.Sealed, crypto.VersionContext(v.Vault, v.Secret, v.Number), "Version %d of secret %s", v.Number, v.Secret)
		}
		return p.ctx.Err()
	})
}

// ledgers opens the keys of fingerprints.
func (p *proof) ledgers() error {
	ids, err := p.r.VaultIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		l, err := p.r.LedgerKey(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if key := p.key(id, uint32(l.Generation)); key != nil {
			p.opens(&p.Secrets, key, l.Sealed, ledgerPlace(id), "The key of fingerprints of vault %s", id)
		}
	}
	return nil
}

// connections opens the tokens of connections to hosting providers.
func (p *proof) connections() error {
	all, err := p.r.Connections()
	for _, c := range all {
		p.token(c.Access, crypto.ID(c.ID), connectionAccess, "connection")
		p.token(c.Refresh, crypto.ID(c.ID), connectionRefresh, "connection")
	}
	return err
}

// grants opens the tokens of people at the code host.
func (p *proof) grants() error {
	all, err := p.r.Grants()
	for _, g := range all {
		p.token(g.Access, crypto.ID(g.User), accessField, "grant")
		p.token(g.Refresh, crypto.ID(g.User), refreshField, "grant")
	}
	return err
}

func (p *proof) token(sealed []byte, id crypto.ID, field, what string) {
	if len(sealed) > 0 {
		p.opens(&p.Secrets, p.keys.system, sealed, crypto.RecordContext(id, field), "A token of %s %s", what, store.ID(id))
	}
}

// log judges the audit log.
func (p *proof) log(ctx context.Context, s *Specimen) error {
	v := &verification{w: s.w}
	if err := v.run(ctx); err != nil {
		return err
	}
	p.Log = &v.report
	for _, f := range v.report.Faults {
		p.fault("The audit log is not %s: %s", f.Against, f.Detail)
	}
	return nil
}
