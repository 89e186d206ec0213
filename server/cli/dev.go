package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

const (
	devUser = "demo"
	devRepo = "demo/app"
)

// demo is what serve --dev prepares.
type demo struct {
	URL      string       `json:"url"`
	Username string       `json:"username"`
	Password api.Revealed `json:"password"`
	Repo     string       `json:"repoFullName"`
	Token    api.Revealed `json:"token"`
}

func runDev(ctx context.Context, s *settings, out *console) (err error) {
	dir, err := os.MkdirTemp("", "coffer-dev-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := s.config()
	cfg.Data, cfg.Unseal, cfg.Listen = dir, server.UnsealConfig{}, freeAddress(s.Listen)
	cfg.TLS = server.TLSConfig{}
	cfg.Forge = server.ForgeConfig{} // the demo's user and repository are of the built-in code host
	if s.Level == "info" {
		cfg.Log.Level = "warn" // so that the lines to paste stay in sight
	}
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	d, err := prepareDemo(ctx, srv, dir)
	if err != nil {
		return err
	}
	return serveUntilDone(ctx, srv, func() error {
		d.URL = srv.LocalURL()
		c := &client.Client{URL: d.URL, Token: string(d.Token), Version: programVersion()}
		if _, err := c.CreateVault(ctx, devRepo); err != nil {
			return err
		}
		return out.print(d, func(w io.Writer) { d.write(w, selfName()) })
	})
}

func prepareDemo(ctx context.Context, srv *server.Server, dir string) (*demo, error) {
	password := rand.Text()
	_, err := srv.Initialize(ctx, server.InitOptions{
		KeyFile: filepath.Join(dir, keyFileName), AdminName: devUser, AdminPassword: password,
	})
	if err != nil {
		return nil, err
	}
	op := operatorClient(srv.Operator())
	if _, err := op.AddLocalRepo(ctx, api.AddLocalRepo{RepoFullName: devRepo}); err != nil {
		return nil, err
	}
	key, err := op.IssueToken(ctx, api.IssueToken{
		Username: devUser, Name: "dev", Environment: "live",
		Scopes: []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets, api.AdminAPIKeys},
	})
	if err != nil {
		return nil, err
	}
	return &demo{Username: devUser, Password: api.Revealed(password), Repo: devRepo, Token: key.Token}, nil
}

// write shows lines that can be pasted as they are.
func (d *demo) write(w io.Writer, self string) {
	fmt.Fprintf(w, `coffer is running at %s with throw-away data: it is gone when you stop this.
User %s, password %s, repository %s.
Sign in at that address, or paste this into another terminal:

  export COFFER_URL=%s
  export COFFER_TOKEN=%s
  echo 'GREETING="hello from coffer"' | %s push --repo %s -f -
  %s pull --repo %s -o -
  %s run --repo %s -- sh -c 'echo "$GREETING"'

`, d.URL, d.Username, string(d.Password), d.Repo, d.URL, string(d.Token), self, d.Repo, self, d.Repo, self, d.Repo)
}

// freeAddress is the address, or one with another port when it is taken:
// whoever only tries things should not have to care.
func freeAddress(address string) string {
	l, err := net.Listen("tcp", address)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return address
	}
	defer l.Close()
	return l.Addr().String()
}

// selfName is how this program is called again: by its name when that is found,
// as it was built by go run, else by its path.
func selfName() string {
	self, err := os.Executable()
	if err != nil {
		return "coffer"
	}
	if found, err := exec.LookPath("coffer"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "coffer"
		}
	}
	if strings.Contains(self, "go-build") {
		return "go run ."
	}
	if strings.ContainsAny(self, " \t'\"\\$`;&|<>()*?[]#~!{}") {
		return shellQuote(self)
	}
	return self
}
