package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

type unsealOptions struct {
	passphraseFile, keyFile, recoveryKeyFile string
	shareFiles                               []string
}

func newUnseal(a *app) *cobra.Command {
	var o unsealOptions
	cmd := &cobra.Command{
		Use:   "unseal",
		Short: "Unseal the running server",
		Long: `Unseal the running server with a passphrase, a key file, the recovery key, or
shares of a key. Without a flag it is asked for, or read from standard input; an
empty input tries what the server was started with.

Shares may be given one by one, by different people and from different machines,
or several at once. While more are needed the server keeps those that it got for
ten minutes, and the exit code is 7.

The server is the one running on the data directory, or that of --server.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "passphrase-file", "key-file", "recovery-key-file", "share-file"); err != nil {
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
	f.StringArrayVar(&o.shareFiles, "share-file", nil, "file with one share or several; - is standard input; may be repeated")
	return cmd
}

// running is a client for the server of --server, else for the one that runs on
// the data directory. COFFER_URL is not asked: it belongs to a user's commands.
func (a *app) running(cmd *cobra.Command) (*client.Client, error) {
	if a.server != "" {
		address, err := a.known(a.server, a.credentials())
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
	if u.Share != nil {
		return giveShares(ctx, *u.Share, c, out)
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
	case len(o.shareFiles) > 0:
		return readShares(o.shareFiles, out)
	case out.canAsk():
		text, err = out.hidden(ctx, "Passphrase, recovery key or share (empty: as configured): ")
	default:
		var data []byte
		data, err = out.readAll("-")
		text = strings.TrimRight(string(data), "\r\n")
	}
	if err != nil || text == "" {
		return api.Unseal{}, err
	}
	return recognized(text), nil
}

// recognized is a passphrase, a key or a share, by how the text looks.
func recognized(text string) api.Unseal {
	s := api.NewSecret(text)
	switch upper := strings.ToUpper(text); {
	case strings.Contains(upper, "COFFER-SHARE"):
		return api.Unseal{Share: &s}
	case strings.Contains(upper, "AGE-SECRET-KEY-"):
		return api.Unseal{Key: &s}
	default:
		return api.Unseal{Passphrase: &s}
	}
}

// readShares puts the shares of several files into one text.
func readShares(files []string, out *console) (api.Unseal, error) {
	var all []string
	for _, name := range files {
		text, err := out.readSecretFile(name)
		if err != nil {
			return api.Unseal{}, err
		}
		all = append(all, text)
	}
	s := api.NewSecret(strings.Join(all, "\n"))
	return api.Unseal{Share: &s}, nil
}

// giveShares gives what there is and asks for the next one, where somebody can be
// asked.
func giveShares(ctx context.Context, share api.Secret, c *client.Client, out *console) error {
	for {
		more, err := c.UnsealWithShares(ctx, share)
		if err != nil {
			return err
		}
		if more == nil {
			return out.done(map[string]bool{"sealed": false}, "Unsealed.")
		}
		report := struct {
			Sealed bool             `json:"sealed"`
			Shares *api.GivenShares `json:"shares"`
		}{true, more}
		err = out.done(report, "Taken: %d of %s of key %s. The server keeps them until %s.",
			more.Given, counted(more.Threshold, "share"), more.Fingerprint, when(more.ExpiresAt))
		if err != nil || !out.canAsk() {
			return errors.Join(err, quietExit(exitSealed))
		}
		text, err := out.hidden(ctx, fmt.Sprintf("Next share (%d missing; empty: leave the rest to others): ", more.Missing))
		if err != nil {
			return err
		}
		if text == "" {
			return quietExit(exitSealed)
		}
		share = api.NewSecret(text)
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
		RunE: a.atSocket(runSeal),
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
