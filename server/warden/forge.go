package warden

import (
	"context"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// CheckForge tries the configuration of the code host. It waits for the host.
func (w *Warden) CheckForge(ctx context.Context, who Caller, _ api.Empty) (*api.ForgeCheck, error) {
	if err := admit(who, access.ForgeCheck); err != nil {
		return nil, w.settle(ctx, who, access.ForgeCheck, store.Vault{}, err)
	}
	return CheckedForge(ctx, w.forge, w.c.ForgeURL), nil
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
