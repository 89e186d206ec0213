package warden_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

// sightHost is the built-in code host, as if it were elsewhere: each credential
// sees the repositories there or fails in a way of its own. The one of the server
// is "".
type sightHost struct {
	*forge.Local
	url     string
	account string           // whose the tokens are
	fails   map[string]error // by token
}

func (h *sightHost) InstallURL(context.Context) string { return h.url }

func (h *sightHost) InstalledOn(context.Context, forge.Organization) (bool, error) {
	return false, h.fails["installation"]
}

func (h *sightHost) InstallationID(context.Context, forge.Repository) (string, error) {
	return "77", h.fails["installation"]
}

func (h *sightHost) Bearer(context.Context, string) (forge.User, error) {
	return forge.User{ID: h.account, Login: "ann"}, nil
}

func (h *sightHost) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	repo, err := h.Local.Repository(ctx, as, owner, name)
	return repo, cmp.Or(h.fails[as.Token], err)
}

func (h *sightHost) RepositoryByID(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Repository, error) {
	repo, err := h.Local.RepositoryByID(ctx, as, repo)
	return repo, cmp.Or(h.fails[as.Token], err)
}

func (h *sightHost) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	r, err := h.Local.Role(ctx, as, repo)
	return r, cmp.Or(h.fails[as.Token], err)
}

func (h *sightHost) Register(context.Context, string, string, string) (forge.Repository, error) {
	return forge.Repository{}, forge.ErrRefused
}

// sight is a warden bound to a sightHost, where ann's account owns ann/api.
func sight(t *testing.T) (*sightHost, *warden.Warden, map[string]warden.Caller) {
	t.Helper()
	host := &sightHost{fails: make(map[string]error)}
	var minutes atomic.Int64
	h := newHouse(t)
	ann, err := h.warden(h.db).Me(t.Context(), h.ann(h.warden(h.db)), api.Empty{})
	must(t, err)
	host.account = ann.ForgeUserID
	h.with = func(c *warden.Config) {
		// Time flies, so that no answer is remembered.
		c.Now = func() time.Time { return time.Now().Add(time.Duration(minutes.Add(1)) * time.Minute) }
		c.Forge = func(d forge.Directory) forge.Forge {
			host.Local = forge.NewLocal(d)
			return host
		}
	}
	w := h.warden(h.db)
	pat, err := w.Identify(t.Context(), warden.Credential{Bearer: "pat"})
	must(t, err)
	key, err := w.IssueToken(t.Context(), operator(t, w), api.IssueToken{Username: "ann", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets, api.WriteSecrets}})
	must(t, err)
	byKey, err := w.Identify(t.Context(), warden.Credential{Bearer: string(key.Token)})
	must(t, err)
	return host, w, map[string]warden.Caller{"pat": pat, "key": byKey}
}

