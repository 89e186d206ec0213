package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

// run is the body of a command, without the command line around it.
type run func(ctx context.Context, c *client.Client, args []string) error

// runIn is the body of a command that works in a vault.
type runIn func(ctx context.Context, c *client.Client, at place, args []string) error

// signedIn runs a command as the user who is signed in.
func (a *app) signedIn(do run) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

// inVault runs a command as the user who is signed in, in the vault that flags,
// environment or checkout name.
func (a *app) inVault(do runIn) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		at, err := a.where(cmd.Context())
		if err != nil {
			return err
		}
		return saySubgroups(at, do(cmd.Context(), c, at, args))
	}
}

// saySubgroups explains why a server may know nothing of a name that only GitLab
// has.
func saySubgroups(at place, err error) error {
	if strings.Contains(at.repo, ":") && api.CodeOf(err) == api.NotFound {
		return failf(exitNotFound, "There is no vault for %s here, or you have no access to the repository. Repositories in GitLab's subgroups have vaults only on a server that is bound to a GitLab.", at.repo)
	}
	return err
}

// where resolves repository and environment: flag, then variable, then checkout.
func (a *app) where(ctx context.Context) (place, error) {
	at := place{
		repo:        first(a.repo, a.env.get("COFFER_REPO")),
		environment: first(a.environment, a.env.get("COFFER_ENV"), defaultEnvironment),
	}
	if at.repo == "" {
		repo, err := detectRepo(ctx, "")
		at.repo = repo
		return at, err
	}
	owner, name, ok := strings.Cut(at.repo, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return at, usagef("%q is no repository. %s", at.repo, sayRepo)
	}
	return at, nil
}

// connect is a client for the server and the credential in use.
func (a *app) connect() (*client.Client, error) {
	store := a.credentials()
	address, err := a.address(store)
	if err != nil {
		return nil, err
	}
	token, err := a.givenToken()
	if err == nil && token == "" {
		a.stored, err = store.login(address)
		token = a.stored.Token
	}
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errSignedOut(a.pinned(address))
	}
	a.connected = address
	if token, err = oneWord(token); err != nil {
		return nil, err
	}
	return a.client(address, token), nil
}

// givenToken is the token of the environment, or "". Its file is read once: it
// may be a pipe.
func (a *app) givenToken() (token string, err error) {
	file := a.env.get("COFFER_TOKEN_FILE")
	if token = first(a.env.get("COFFER_TOKEN"), a.tokenRead); token == "" && file != "" {
		a.tokenRead, err = a.out.readSecretFile(file)
		token = a.tokenRead
	}
	return token, err
}

// refused adds to the refusal of a credential what to do about this one.
func (a *app) refused(err error) error {
	switch {
	case api.CodeOf(err) != api.Unauthorized || a.connected == "":
		return err
	case a.stored.Token != "":
		return &advised{err, "Run: coffer login " + a.connected}
	default:
		return &advised{err, "COFFER_TOKEN and COFFER_TOKEN_FILE come before a stored login: give them another token, or unset them."}
	}
}

// account says who is asking without asking the server: the user of the stored
// login, else the API key by its hash.
func (a *app) account(store *credentials, address string) (string, error) {
	token, err := a.givenToken()
	if err != nil {
		return "", err
	}
	if token != "" {
		sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
		return "API key " + hex.EncodeToString(sum[:4]), nil
	}
	f, err := store.load()
	if err != nil {
		return "", err
	}
	l, known := f.Servers[address]
	if !known {
		return "", errSignedOut(a.pinned(address))
	}
	return l.Username, nil
}

func errSignedOut(address string) error {
	return failf(exitAuth, "You are not signed in to %s.\nSign in: coffer login %s\nOr set COFFER_TOKEN to an API key.", address, address)
}

func (a *app) client(address, token string) *client.Client {
	c := &client.Client{URL: address, Token: token, Version: programVersion()}
	if a.pin != nil {
		c.Transport = a.pin.Transport()
	}
	return c
}

// address is the server's: flag, then variable, then the last login.
func (a *app) address(store *credentials) (string, error) {
	if s := first(a.server, a.env.get("COFFER_URL")); s != "" {
		return a.known(s, store)
	}
	last, err := store.last()
	if err != nil {
		return "", err
	}
	if last == "" {
		return "", failf(exitAuth, "No server is known yet.\nSign in: coffer login URL\nOr set COFFER_URL and COFFER_TOKEN.")
	}
	return a.known(last, store)
}

// parseAddress completes an address without a scheme: http on this machine,
// https elsewhere.
func parseAddress(s string) (string, error) {
	if strings.Contains(s, "coffer_live_") || strings.Contains(s, "coffer_test_") {
		return "", usagef("This is an API key, not the address of a server. Give the key on standard input: coffer login URL --token -")
	}
	if !strings.Contains(s, "://") {
		if isLoopback(s) {
			s = "http://" + s
		} else {
			s = "https://" + s
		}
	}
	address, err := client.ParseURL(s)
	if err != nil {
		return "", usagef("This is no address of a server. Write it like https://vault.example.")
	}
	return address, nil
}

func isLoopback(address string) bool {
	u, err := url.Parse("//" + address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
