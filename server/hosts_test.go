package server_test

import (
	"bytes"
	"coffer/server/standin"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/servertest"
)

const hookSecret = "what the code host signs with"

// bound is an instance that is bound to a code host: acme/api there is private,
// ann owns acme, bob may write, and carl has nothing to do with it.
type bound struct {
	*servertest.Instance
	t              *testing.T
	world          *forgetest.World
	fake           *forgetest.Fake
	ann, bob, carl int64
	org, repo      int64
	scopes         []string
	hooks          func() []forgetest.Hook
	service        func() server.ForgeConfig // what makes a service credential
	app            forgetest.App
}

// hosts are the code hosts that an instance can be bound to.
var hosts = map[string]func(*testing.T, *bound) server.ForgeConfig{
	"gitea": func(t *testing.T, b *bound) server.ForgeConfig {
		return b.gitea(t, forgetest.NewGitea)
	},
	"forgejo": func(t *testing.T, b *bound) server.ForgeConfig {
		return b.gitea(t, forgetest.NewForgejo)
	},
	"github": func(t *testing.T, b *bound) server.ForgeConfig {
		fake := forgetest.NewGitHub(t, b.world)
		b.fake, b.scopes, b.hooks = fake.Fake, []string{"repo", "read:org", "read:user"}, fake.Hooks
		b.app = fake.Register(b.app).App
		b.service = func() server.ForgeConfig {
			fake.InstallEverywhere()
			key, err := fake.PrivateKey()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "app.pem")
			if err := os.WriteFile(file, key, 0o600); err != nil {
				t.Fatal(err)
			}
			return server.ForgeConfig{AppID: b.app.ClientID, AppKeyFile: file}
		}
		return server.ForgeConfig{Kind: "github", URL: fake.URL}
	},
	"gitlab": func(t *testing.T, b *bound) server.ForgeConfig {
		fake := forgetest.NewGitLab(t, b.world)
		b.fake, b.scopes = fake.Fake, []string{"read_api"}
		b.hooks = func() []forgetest.Hook { return fake.Hooks(b.repo, b.org, b.bob) }
		b.service = func() server.ForgeConfig {
			root := b.world.AddUser("root")
			b.world.SetSiteAdmin(root)
			return server.ForgeConfig{Token: b.world.Token(root, forgetest.PAT, "read_api")}
		}
		return server.ForgeConfig{Kind: "gitlab", URL: fake.URL}
	},
}

func (b *bound) gitea(t *testing.T, listen func(testing.TB, *forgetest.World) *forgetest.Gitea) server.ForgeConfig {
	fake := listen(t, b.world)
	b.fake, b.scopes = fake.Fake, forgetest.GiteaScopes()
	b.hooks = func() []forgetest.Hook { return fake.Hooks(b.repo) }
	b.service = func() server.ForgeConfig {
		robot := b.world.AddUser("coffer-robot")
		b.world.SetSiteAdmin(robot)
		return server.ForgeConfig{Token: b.world.Token(robot, forgetest.PAT, forgetest.GiteaScopes()...)}
	}
	return server.ForgeConfig{Kind: "gitea", URL: fake.URL}
}

// onEveryHost runs a test with an instance bound to each code host in turn, with
// or without a service credential.
func onEveryHost(t *testing.T, service bool, test func(*bound)) {
	for name, listen := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bound{t: t, world: forgetest.NewWorld()}
			b.app = b.world.AddApp("coffer", "https://vault.example/login/callback")
			cfg := listen(t, b)
			cfg.ClientID, cfg.ClientSecret, cfg.WebhookSecret = b.app.ClientID, b.app.Secret, hookSecret
			b.ann, b.bob, b.carl = b.world.AddUser("ann"), b.world.AddUser("bob"), b.world.AddUser("carl")
			b.org = b.world.AddOrg("acme", b.ann)
			b.repo = b.world.AddRepo(b.org, "api", forgetest.Private)
			b.world.SetRole(b.repo, b.bob, forge.Write)
			if service {
				with := b.service()
				cfg.Token, cfg.AppID, cfg.AppKeyFile = with.Token, with.AppID, with.AppKeyFile
			}
			b.Instance = servertest.New(t, func(c *server.Config) { c.Forge, c.TestOnlyNow = cfg, b.world.Now })
			test(b)
		})
	}
}

// as asks with a token that the user made at the code host.
func (b *bound) as(user int64) *client.Client {
	return b.Client(b.world.Token(user, forgetest.PAT, b.scopes...))
}

// looks is what comes of asking for the vault.
func (b *bound) looks(c *client.Client) api.Code {
	_, err := c.Vault(b.t.Context(), "acme/api")
	if err == nil {
		return ""
	}
	return api.CodeOf(err)
}

