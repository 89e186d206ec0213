package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

type unsealOptions struct {
	passphraseFile, keyFile, recoveryKeyFile string
}

func newUnseal(a *app) *cobra.Command {
	var o unsealOptions
	cmd := &cobra.Command{
		Use:   "unseal",
		Short: "Unseal the running server",
		Long: `Unseal the running server with a passphrase, a key file or the recovery key.
Without a flag it is asked for, or read from standard input; an empty input
tries what the server was started with.

The server is the one running on the data directory, or that of --server.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "passphrase-file", "key-file", "recovery-key-file"); err != nil {
				return err
			}
			c, err := a.running(cmd)
			if err != nil {
				return err
			}
			return runUnseal(cmd.Context(), o, c, a.out)
		},
	}
	f := cmd.Flags()
	settingFlags(f, "data")
	f.StringVar(&o.passphraseFile, "passphrase-file", "", "file with the passphrase; - is standard input")
	f.StringVar(&o.keyFile, "key-file", "", "key file; - is standard input")
	f.StringVar(&o.recoveryKeyFile, "recovery-key-file", "", "file with the recovery key; - is standard input")
	return cmd
}

// running is a client for the server of --server, else for the one that runs on
// the data directory. COFFER_URL is not asked: it belongs to a user's commands.
func (a *app) running(cmd *cobra.Command) (*client.Client, error) {
	if a.server != "" {
		address, err := parseAddress(a.server)
		return a.client(address, ""), err
	}
	s, err := loadSettings(cmd.Flags(), a.env)
	if err != nil {
		return nil, err
	}
	return dialOperator(s)
}

func runUnseal(ctx context.Context, o unsealOptions, c *client.Client, out *console) error {
	u, err := o.read(ctx, out)
	if err != nil {
		return err
	}
	stop := out.working("Unsealing")
	err = c.Unseal(ctx, u)
	stop()
	if err != nil {
		return err
	}
	return out.done(map[string]bool{"sealed": false}, "Unsealed.")
}

func (o unsealOptions) read(ctx context.Context, out *console) (u api.Unseal, err error) {
	var text string
	switch {
	case o.passphraseFile != "":
		text, err = out.readSecretFile(o.passphraseFile)
		return passphrase(text), err
	case o.keyFile != "" || o.recoveryKeyFile != "":
		text, err = out.readSecretFile(first(o.keyFile, o.recoveryKeyFile))
		key := api.NewSecret(text)
		return api.Unseal{Key: &key}, err
	case out.canAsk():
		text, err = out.hidden(ctx, "Passphrase or recovery key (empty: as configured): ")
	default:
		var data []byte
		data, err = out.readAll("-")
		text = strings.TrimRight(string(data), "\r\n")
	}
	switch {
	case err != nil || text == "":
		return api.Unseal{}, err
	case strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-"):
		key := api.NewSecret(text)
		return api.Unseal{Key: &key}, nil
	default:
		return passphrase(text), nil
	}
}

func passphrase(text string) api.Unseal {
	p := api.NewSecret(text)
	return api.Unseal{Passphrase: &p}
}

func newSeal(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Seal the running server at once",
		Long: `Seal the running server at once: the keys leave its memory, and nobody reads or
writes until it is unsealed.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			c, err := dialOperator(s)
			if err != nil {
				return err
			}
			return runSeal(cmd.Context(), c, a.out)
		},
	}
	settingFlags(cmd.Flags(), "data")
	return cmd
}

func runSeal(ctx context.Context, c *client.Client, out *console) error {
	if err := out.confirm(ctx, "Seal the server? Nobody reads or writes until it is unsealed."); err != nil {
		return err
	}
	if err := c.Seal(ctx); err != nil {
		return err
	}
	return out.done(map[string]bool{"sealed": true}, "Sealed. To unseal: coffer unseal")
}

func newCheck(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the consistency of the data file; the server must be stopped",
		Long: `Check the consistency of the data file; the server must be stopped. Data of an
earlier version is checked as it is, without upgrading it.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return runCheck(s, a.out)
		},
	}
	return operatorFlags(cmd)
}

func runCheck(s *settings, out *console) error {
	if err := mustHaveData(s.Data); err != nil {
		return err
	}
	if _, err := server.DialOperator(s.Data); err == nil {
		return failf(exitConflict, "A server is running on %s. Stop it first.", s.Data)
	}
	defer out.working("Checking")()
	cfg := s.config()
	cfg.Log.Level = "error"
	c, err := server.Check(cfg)
	if err != nil {
		return err
	}
	later := ""
	if c.Older {
		later = fmt.Sprintf("\nIt has schema %d and is upgraded when a server starts on it: coffer serve --data %s", c.Schema, s.Data)
	}
	return out.done(map[string]any{"ok": true, "data": s.Data, "schema": c.Schema, "upgradeNeeded": c.Older}, "The data in %s is consistent.%s", s.Data, later)
}
