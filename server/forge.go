package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

// callbackPath is where the code host sends a browser back to after a sign-in.
const callbackPath = "/login/callback"

// The access level at GitLab that counts as admin: owner, or maintainer.
const (
	gitlabOwner      = 50
	gitlabMaintainer = 40
)

// maxRoleTTL is how long a role may be taken from memory at most.
const maxRoleTTL = time.Minute

// ForgeConfig binds the instance to a code host. With no Kind it is the built-in
// one, which needs nothing else. Of a secret and its file, the secret counts.
type ForgeConfig struct {
	Kind      string // local, github, gitea, forgejo (gitea by its other name) or gitlab
	URL       string // of the host for people; default the public one of github and gitlab
	APIURL    string // default derived from URL
	MovedFrom string // URL of the same host before it moved

	ClientID         string // of the application that people sign in through
	ClientSecret     string
	ClientSecretFile string

	WebhookSecret     string
	WebhookSecretFile string

	Token      string // service credential of gitea and gitlab
	TokenFile  string
	AppID      string // service credential of github
	AppKeyFile string // private key in PEM

	GitLabAdminLevel int           // 50 or 40; 0 means 50
	CAFile           string        // certificates in PEM that vouch for the host, instead of the system's
	Proxy            string        // default from the environment
	RoleTTL          time.Duration // default and at most a minute
}

// publicHosts are the code hosts that have an address by themselves.
var publicHosts = map[string]string{forge.KindGitHub: "https://github.com", forge.KindGitLab: "https://gitlab.com"}

// local reports whether the code host is the built-in one.
func (c ForgeConfig) local() bool { return c.Kind == "" || c.Kind == forge.KindLocal }

// name is what people call the code host, where its kind does not say it.
func (c ForgeConfig) name() string {
	if c.Kind == forge.KindForgejo {
		return "Forgejo"
	}
	return ""
}

// credential is by whose rights the code host is asked.
func (c ForgeConfig) credential() string {
	switch {
	case c.local():
		return api.ForgeAskedByNone
	case c.AppID != "":
		return api.ForgeAskedByApp
	case c.Token != "" || c.TokenFile != "":
		return api.ForgeAskedByToken
	default:
		return api.ForgeAskedByUsers
	}
}

// codeHost is what an instance is bound to: what makes its client, nil for the
// built-in one, and where it is and was, each in the one spelling that is
// compared, or "".
type codeHost struct {
	client      func(forge.Directory) forge.Forge
	url, before string
}

// codeHost reads what the configuration says of the code host. It asks nobody. Watch
// is told of each call later on; nil for nobody.
func (c Config) codeHost(watch func(answered bool, took time.Duration)) (h codeHost, err error) {
	if err := c.Forge.check(); err != nil {
		return h, err
	}
	if c.Forge.local() {
		h.client = c.TestOnlyForge
		return h, nil
	}
	if h.url, h.before, err = c.Forge.addresses(); err != nil {
		return h, err
	}
	if h.client = c.TestOnlyForge; h.client != nil {
		return h, nil
	}
	adapter, err := c.Forge.adapter(c.publicURL(), c.Version, c.TestOnlyNow)
	if err != nil {
		return h, err
	}
	adapter.Watch = watch
	f, err := forge.New(adapter)
	h.client = func(forge.Directory) forge.Forge { return f }
	return h, err
}

// CheckForge tries what cfg says of the code host. It needs no data and waits for
// the host.
func CheckForge(ctx context.Context, cfg Config) (*api.ForgeCheck, error) {
	host, err := cfg.codeHost(nil)
	if err != nil {
		return nil, err
	}
	var f forge.Forge
	if host.client != nil {
		f = host.client(nil)
	}
	return warden.CheckedForge(ctx, f, host.url), nil
}

// addresses are where the code host is, and where it was before or "".
func (c ForgeConfig) addresses() (now, before string, err error) {
	if now, err = hostAddress("forge.url", cmp.Or(c.URL, publicHosts[c.Kind])); err != nil {
		return "", "", err
	}
	if c.APIURL != "" {
		if _, err = hostAddress("forge.api_url", c.APIURL); err != nil {
			return "", "", err
		}
	}
	if c.MovedFrom != "" {
		before, err = hostAddress("forge.moved_from", c.MovedFrom)
	}
	return now, before, err
}

// hostAddress puts an address of a code host into one spelling.
func hostAddress(key, text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s is no address of a code host; write it like https://git.example", key)
	}
	u.Host = strings.ToLower(u.Host)
	u.Host = strings.TrimSuffix(u.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	return strings.TrimRight(u.String(), "/"), nil
}

