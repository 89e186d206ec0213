package warden_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

// appHost is a code host whose application sees what it was installed on.
type appHost struct {
	*forge.Local
	installed bool
	down      error
}

const installPage = "https://host.example/install"

// InstallURL is an answer to who does not wait for it for ever.
func (h *appHost) InstallURL(ctx context.Context) string {
	if until, ok := ctx.Deadline(); !ok || time.Until(until) > 10*time.Second {
		return ""
	}
	return installPage
}

func (h *appHost) InstalledOn(context.Context, forge.Organization) (bool, error) {
	return h.installed, h.down
}

func (h *appHost) InstallationID(context.Context, forge.Repository) (string, error) {
	return "", forge.ErrNotFound
}

func (h *appHost) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	switch {
	case h.down != nil:
		return forge.Repository{}, h.down
	case !h.installed:
		return forge.Repository{}, forge.ErrNoCredential
	}
	return h.Local.Repository(ctx, as, owner, name)
}

func TestTheApplicationIsOfferedWhereItIsMissing(t *testing.T) {
	host := &appHost{installed: true}
	h := newHouseWith(t, func(c *warden.Config) {
		c.Forge = func(d forge.Directory) forge.Forge {
			host.Local = forge.NewLocal(d)
			return host
		}
	})
	d := h.desk(h.warden(h.db))
	operator, err := d.w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	must(t, second(d.w.AddLocalUser(t.Context(), operator, api.AddLocalUser{Username: "bob", Password: api.NewSecret("a password")})))
	must(t, second(d.w.AddLocalRepo(t.Context(), operator, api.AddLocalRepo{RepoFullName: "bob/own"})))
	if got := d.start().GitHubAppInstallURL; got == nil || *got != installPage {
		t.Errorf("a login starts with %v", got)
	}
	for name, c := range map[string]struct {
		repo      string
		installed bool
		down      error
		offered   bool
	}{
		"seen":                   {repo: "ann/api", installed: true},
		"not seen":               {repo: "ann/api", offered: true},
		"seen, of somebody else": {repo: "bob/own", installed: true, offered: true},
		"not there":              {repo: "bob/none", installed: true, offered: true},
		"no repository":          {installed: true},
		"the code host is down":  {repo: "ann/api", down: &forge.Unavailable{Err: errors.New("slow")}},
	} {
		host.installed, host.down = c.installed, c.down
		if got := d.w.InstallOffer(t.Context(), d.ann, c.repo); (got != "") != c.offered {
			t.Errorf("%s: offered %q", name, got)
		}
	}
}