func TestAccessFollowsTheRepository(t *testing.T) {
	onEveryHost(t, false, func(b *bound) {
		ann, bob, carl := b.as(b.ann), b.as(b.bob), b.as(b.carl)
		if _, err := bob.CreateVault(b.t.Context(), "acme/api"); api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("who may only write makes the vault: %v", err)
		}
		if _, err := carl.CreateVault(b.t.Context(), "acme/api"); api.CodeOf(err) != api.NotFound {
			b.t.Errorf("a stranger makes the vault: %v", err)
		}
		b.Vault(ann, "acme/api")
		values := map[string]string{"A": "1", "B": "two words"}
		b.Push(bob, "acme/api", "development", values)
		if got := b.Pull(ann, "acme/api", "development"); len(got) != 2 || got["B"] != "two words" {
			b.t.Errorf("pulled %v", got)
		}
		_, err := bob.Push(b.t.Context(), api.PushSecrets{RepoFullName: "acme/api", Environment: "production", Secrets: servertest.Secrets(values)})
		if api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("who may write pushes to production: %v", err)
		}
		if code := b.looks(carl); code != api.NotFound {
			b.t.Errorf("a stranger: %q", code)
		}
		for c, want := range map[*client.Client]int{ann: 1, bob: 1, carl: 0} {
			if all, err := c.Vaults(b.t.Context(), api.Page{}); err != nil || len(all.Items) != want {
				b.t.Errorf("a list has %+v, %v; want %d", all, err, want)
			}
		}
		people, err := ann.Collaborators(b.t.Context(), "acme/api")
		if err != nil {
			b.t.Fatal(err)
		}
		roles := map[string]string{}
		for _, p := range people.Collaborators {
			roles[p.Login] = p.GithubPermission
		}
		if roles["ann"] != "admin" || roles["bob"] != "write" || roles["carl"] != "" {
			b.t.Errorf("collaborators: %v", roles)
		}
		me, err := bob.Me(b.t.Context())
		if err != nil || me.Username != "bob" || me.ForgeUserID != strconv.FormatInt(b.bob, 10) {
			b.t.Errorf("who am I: %+v, %v", me, err)
		}
	})
}

func TestWhoIsPutOutAtTheCodeHostIsOutHere(t *testing.T) {
	onEveryHost(t, false, func(b *bound) {
		b.Vault(b.as(b.ann), "acme/api")
		bob := b.as(b.bob)
		if code := b.looks(bob); code != "" {
			b.t.Fatal(code)
		}
		b.world.SetRole(b.repo, b.bob, forge.None)
		if code := b.looks(bob); code != "" {
			b.t.Errorf("within the minute: %s", code)
		}
		b.world.Advance(61 * time.Second)
		if code := b.looks(bob); code != api.NotFound {
			b.t.Errorf("after a minute: %q", code)
		}
		b.world.SetRole(b.repo, b.bob, forge.Read)
		b.world.Advance(16 * time.Second)
		if code := b.looks(bob); code != "" {
			b.t.Errorf("let in again: %s", code)
		}
		b.world.SetRole(b.repo, b.bob, forge.None)
		hooks := b.hooks()
		b.deliver(hooks[slices.IndexFunc(hooks, func(h forgetest.Hook) bool { return h.Want.Topic != forge.Ignored })])
		if code := b.looks(bob); code != api.NotFound {
			b.t.Errorf("after a webhook: %q", code)
		}
	})
}

// deliver sends a webhook as the code host does.
func (b *bound) deliver(h forgetest.Hook) {
	b.t.Helper()
	status, err := h.Signed(hookSecret).Post(b.t.Context(), http.DefaultClient, b.URL+"/v1/webhooks/"+b.kind())
	if err != nil || status != http.StatusOK {
		b.t.Errorf("webhook %s: %d, %v", h.Name, status, err)
	}
}