// check refuses what contradicts itself, and says what to set instead.
func (c ForgeConfig) check() error {
	switch c.Kind {
	case "", forge.KindLocal:
		return c.checkLocal()
	case forge.KindGitHub:
		if c.Token != "" || c.TokenFile != "" {
			return errors.New("forge.token is for gitea and gitlab; the service credential of github is an App: set forge.app_id and forge.app_key_file")
		}
	case forge.KindGitea, forge.KindForgejo, forge.KindGitLab:
		if c.AppID != "" || c.AppKeyFile != "" {
			return fmt.Errorf("forge.app_id and forge.app_key_file are for github; the service credential of %s is a token: set COFFER_FORGE_TOKEN or forge.token_file", c.Kind)
		}
	default:
		return fmt.Errorf("forge.kind is %q; it is local, github, gitea, forgejo or gitlab", c.Kind)
	}
	switch {
	case c.URL == "" && (c.Kind == forge.KindGitea || c.Kind == forge.KindForgejo):
		return fmt.Errorf("forge.kind is %s: say where it is with forge.url, like https://git.example", c.Kind)
	case c.URL == "" && c.APIURL != "":
		return errors.New("forge.api_url is set: say with forge.url where people find the same code host, like https://git.example")
	case c.ClientID == "" && (c.ClientSecret != "" || c.ClientSecretFile != ""):
		return errors.New("there is a client secret of the code host's sign-in but no client id: set forge.client_id")
	case c.ClientID != "" && c.ClientSecret == "" && c.ClientSecretFile == "":
		return errors.New("forge.client_id is set: the secret belongs to it, set COFFER_FORGE_CLIENT_SECRET or forge.client_secret_file")
	case (c.AppID == "") != (c.AppKeyFile == ""):
		return errors.New("forge.app_id and forge.app_key_file belong together: set both or neither")
	}
	return errors.Join(c.checkLevel(), c.checkTTL())
}

// checkLocal wants nothing else to be set: whoever set it meant another host.
func (c ForgeConfig) checkLocal() error {
	for _, s := range []struct{ key, value string }{
		{"forge.url", c.URL}, {"forge.api_url", c.APIURL}, {"forge.moved_from", c.MovedFrom}, {"forge.client_id", c.ClientID},
		{"forge.client_secret", c.ClientSecret}, {"forge.client_secret_file", c.ClientSecretFile},
		{"forge.webhook_secret", c.WebhookSecret}, {"forge.webhook_secret_file", c.WebhookSecretFile},
		{"forge.token", c.Token}, {"forge.token_file", c.TokenFile}, {"forge.app_id", c.AppID},
		{"forge.app_key_file", c.AppKeyFile}, {"forge.ca_file", c.CAFile}, {"forge.proxy", c.Proxy},
	} {
		if s.value != "" {
			return fmt.Errorf("%s is set, but the code host is the built-in one, which needs none: say which it is with forge.kind (github, gitea, forgejo or gitlab)", s.key)
		}
	}
	return errors.Join(c.checkLevel(), c.checkTTL())
}

func (c ForgeConfig) checkLevel() error {
	switch {
	case c.GitLabAdminLevel != 0 && c.GitLabAdminLevel != gitlabOwner && c.GitLabAdminLevel != gitlabMaintainer:
		return fmt.Errorf("forge.gitlab.admin_level is %d; it is 50 (owner) or 40 (maintainer)", c.GitLabAdminLevel)
	case c.GitLabAdminLevel == gitlabMaintainer && c.Kind != forge.KindGitLab:
		return errors.New("forge.gitlab.admin_level is set, but forge.kind is not gitlab")
	}
	return nil
}

func (c ForgeConfig) checkTTL() error {
	if c.RoleTTL < 0 || c.RoleTTL > maxRoleTTL {
		return fmt.Errorf("forge.role_ttl is %v; it is at most %v, so that rights that were taken away do not live on", c.RoleTTL, maxRoleTTL)
	}
	return nil
}

// adapter is what the client of the code host is made of. It reads the files
// that the configuration names.
func (c ForgeConfig) adapter(public, version string, now func() time.Time) (forge.Config, error) {
	out := forge.Config{
		Kind: c.Kind, URL: c.URL, APIURL: c.APIURL, ClientID: c.ClientID, RedirectURL: public + callbackPath,
		AdminLevel: c.GitLabAdminLevel, Proxy: c.Proxy, Agent: "coffer/" + cmp.Or(version, "dev"), Now: now,
	}
	var err error
	if out.ClientSecret, err = secretOf("forge.client_secret", c.ClientSecret, c.ClientSecretFile); err != nil {
		return out, err
	}
	if out.WebhookSecret, err = secretOf("forge.webhook_secret", c.WebhookSecret, c.WebhookSecretFile); err != nil {
		return out, err
	}
	if out.Token, err = secretOf("forge.token", c.Token, c.TokenFile); err != nil {
		return out, err
	}
	if out.App, err = c.app(); err != nil {
		return out, err
	}
	out.Roots, err = roots("forge.ca_file", c.CAFile)
	return out, err
}

func (c ForgeConfig) app() (*forge.App, error) {
	if c.AppID == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.AppKeyFile)
	if err != nil {
		return nil, fmt.Errorf("forge.app_key_file: %w", err)
	}
	sign, err := warden.AppSigner(text)
	if err != nil {
		return nil, fmt.Errorf("forge.app_key_file: %s holds %w; download a private key on the App's page at GitHub", c.AppKeyFile, err)
	}
	return &forge.App{ID: c.AppID, Sign: sign}, nil
}

// roots are the certificates in the file that a key names, nil for no file.
func roots(key, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM", key, file)
	}
	return pool, nil
}

// secretOf is a secret as it is, else what its file holds.
func secretOf(key, secret, file string) (string, error) {
	if secret != "" || file == "" {
		return secret, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_file: %w", key, err)
	}
	if secret = strings.TrimSpace(string(text)); secret == "" {
		return "", fmt.Errorf("%s_file: %s is empty", key, file)
	}
	return secret, nil
}
