package warden

import (
	"context"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// OwnConnection is one of the caller's connections as its page shows it.
type OwnConnection struct {
	api.Connection
	Account string // its name at the provider, or ""
	Links   []LinkThrough
}

// LinkThrough is a link that goes through a connection, and goes with it.
type LinkThrough struct {
	Project, Service, Target string
	Auto                     bool

	// Vault and Environment are "" where the caller may see them no more.
	Vault, Environment string
}

// OwnConnections lists the caller's connections with the links through each, oldest
// first.
func (w *Warden) OwnConnections(ctx context.Context, who Caller) ([]OwnConnection, error) {
	var conns []store.Connection
	links := make(map[store.ID][]store.SyncLink) // by connection
	vaults := make(map[store.ID]store.Vault)
	err := w.self(ctx, who, access.ConnectionList, func(r store.Reader) (err error) {
		if conns, err = r.ConnectionsOf(who.user.ID); err != nil {
			return err
		}
		for _, c := range conns {
			if links[c.ID], err = r.LinksThrough(c.ID); err != nil {
				return err
			}
			for _, l := range links[c.ID] {
				if vaults[l.Vault], err = r.Vault(l.Vault); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	seen, err := w.environmentsSeen(ctx, who, vaults)
	if err != nil {
		return nil, err
	}
	out := make([]OwnConnection, len(conns))
	for i, c := range conns {
		out[i] = OwnConnection{Connection: connection(c), Account: c.AccountName}
		for _, l := range links[c.ID] {
			through := LinkThrough{Project: l.ProjectName, Service: l.ServiceName, Target: l.Target, Auto: l.Auto && !l.Disabled}
			if name, ok := seen[l.Environment]; ok {
				through.Vault, through.Environment = vaults[l.Vault].Repository(), name
			}
			out[i].Links = append(out[i].Links, through)
		}
	}
	return out, nil
}

// environmentsSeen are the names of the environments in some vaults that the caller
// may read. A vault whose code host does not answer now counts as not seen.
func (w *Warden) environmentsSeen(ctx context.Context, who Caller, vaults map[store.ID]store.Vault) (map[store.ID]string, error) {
	roles := make(map[store.ID]access.Role)
	for id, v := range vaults {
		f, err := w.role(ctx, who, v)
		if err != nil {
			w.log.InfoContext(ctx, "a vault is left out of a list, because the code host did not answer", "error", err)
			continue
		}
		roles[id] = f.role
	}
	names := make(map[store.ID]string)
	err := w.store.View(ctx, func(r store.Reader) error {
		for id, role := range roles {
			if role == access.None {
				continue
			}
			v, err := w.visitOf(r, who, access.VaultList, vaults[id], role, nil, w.now())
			if err != nil {
				return err
			}
			for _, e := range v.envs {
				if v.rights(e).Read {
					names[e.ID] = e.Name
				}
			}
		}
		return nil
	})
	return names, w.outward(err)
}

// OwnConnection is one of the caller's connections.
func (w *Warden) OwnConnection(ctx context.Context, who Caller, ref api.ConnectionRef) (OwnConnection, error) {
	all, err := w.OwnConnections(ctx, who)
	if err != nil {
		return OwnConnection{}, err
	}
	if i := slices.IndexFunc(all, func(c OwnConnection) bool { return c.ID == ref.ID }); i >= 0 {
		return all[i], nil
	}
	return OwnConnection{}, errNoConnection
}
