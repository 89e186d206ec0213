package warden

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// hostState is what an instance knows of its code host for a while: what the host
// said and until when that counts, what it is being asked, and what is to be asked
// next. None of it is on disk, and all of it may be lost: then the host is asked
// again.
type hostState struct {
	roles     *roleCache // what it said of callers and repositories
	bearers   *bearers   // and of tokens that requests brought along
	confirmed confirmed  // when it last showed a vault's repository
	rosters   *rosters   // organizations whose members are to be asked for

	asked    singleflight.Group // questions about roles and tokens
	renewals singleflight.Group // of grants, by user

	events chan struct{} // webhooks left something to do
	doing  sync.Mutex    // held by whoever does it
}

func newHostState(now func() time.Time, roleTTL time.Duration) hostState {
	return hostState{
		roles: newRoleCache(now, roleTTL), bearers: newBearers(now), rosters: newRosters(now),
		events: make(chan struct{}, 1),
	}
}

// CheckForge tries the configuration of the code host. It waits for the host.
func (w *Warden) CheckForge(ctx context.Context, who Caller, _ api.Empty) (*api.ForgeCheck, error) {
	if err := admit(who, access.ForgeCheck); err != nil {
		return nil, w.settle(ctx, who, access.ForgeCheck, store.Vault{}, err)
	}
	return w.CheckedForge(ctx), nil
}

// CheckedForge is what a check of the code host finds, for the server itself.
func (w *Warden) CheckedForge(ctx context.Context) *api.ForgeCheck {
	return CheckedForge(ctx, w.forge, w.c.ForgeURL)
}

// CheckedForge is what a check of a code host at url finds; f may be nil for the
// built-in one.
func CheckedForge(ctx context.Context, f forge.Forge, url string) *api.ForgeCheck {
	out := &api.ForgeCheck{Kind: forge.KindLocal, URL: url, Findings: []api.Finding{}}
	if f != nil {
		out.Kind = f.Kind()
	}
	if c, ok := f.(forge.Checker); ok {
		for _, found := range c.Check(ctx) {
			out.Findings = append(out.Findings, api.Finding(found))
		}
	}
	return out
}

// AppSigner reads the private key of an application at a code host, in PEM, and
// returns what signs the application's tokens with it.
func AppSigner(pem []byte) (func(issuer string, issued, expires time.Time) (string, error), error) {
	s, err := crypto.NewAppSigner(pem)
	if err != nil {
		return nil, err
	}
	return s.Sign, nil
}
