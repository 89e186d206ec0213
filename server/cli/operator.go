package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/client"
)

// The host name stands in no network: an operator's transport leads to one
// server only.
const operatorURL = "http://coffer.invalid"

// operator is the way of whoever may read the data directory.
type operator struct {
	*client.Client
	running bool // over the socket of a running server; else in this process
	close   func() error
}

// operatorFlags adds what every operator command takes.
func operatorFlags(cmd *cobra.Command) *cobra.Command {
	settingFlags(cmd.Flags(), "data", "key-file", "passphrase-file")
	return cmd
}

// asOperator runs a command as operator of the data directory: through its
// running server, else on the data itself.
func (a *app) asOperator(do run) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := loadSettings(cmd.Flags(), a.env)
		if err != nil {
			return err
		}
		o, err := openOperator(s)
		if err != nil {
			return err
		}
		if !o.running {
			err = mustServe(cmd.Context(), s.Data, o.Client)
		}
		if err == nil {
			err = do(cmd.Context(), o.Client, args)
		}
		return errors.Join(err, o.close())
	}
}

func openOperator(s *settings) (*operator, error) {
	transport, err := server.DialOperator(s.Data)
	if err == nil {
		return &operator{operatorClient(transport), true, func() error { return nil }}, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, errNotOwner(s.Data)
	}
	if !errors.Is(err, server.ErrNotRunning) {
		return nil, err
	}
	if err := mustHaveData(s.Data); err != nil {
		return nil, err
	}
	cfg := s.config()
	cfg.Log.Level = "error" // the command says itself what matters
	srv, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	return &operator{operatorClient(srv.Operator()), false, srv.Close}, nil
}

// dialOperator reaches the running server and nothing else.
func dialOperator(s *settings) (*client.Client, error) {
	transport, err := server.DialOperator(s.Data)
	if errors.Is(err, fs.ErrPermission) {
		return nil, errNotOwner(s.Data)
	}
	if errors.Is(err, server.ErrNotRunning) {
		return nil, failf(exitNetwork, "No server is running on %s.\nStart it: coffer serve --data %s", s.Data, s.Data)
	}
	if err != nil {
		return nil, err
	}
	return operatorClient(transport), nil
}

func errNotOwner(dir string) error {
	return failf(exitForbidden, "You may not use the data in %s. Run this as the user that runs the server.", dir)
}

func operatorClient(t http.RoundTripper) *client.Client {
	return &client.Client{URL: operatorURL, Transport: t, Version: programVersion()}
}

// mustHaveData keeps a misspelled directory from becoming a fresh instance.
func mustHaveData(dir string) error {
	_, err := os.Stat(filepath.Join(dir, server.DataFile))
	if errors.Is(err, fs.ErrPermission) {
		return errNotOwner(dir)
	}
	if errors.Is(err, fs.ErrNotExist) && server.RestorePending(dir) {
		return nil // opening the data finishes it
	}
	if errors.Is(err, fs.ErrNotExist) {
		return failf(exitNotFound, "There is no coffer data in %s.\nName the directory with --data, or prepare it: coffer init --data %s", dir, dir)
	}
	return err
}

// atSocket runs a command with a client for the server that runs on the data directory.
func (a *app) atSocket(run func(context.Context, *client.Client, *console) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		s, err := loadSettings(cmd.Flags(), a.env)
		if err != nil {
			return err
		}
		c, err := dialOperator(s)
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, a.out)
	}
}

// mustServe wants data that was opened in this process to be unsealed.
func mustServe(ctx context.Context, dir string, c *client.Client) error {
	st, err := c.Status(ctx)
	switch {
	case err != nil:
		return err
	case !st.Initialized:
		return failf(exitSealed, "The data in %s is not set up yet.\nRun: coffer init --data %s", dir, dir)
	case st.Sealed:
		return failf(exitSealed, "The data in %s is sealed. %s\nGive --key-file F or --passphrase-file F, or start the server and unseal it: coffer unseal --data %s", dir, st.LastError, dir)
	}
	return nil
}
