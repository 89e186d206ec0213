package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type rekeyOptions struct {
	unsealOptions
	newRecoveryKey, noWait bool
	drop                   []string
}

func newRekey(a *app) *cobra.Command {
	var o rekeyOptions
	cmd := operatorFlags(&cobra.Command{
		Use:   "rekey",
		Short: "Replace the master key and the root key, while the server goes on",
		Long: `Replace the master key and the root key, while the server goes on. Afterwards
the old master key opens nothing of this data any more; backups from before still
open with it. Nobody's passphrase, key file or recovery key changes: each opens
the new master key.

A way that opens the server has to be shown: --key-file (for the recovery key,
too), --share-file or --passphrase-file; else what the server was started with;
else a terminal is asked. A passphrase goes on opening it only when it is given
in one of these ways, perhaps beside a key. A method that cannot be carried over
is named, and nothing is done; --drop ID goes on without it.

When the command is cut short, or the server is killed, it goes on by itself
after the next start.`,
		Example: `  coffer rekey
  coffer rekey --key-file recovery.txt --new-recovery-key`,
		Args: args(0, 0),
	})
	f := cmd.Flags()
	f.Lookup("key-file").Usage = "show this key file, or the file with the recovery key"
	f.Lookup("passphrase-file").Usage = "show the passphrase in this file, or have it carried over"
	f.StringArrayVar(&o.shareFiles, "share-file", nil, "show the shares in this file; may be repeated")
	f.BoolVar(&o.newRecoveryKey, "new-recovery-key", false, "make a new recovery key; the one there is opens nothing any more")
	f.StringArrayVar(&o.drop, "drop", nil, "id of an unseal method that is not to open the instance any more; may be given again")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait until every data key is wrapped anew")
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if err := oneOf(cmd, "key-file", "share-file"); err != nil {
			return err
		}
		o.passphraseFile, _ = cmd.Flags().GetString("passphrase-file")
		o.keyFile, _ = cmd.Flags().GetString("key-file")
		return a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runRekey(ctx, o, c, a.out)
		})(cmd, list)
	}
	return cmd
}

func runRekey(ctx context.Context, o rekeyOptions, c *client.Client, out *console) error {
	req, err := o.request(ctx, out)
	if err != nil {
		return err
	}
	if err := out.confirm(ctx, "Replace the master key? What opens the server now opens the new one too."); err != nil {
		return err
	}
	made, err := rekey(ctx, req, c, out)
	if api.CodeOf(err) == api.Forbidden && req.Shown() == nil && out.canAsk() && !out.yes {
		out.note("%s", describe(err))
		text, hidden := out.hidden(ctx, "Passphrase or recovery key that opens the server (empty: give up): ")
		if hidden != nil || text == "" {
			return errors.Join(hidden, err)
		}
		shown := recognized(text)
		req.Proof = &shown
		made, err = rekey(ctx, req, c, out)
	}
	if err != nil {
		return err
	}
	if err := o.show(made, out); err != nil {
		return err
	}
	if made.Warning != "" {
		return failf(exitError, "%s", made.Warning)
	}
	if o.noWait {
		return nil
	}
	return awaitRotation(ctx, c, out)
}

func rekey(ctx context.Context, req api.Rekey, c *client.Client, out *console) (*api.Rekeyed, error) {
	defer out.working("Making the keys")()
	return c.Rekey(ctx, req)
}

// request reads what the caller brings.
func (o rekeyOptions) request(ctx context.Context, out *console) (api.Rekey, error) {
	req := api.Rekey{NewRecoveryKey: o.newRecoveryKey, Drop: o.drop}
	if o.passphraseFile != "" {
		text, err := out.readSecretFile(o.passphraseFile)
		if err != nil {
			return req, err
		}
		req.Passphrase = passphrase(text).Passphrase
	}
	if o.keyFile == "" && len(o.shareFiles) == 0 {
		return req, nil
	}
	o.passphraseFile = ""
	shown, err := o.read(ctx, out)
	req.Proof = &shown
	return req, err
}