// TestAnInstallationIsNeverSaidToLackWrongly: existing clients stop when they are
// told that there is none.
func TestAnInstallationIsNeverSaidToLackWrongly(t *testing.T) {
	const url = "https://host.example/install"
	down := &forge.Unavailable{Err: errors.New("slow")}
	for name, c := range map[string]struct {
		who       string
		service   error // of the server's own credential
		grant     error // of what ann let the server do; "" is none
		signedIn  bool
		pat       error
		noLink    bool
		installed bool
		refused   api.Code
	}{
		"the server sees it":                                {who: "key", installed: true},
		"the sign-in sees it":                               {who: "key", service: forge.ErrNoCredential, signedIn: true, installed: true},
		"nobody can be asked":                               {who: "key", service: forge.ErrNoCredential, refused: api.Forbidden},
		"the sign-in does not see it":                       {who: "key", service: forge.ErrNoCredential, signedIn: true, grant: forge.ErrNotFound, refused: api.NotFound},
		"the server says it is not there":                   {who: "key", service: forge.ErrNotFound, refused: api.NotFound},
		"the host is down":                                  {who: "key", service: down, refused: api.Unavailable},
		"token and server see it":                           {who: "pat", installed: true},
		"token and sign-in see it":                          {who: "pat", service: forge.ErrNoCredential, signedIn: true, installed: true},
		"only the token sees it":                            {who: "pat", service: forge.ErrNoCredential},
		"only the token sees it, and the server is refused": {who: "pat", service: forge.ErrNotFound},
		"only the token sees it, and nothing is to install": {who: "pat", service: forge.ErrNoCredential, noLink: true, installed: true},
		"the server cannot be asked":                        {who: "pat", service: down, refused: api.Unavailable},
		"the server's credential is out of order":           {who: "pat", service: forge.ErrRefused, refused: api.Forbidden},
		"the sign-in cannot be asked":                       {who: "pat", service: forge.ErrNoCredential, signedIn: true, grant: down, refused: api.Unavailable},
		"the token does not see what the server does":       {who: "pat", pat: forge.ErrNotFound, refused: api.NotFound},
		"nobody sees it":                                    {who: "pat", pat: forge.ErrNotFound, service: forge.ErrNoCredential, refused: api.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			host, w, callers := sight(t)
			host.fails[""], host.fails["granted"], host.fails["pat"] = c.service, c.grant, c.pat
			if !c.noLink {
				host.url = url
			}
			who := callers[c.who]
			if c.signedIn {
				must(t, w.KeepGrant(t.Context(), who, forge.Grant{Access: "granted"}))
			}
			got, err := w.CheckInstallation(t.Context(), who, api.CheckInstallation{RepoOwner: "Ann", RepoName: "API"})
			if c.refused != "" {
				if api.CodeOf(err) != c.refused {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			must(t, err)
			if got.Installed != c.installed || (got.InstallURL == nil) != c.noLink || !c.noLink && *got.InstallURL != url {
				t.Errorf("got %+v", got)
			}
			if (got.InstallationID != nil) != c.installed || c.installed && *got.InstallationID != 77 {
				t.Errorf("the installation %v", got.InstallationID)
			}
		})
	}
}

func TestAnInstallationWithoutANumberIsOne(t *testing.T) {
	host, w, callers := sight(t)
	host.fails["installation"] = forge.ErrNotFound
	got, err := w.CheckInstallation(t.Context(), callers["key"], api.CheckInstallation{RepoOwner: "ann", RepoName: "api"})
	must(t, err)
	if !got.Installed || got.InstallationID != nil || got.InstallURL != nil {
		t.Errorf("got %+v", got)
	}
}

func TestNumbersOfRepositoriesAreForWhoHasARoleThere(t *testing.T) {
	host, w, callers := sight(t)
	ids := func(who, name string) bool {
		t.Helper()
		got, err := w.RepositoryIDs(t.Context(), callers[who], api.RepositoryIDs{Repo: name})
		must(t, err)
		if (got.OwnerID == nil) != (got.RepoID == nil) {
			t.Errorf("got %+v", got)
		}
		return got.RepoID != nil
	}
	if !ids("key", repo) || !ids("pat", "ANN/Api") || ids("key", "ann/nothing") {
		t.Error("they are shown by role")
	}
	host.fails["pat"] = forge.ErrNotFound
	if ids("pat", repo) || !ids("key", repo) {
		t.Error("a token of the code host has its own reach")
	}
	host.fails[""] = &forge.Unavailable{Err: errors.New("slow")}
	if _, err := w.RepositoryIDs(t.Context(), callers["key"], api.RepositoryIDs{Repo: repo}); api.CodeOf(err) != api.Unavailable {
		t.Errorf("no answer is not \"no role\": %v", err)
	}
}

// TestARefusedVaultNamesTheInstallLink, in the same words whether the repository
// is there or not.
func TestARefusedVaultNamesTheInstallLink(t *testing.T) {
	host, w, callers := sight(t)
	refused := func(name string) string {
		t.Helper()
		err := second(w.CreateVault(t.Context(), callers["key"], api.CreateVault{RepoFullName: name}))
		if api.CodeOf(err) != api.NotFound {
			t.Fatalf("%s: %v", name, err)
		}
		return strings.ReplaceAll(err.Error(), name, "IT")
	}
	if text := refused("ann/nothing"); strings.Contains(text, "http") {
		t.Errorf("no link is configured: %s", text)
	}
	host.url = "https://host.example/install"
	host.fails[""] = forge.ErrNotFound
	hidden, absent := refused(repo), refused("ann/nothing")
	if hidden != absent || !strings.HasSuffix(hidden, host.url) {
		t.Errorf("got %q and %q", hidden, absent)
	}
}