func (b *bound) kind() string {
	st, err := b.Operator.Status(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return st.Forge.Kind
}

func TestNobodyGetsInOnAnOldAnswerWhileTheCodeHostIsDown(t *testing.T) {
	for name, fault := range map[string]standin.Fault{
		"500": standin.Status(500), "too many": standin.TooMany("7"), "HTML": standin.HTML, "truncated": standin.Truncated,
		"elsewhere": standin.Astray, "huge": standin.Huge, "cut off": standin.CutOff,
	} {
		t.Run(name, func(t *testing.T) {
			onEveryHost(t, true, func(b *bound) {
				ann := b.as(b.ann)
				b.Vault(ann, "acme/api")
				key := b.Key("ann", "live", servertest.AllScopes...)
				b.Push(key, "acme/api", "production", map[string]string{"A": "1"})
				b.world.Advance(61 * time.Second)
				b.fake.Break("", fault)
				for who, c := range map[string]*client.Client{"a token": ann, "a key": key} {
					_, err := c.Pull(b.t.Context(), api.PullSecrets{Repo: "acme/api", Environment: "production"})
					e, _ := errors.AsType[*api.Error](err)
					if e == nil || e.Code != api.Unavailable || e.RetryAfter <= 0 {
						b.t.Errorf("%s: %v", who, err)
					}
					if _, err := c.Vaults(b.t.Context(), api.Page{}); api.CodeOf(err) != api.Unavailable {
						b.t.Errorf("%s lists vaults: %v", who, err)
					}
				}
				b.fake.Heal()
				if got := b.Pull(key, "acme/api", "production"); got["A"] != "1" {
					b.t.Errorf("when it is back: %v", got)
				}
				if code := b.looks(ann); code != "" {
					b.t.Errorf("when it is back: %s", code)
				}
			})
		})
	}
}

func TestTheServiceCredentialSpeaksForKeys(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.Vault(b.as(b.ann), "acme/api")
		if code := b.looks(b.as(b.bob)); code != "" {
			b.t.Fatal(code)
		}
		key := b.Key("bob", "live", api.ReadSecrets)
		if code := b.looks(key); code != "" {
			b.t.Fatalf("a key of somebody with a role: %s", code)
		}
		if all, err := key.Vaults(b.t.Context(), api.Page{}); err != nil || len(all.Items) != 1 {
			b.t.Errorf("its vaults: %+v, %v", all, err)
		}

		// The login changes hands: the key is still bob's, who is now called rob.
		b.world.RenameUser(b.bob, "rob")
		stranger := b.world.RecycleUser("bob")
		b.world.Advance(61 * time.Second)
		if code := b.looks(key); code != "" {
			b.t.Errorf("after its owner was renamed: %s", code)
		}
		b.world.SetRole(b.repo, b.bob, forge.None)
		b.world.SetRole(b.repo, stranger, forge.Admin)
		b.world.Advance(61 * time.Second)
		if code := b.looks(key); code != api.NotFound {
			b.t.Errorf("the key got the rights of whoever has the old login: %q", code)
		}
		b.world.SetRole(b.repo, b.bob, forge.Write)
		b.world.Advance(16 * time.Second)
		if code := b.looks(key); code != "" {
			b.t.Errorf("let in again: %q", code)
		}
		b.world.BlockUser(b.bob)
		b.world.Advance(61 * time.Second)
		if code := b.looks(key); code == "" {
			b.t.Error("a blocked user's key still works")
		}
	})
}

func TestAKeyWhoseOwnerNobodyCanAskAboutSaysSo(t *testing.T) {
	onEveryHost(t, false, func(b *bound) {
		b.Vault(b.as(b.ann), "acme/api")
		key := b.Key("ann", "live", api.ReadSecrets)
		if code := b.looks(key); code != api.Forbidden {
			b.t.Errorf("without any credential: %q", code)
		}
		if _, err := key.Vaults(b.t.Context(), api.Page{}); api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("without any credential, a list: %v", err)
		}
	})
}

func TestVaultsFollowTheirRepositories(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		ann := b.as(b.ann)
		b.Vault(ann, "acme/api")
		b.Push(ann, "acme/api", "production", map[string]string{"A": "1"})
		b.world.Rename(b.repo, "core")
		b.world.Advance(61 * time.Second)
		if got := b.Pull(ann, "acme/core", "production"); got["A"] != "1" {
			b.t.Errorf("by its new name: %v", got)
		}
		if got := b.Pull(ann, "acme/api", "production"); got["A"] != "1" {
			b.t.Errorf("by its old name: %v", got)
		}
		b.world.Transfer(b.repo, b.ann)
		b.world.SetVisibility(b.repo, forgetest.Public)
		b.world.Advance(61 * time.Second)
		v, err := ann.Vault(b.t.Context(), "ann/core")
		if err != nil || v.RepoFullName != "ann/core" || v.IsPrivate {
			b.t.Errorf("after its transfer: %+v, %v", v, err)
		}
		log, err := ann.VaultActivity(b.t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "core"}}})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, action := range []string{"vault_renamed", "vault_visibility_changed"} {
			if !slices.ContainsFunc(log.Items, func(a api.Activity) bool { return a.Action == action && a.Actor == nil }) {
				b.t.Errorf("the log has no %s of the server's own", action)
			}
		}

		// Another repository takes the name that the first one had.
		b.world.Recycle(b.org, "api")
		b.world.Advance(61 * time.Second)
		if code := b.looks(ann); code != api.NotFound {
			b.t.Errorf("a recycled name leads to the old vault: %q", code)
		}
		b.Vault(ann, "acme/api")
		if got := b.Pull(ann, "acme/api", "production"); len(got) != 0 {
			b.t.Errorf("the new repository's vault holds %v", got)
		}
		if got := b.Pull(ann, "ann/core", "production"); got["A"] != "1" {
			b.t.Errorf("the first vault: %v", got)
		}
	})
}