// show prints what came of it at once: a new recovery key is shown once only.
func (o rekeyOptions) show(made *api.Rekeyed, out *console) error {
	if out.json {
		return out.printJSON(out.out, made)
	}
	out.note("The master key is %s now. It was %s.", made.Fingerprint, made.Before)
	for _, m := range made.Methods {
		out.note("It opens with: %s", strings.TrimSpace(m.Kind+" "+m.Fingerprint))
	}
	for _, m := range made.Dropped {
		out.note("No longer: %s", strings.TrimSpace(m.Kind+" "+m.Fingerprint))
	}
	if made.RecoveryKey == nil {
		return nil
	}
	out.note("The new recovery key. Keep it somewhere else; nothing shows it again:")
	_, err := fmt.Fprintln(out.out, string(*made.RecoveryKey))
	return err
}

type rotateOptions struct{ all, status, noWait bool }

func newRotate(a *app) *cobra.Command {
	var o rotateOptions
	cmd := operatorFlags(&cobra.Command{
		Use:   "rotate [OWNER/REPO | --all | --status]",
		Short: "Replace the data key of a vault, or of all, while the server goes on",
		Long: `Replace the data key of a vault, or of every vault, while the server goes on.
New values are sealed under the new key at once; values and versions that lie
under the old one are sealed anew one after the other, and then the old key is
destroyed. Nothing else of a vault changes: no value, version or revision.

When the command is cut short, or the server is killed, it goes on by itself
after the next start. --status shows what is under way.`,
		Example: `  coffer rotate acme/api
  coffer rotate --all --yes
  coffer rotate --status --json`,
		Args: args(0, 1),
	})
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "every vault")
	f.BoolVar(&o.status, "status", false, "show the master key's fingerprint and what is under way, and do nothing")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait for the end")
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if err := oneOf(cmd, "all", "status"); err != nil {
			return err
		}
		if (len(list) == 1) == (o.all || o.status) {
			return usagef("Name a vault, or give --all or --status.\nSee: coffer rotate --help")
		}
		return a.asOperator(func(ctx context.Context, c *client.Client, list []string) error {
			if o.status {
				return runRotationStatus(ctx, c, a.out)
			}
			return runRotate(ctx, o, list, c, a.out)
		})(cmd, list)
	}
	return cmd
}

func runRotate(ctx context.Context, o rotateOptions, list []string, c *client.Client, out *console) error {
	req, question := api.Rotate{All: o.all}, "Replace the data key of every vault?"
	if !o.all {
		req.RepoFullName = list[0]
		question = "Replace the data key of " + list[0] + "?"
	}
	if err := out.confirm(ctx, "%s", question); err != nil {
		return err
	}
	begun, err := c.Rotate(ctx, req)
	if err != nil {
		return err
	}
	if o.noWait {
		return out.done(begun, "It has begun. To see how far it is: coffer rotate --status")
	}
	if err := awaitRotation(ctx, c, out); err != nil {
		return err
	}
	begun.Done = begun.Total
	what := list
	if o.all {
		what = []string{counted(begun.Total, "vault")}
	}
	return out.done(begun, "Replaced the data key of %s.", what[0])
}

const rotationLook = 150 * time.Millisecond

// awaitRotation waits until no keys are being replaced, and shows how far it is.
func awaitRotation(ctx context.Context, c *client.Client, out *console) error {
	show, stop := out.counting("Replacing keys")
	defer stop()
	for {
		r, err := c.Rotations(ctx)
		if err != nil {
			return fmt.Errorf("the replacement of keys goes on, but how far it is cannot be seen: %w", err)
		}
		if len(r.UnderWay) == 0 {
			return nil
		}
		show(r.UnderWay[0].Done, r.UnderWay[0].Total)
		select {
		case <-time.After(rotationLook):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func runRotationStatus(ctx context.Context, c *client.Client, out *console) error {
	r, err := c.Rotations(ctx)
	if err != nil {
		return err
	}
	return out.table(r, rotationRows(r))
}

// rotationRows say which master key there is, and which keys are being replaced.
func rotationRows(r *api.Rotations) [][]string {
	rows := [][]string{{"master key", r.Fingerprint + ", since " + when(r.MasterSince)}}
	for _, o := range r.UnderWay {
		what := map[string]string{
			api.RotationRoot: "the root key, by data keys", api.RotationAll: "the data keys of all vaults, by vaults",
			api.RotationVault: "the data key of " + o.RepoFullName + ", by values",
		}[o.Of]
		rows = append(rows, []string{"being replaced", fmt.Sprintf("%s: %d of %d, since %s", what, o.Done, o.Total, when(o.StartedAt))})
	}
	return rows
}
