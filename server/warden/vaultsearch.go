package warden

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
	"coffer/store/kv"
)

// Bounds of a search.
const (
	maxKeysSearched = 100_000 // in all vaults together
	maxKeysShown    = 5       // of one vault
	maxFree         = 200     // repositories without a vault
)

// VaultSearch asks for vaults by a part of their own name or of a key's, in any
// case. An empty query finds all.
type VaultSearch struct {
	Query string
	api.Page
}

// FoundVault is a vault, and which of its keys the query found: in environments
// that the caller may read, and nowhere else.
type FoundVault struct {
	api.Vault
	Keys     []string // some of them, sorted
	KeyCount int      // all of them
}

// FoundVaults is a page of what a search found, latest change first.
type FoundVaults struct {
	api.List[FoundVault]

	// Cut says that there were too many keys to look at all of them.
	Cut bool

	// Free are repositories without a vault that the caller may make one for, as
	// far as the code host lists them: some of their names, sorted, whatever the
	// query.
	Free []string
}

// FindVaults searches the vaults on whose repositories the caller has a role.
func (w *Warden) FindVaults(ctx context.Context, who Caller, req VaultSearch) (*FoundVaults, error) {
	if err := admit(who, access.VaultList); err != nil {
		return nil, w.settle(ctx, who, access.VaultList, store.Vault{}, err)
	}
	reachable, err := w.reachable(ctx, who)
	if err != nil {
		return nil, err
	}
	s := search{w: w, who: who, query: strings.TrimSpace(req.Query)}
	if err := w.self(ctx, who, access.VaultList, func(r store.Reader) error { return s.run(r, reachable) }); err != nil {
		return nil, err
	}
	slices.SortFunc(s.found, func(a, b FoundVault) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	slices.Sort(s.free)
	return &FoundVaults{List: *api.Cut(s.found, req.Page), Cut: s.looked >= maxKeysSearched, Free: s.free[:min(len(s.free), maxFree)]}, nil
}

// search is one search under way.
type search struct {
	w      *Warden
	who    Caller
	query  string
	found  []FoundVault
	free   []string
	looked int // keys so far
}

func (s *search) run(r store.Reader, reachable []forge.Reachable) error {
	s.found, s.free, s.looked = nil, nil, 0
	books := s.w.books(r)
	for _, there := range reachable {
		v, err := s.w.listed(r, s.who, there)
		if errors.Is(err, store.ErrNotFound) {
			if there.Role == forge.Admin {
				s.free = append(s.free, there.Repository.FullName())
			}
			continue
		}
		if err != nil {
			return err
		}
		v.books = books
		if err := s.look(v); err != nil {
			return err
		}
	}
	return nil
}

// look adds a vault if the query finds it.
func (s *search) look(v *visit) error {
	var keys []string
	if s.query != "" {
		var err error
		if keys, err = s.keys(v); err != nil {
			return err
		}
		named := strings.Contains(strings.ToLower(v.vault.Repository()), strings.ToLower(s.query))
		if !named && len(keys) == 0 {
			return nil
		}
	}
	shown, err := v.record()
	s.found = append(s.found, FoundVault{Vault: shown, Keys: keys[:min(len(keys), maxKeysShown)], KeyCount: len(keys)})
	return err
}

// keys are the names in the vault's readable environments that the query finds.
func (s *search) keys(v *visit) ([]string, error) {
	part := strings.ToUpper(s.query) // as all keys are written
	var names []string
	for _, e := range v.readable() {
		err := v.Reader.Keys(*e, func(name string) error {
			if s.looked >= maxKeysSearched {
				return kv.Stop
			}
			s.looked++
			if strings.Contains(name, part) {
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
