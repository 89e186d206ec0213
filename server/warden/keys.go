package warden

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

const keyPrefix = 16 // characters of a token that are shown afterwards

// CreateKey makes an API key of the caller's own. A key made by a key can do no
// more than the one that made it.
func (w *Warden) CreateKey(ctx context.Context, who Caller, req api.CreateAPIKey) (*api.CreatedAPIKey, error) {
	return w.CreateKeyOnce(ctx, who, req, "")
}

// CreateKeyOnce is CreateKey for a form that browsers send again when somebody
// loads its answer again: one form makes one key.
func (w *Warden) CreateKeyOnce(ctx context.Context, who Caller, req api.CreateAPIKey, form string) (*api.CreatedAPIKey, error) {
	const act = access.KeyCreate
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	now := w.now()
	var expires time.Time
	if req.ExpiresInDays != nil {
		expires = now.AddDate(0, 0, *req.ExpiresInDays)
	}
	k, token, err := newKey(now, req.Name, req.Environment, req.Scopes, req.AllowedIPs, expires)
	if err != nil {
		return nil, err
	}
	k.User, k.Form = who.user.ID, form
	if who.kind == access.APIKey {
		if err := within(&k, who.key); err != nil {
			return nil, err
		}
	}
	err = w.changeSelf(ctx, who, act, func(tx store.Tx, j *journal) error {
		if err := neverMade(tx, k); err != nil {
			return err
		}
		j.note("api_key_created", keyMeta(k))
		return tx.PutAPIKey(k)
	})
	if err != nil {
		return nil, err
	}
	return &api.CreatedAPIKey{APIKey: w.shownKey(k), Token: api.Revealed(token)}, nil
}

// neverMade wants the form of a new key to have made none before.
func neverMade(tx store.Tx, k store.APIKey) error {
	if k.Form == "" {
		return nil
	}
	all, err := tx.APIKeys(k.User)
	if err != nil {
		return err
	}
	for _, made := range all {
		if made.Form == k.Form {
			return api.Errorf(api.Conflict, "The key %q was made already, and cannot be shown again. If you do not have it, revoke it and make another one.", made.Name)
		}
	}
	return nil
}

// newKey makes a key of nobody yet, and its token.
func newKey(now time.Time, name, environment string, scopes, sources []string, expires time.Time) (store.APIKey, string, error) {
	set, err := access.ParseScopes(scopes)
	if err != nil {
		return store.APIKey{}, "", err
	}
	token, err := crypto.NewAPIKey(environment)
	if err != nil {
		return store.APIKey{}, "", err
	}
	k := store.APIKey{
		ID: store.NewIDs(now).Next(), Hash: crypto.HashToken(token), Prefix: token[:keyPrefix],
		Name: name, Environment: environment, Scopes: uint8(set),
		Created: store.At(now), Expires: store.At(expires),
	}
	for _, s := range sources {
		p, err := api.ParseSource(s)
		if err != nil {
			return store.APIKey{}, "", err
		}
		if text := p.String(); !slices.Contains(k.Sources, text) {
			k.Sources = append(k.Sources, text)
		}
	}
	return k, token, nil
}

// within holds a new key against the key that makes it: not more scopes, not
// longer, not from elsewhere, not live from test. What the new key leaves open
// it inherits.
func within(k *store.APIKey, maker store.APIKey) error {
	if !access.Scopes(k.Scopes).SubsetOf(access.Scopes(maker.Scopes)) {
		return api.Errorf(api.Forbidden, "A key cannot make a key with scopes that it lacks; this one has %s.", access.Scopes(maker.Scopes))
	}
	if maker.Environment == "test" && k.Environment != "test" {
		return api.Errorf(api.Forbidden, "A test key can only make test keys.")
	}
	if maker.Expires != 0 {
		if k.Expires == 0 {
			k.Expires = maker.Expires
		}
		if k.Expires > maker.Expires {
			return api.Errorf(api.Forbidden, "A key cannot make a key that outlives it; this one expires at %s.", api.At(maker.Expires.Time()))
		}
	}
	if len(maker.Sources) == 0 {
		return nil
	}
	if len(k.Sources) == 0 {
		k.Sources = maker.Sources
	}
	for _, s := range k.Sources {
		if !covered(s, maker.Sources) {
			return api.Errorf(api.Forbidden, "A key cannot make a key for addresses outside its own ranges; %s is.", s)
		}
	}
	return nil
}