func TestReadingAPublicRepositoryIsNoRole(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetVisibility(b.repo, forgetest.Public)
		b.Vault(b.as(b.ann), "acme/api")
		if code := b.looks(b.as(b.carl)); code != api.NotFound {
			b.t.Errorf("a stranger reads the vault of a public repository: %q", code)
		}
		if code := b.looks(b.Key("carl", "live", api.ReadSecrets)); code != api.NotFound {
			b.t.Errorf("a stranger's key does: %q", code)
		}
	})
}

// TestEveryVaultWithARoleIsListed is about those that some code hosts leave out of
// their lists: public repositories, to whoever may only read them.
func TestEveryVaultWithARoleIsListed(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetVisibility(b.repo, forgetest.Public)
		b.world.SetRole(b.repo, b.bob, forge.Read)
		b.Vault(b.as(b.ann), "acme/api")
		if code := b.looks(b.keyOf("bob", b.bob)); code != "" {
			b.t.Fatal(code)
		}
		for who, c := range map[string]*client.Client{"a token": b.as(b.bob), "a key": b.keyOf("bob", b.bob)} {
			all, err := c.Vaults(b.t.Context(), api.Page{})
			// GitHub does not tell somebody's own token that it may read as a
			// collaborator; what is shown and what is enforced still agree.
			if code := b.looks(c); err != nil || (len(all.Items) == 1) != (code == "") {
				b.t.Errorf("%s lists %+v, %v; asked for it: %q", who, all, err, code)
			}
		}
		all, err := b.as(b.carl).Vaults(b.t.Context(), api.Page{})
		if err != nil || len(all.Items) != 0 {
			b.t.Errorf("a stranger lists %+v, %v", all, err)
		}
	})
}

// keyOf is a key of somebody, who has been here before.
func (b *bound) keyOf(login string, user int64) *client.Client {
	b.t.Helper()
	if _, err := b.as(user).Me(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return b.Key(login, "live", servertest.AllScopes...)
}

func TestTokensOfOtherKindsAreRefused(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		other := b.world.AddApp("other", "https://other.example/")
		foreign := b.world.AddToken(forgetest.Token{User: b.ann, Kind: forgetest.OAuth, Scopes: b.scopes, App: other.ClientID})
		revoked := b.world.Token(b.ann, forgetest.PAT, b.scopes...)
		b.world.Revoke(revoked)
		for name, token := range map[string]string{
			"of another application": foreign, "revoked": revoked, "of a machine": b.world.Token(b.ann, forgetest.CI, b.scopes...), "made up": "0123456789",
		} {
			if _, err := b.Client(token).Me(b.t.Context()); api.CodeOf(err) != api.Unauthorized {
				b.t.Errorf("a token %s: %v", name, err)
			}
		}
		b.Vault(b.as(b.ann), "acme/api")
		blind := b.Client(b.world.Token(b.ann, forgetest.PAT))
		all, err := blind.Vaults(b.t.Context(), api.Page{})
		if code := api.CodeOf(err); code != api.Forbidden && code != api.Unauthorized && (err != nil || len(all.Items) > 0) {
			b.t.Errorf("a token without a scope lists %+v, %v", all, err)
		}
		if code := b.looks(blind); code == "" {
			b.t.Error("a token without a scope sees a private repository's vault")
		}
	})
}

func TestNoTokenOfTheCodeHostIsStored(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		ann := b.as(b.ann)
		b.Vault(ann, "acme/api")
		b.Push(ann, "acme/api", "production", map[string]string{"A": "1"})
		b.fake.Break("", standin.Status(500))
		_, _ = ann.Collaborators(b.t.Context(), "acme/api")
		b.Stop()
		mustNotHold(b.t, b.Instance, ann.Token, hookSecret, b.app.Secret)
	})
}

// mustNotHold looks for texts in the data and the log of an instance that ended.
func mustNotHold(t *testing.T, in *servertest.Instance, texts ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(in.Data, server.DataFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("the data holds %.8s…", text)
		}
		if strings.Contains(in.Log.String(), text) {
			t.Errorf("the log holds %.8s…", text)
		}
	}
}
