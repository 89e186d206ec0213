package warden

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/store"
	"coffer/store/kv/bolt"
)

// TestDirectoryKeepsTheRulesOfCodeHosts checks the built-in code host over the
// store, as it is in an instance.
func TestDirectoryKeepsTheRulesOfCodeHosts(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) *forgetest.Host {
		w := forgetest.NewWorld()
		return &forgetest.Host{
			World: w,
			Forge: func(forgetest.Options) forge.Forge { return forge.NewLocal(mirror{t, w}) },
			Features: forgetest.Features{
				Roles:             []forge.Role{forge.Read, forge.Triage, forge.Write, forge.Maintain, forge.Admin},
				MembersReadPublic: true,
			},
		}
	})
}

// mirror is the directory over a store that is written anew from the world for
// every look: the world can do what the built-in code host cannot, such
// as renaming.
type mirror struct {
	t *testing.T
	w *forgetest.World
}

func (m mirror) Read(ctx context.Context, fn func(forge.Records) error) error {
	db, err := bolt.Open(filepath.Join(m.t.TempDir(), "data.db"), bolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	s, err := store.Open(ctx, db)
	if err != nil {
		return err
	}
	if err := s.Update(ctx, m.write); err != nil {
		return err
	}
	return directory{&Warden{store: s}}.Read(ctx, fn)
}

func (m mirror) AddRepo(context.Context, forge.Namespace, string) (forge.LocalRepo, error) {
	panic("warden: no rule registers a repository")
}

// write makes what there is in the order of the ids, with something else at the
// ids of what is gone, so that the store gives out the same numbers.
func (m mirror) write(tx store.Tx) error {
	add := map[int64]func() error{}
	for _, u := range m.w.Users() {
		add[u.ID] = func() error { return tx.AddLocalUser(&store.LocalUser{Name: u.Login}) }
	}
	for _, o := range m.w.Orgs() {
		add[o.ID] = func() error { return tx.AddLocalOrg(&store.LocalOrg{Name: o.Login}) }
	}
	for _, r := range m.w.Repos() {
		owner, _ := m.w.Owner(r.Owner)
		add[r.ID] = func() error {
			return tx.AddLocalRepo(&store.LocalRepo{
				OwnerKind: string(owner.Kind), Owner: uint64(owner.ID), Name: r.Name,
				Public: r.Visibility == forgetest.Public, Created: store.At(time.Now()),
			})
		}
	}
	for id, left := int64(1), len(add); left > 0; id++ {
		what, ok := add[id]
		if ok {
			left--
		} else {
			what = func() error { return tx.AddLocalUser(&store.LocalUser{Name: fmt.Sprintf("gone-%d", id)}) }
		}
		if err := what(); err != nil {
			return err
		}
	}
	return m.relate(tx)
}

func (m mirror) relate(tx store.Tx) error {
	for _, o := range m.w.Orgs() {
		for _, member := range m.w.Members(o.ID) {
			if err := tx.SetLocalMember(uint64(o.ID), uint64(member.User.ID), member.Standing); err != nil {
				return err
			}
		}
	}
	for _, r := range m.w.Repos() {
		for _, g := range m.w.Direct(r.ID) {
			if err := tx.SetLocalRole(uint64(r.ID), uint64(g.User.ID), string(g.Role)); err != nil {
				return err
			}
		}
	}
	return nil
}