func covered(source string, ranges []string) bool {
	inner, err := netip.ParsePrefix(source)
	if err != nil {
		return false
	}
	for _, r := range ranges {
		outer, err := netip.ParsePrefix(r)
		if err == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr()) {
			return true
		}
	}
	return false
}

func keyMeta(k store.APIKey) map[string]any {
	meta := map[string]any{
		"apiKeyId": k.ID.String(), "apiKeyName": k.Name, "environment": k.Environment,
		"scopes": access.Scopes(k.Scopes).Names(), "expiresAt": nil,
	}
	if k.Expires != 0 {
		meta["expiresAt"] = api.At(k.Expires.Time()).String()
	}
	return meta
}

func (w *Warden) shownKey(k store.APIKey) api.APIKey {
	use := w.uses.pending(k.ID)
	if use.count > 0 {
		k.LastUsed, k.Uses = store.At(use.last), k.Uses+use.count
	}
	sources := k.Sources
	if sources == nil {
		sources = []string{}
	}
	return api.APIKey{
		ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, Environment: k.Environment,
		Scopes: access.Scopes(k.Scopes).Names(), ExpiresAt: api.AtOrNull(k.Expires.Time()), AllowedIPs: sources,
		LastUsedAt: api.AtOrNull(k.LastUsed.Time()), UsageCount: k.Uses, CreatedAt: api.At(k.Created.Time()),
		RevokedAt: api.AtOrNull(k.Revoked.Time()), RevokedReason: orNull(k.Reason),
		IsActive: k.Revoked == 0 && !expired(k, w.now()),
	}
}

// Keys lists the caller's API keys, revoked and expired ones too.
func (w *Warden) Keys(ctx context.Context, who Caller, _ api.Empty) (*api.APIKeys, error) {
	out := &api.APIKeys{}
	err := w.self(ctx, who, access.KeyList, func(r store.Reader) error {
		all, err := r.APIKeys(who.user.ID)
		out.Keys = make([]api.APIKey, 0, len(all))
		for _, k := range all {
			out.Keys = append(out.Keys, w.shownKey(k))
		}
		return err
	})
	return out, err
}

// Key is one of the caller's API keys.
func (w *Warden) Key(ctx context.Context, who Caller, ref api.IDRef) (*api.APIKey, error) {
	var out api.APIKey
	err := w.self(ctx, who, access.KeyGet, func(r store.Reader) error {
		k, err := ownKey(r, who, ref)
		out = w.shownKey(k)
		return err
	})
	return &out, err
}

// ownKey finds an API key of the caller's: anybody else's is not found.
func ownKey(r store.Reader, who Caller, ref api.IDRef) (store.APIKey, error) {
	missing := api.Errorf(api.NotFound, "You have no such API key.")
	id, err := store.ParseID(ref.ID)
	if err != nil {
		return store.APIKey{}, missing
	}
	k, err := r.APIKey(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && k.User != who.user.ID {
		return store.APIKey{}, missing
	}
	return k, err
}

// RevokeKey ends one of the caller's API keys at once.
func (w *Warden) RevokeKey(ctx context.Context, who Caller, ref api.IDRef) error {
	return w.changeSelf(ctx, who, access.KeyRevoke, func(tx store.Tx, j *journal) error {
		k, err := ownKey(tx.Reader, who, ref)
		if err != nil {
			return err
		}
		if k.Revoked != 0 {
			return api.Errorf(api.Conflict, "This API key is revoked already.")
		}
		k.Revoked, k.Reason = store.At(j.now), "manual"
		j.note("api_key_revoked", map[string]any{"apiKeyId": k.ID.String(), "apiKeyName": k.Name, "reason": k.Reason})
		return tx.PutAPIKey(k)
	})
}
