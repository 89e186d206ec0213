package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

type initOptions struct {
	passphraseFile, keyFile string
	admin, passwordFile     string
	settings                *settings
	setup                   server.InitOptions // what the answers above come to
}

// keyFileName is the key file that init makes in the data directory when nobody
// says how to unseal.
const keyFileName = "coffer.key"

func newInit(a *app) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Prepare a data directory: make its keys, show the recovery key",
		Long: `Prepare a data directory: make its keys, choose how it is unsealed at start, and
show the recovery key. The recovery key is shown this once; it opens the vaults
when everything else is lost.

With --passphrase-file the server needs the passphrase at each start. With
--key-file it opens the vaults by itself as long as it can read the file; the
file is made when it is missing. Without either, a terminal is asked for a
passphrase; elsewhere a key file is made in the data directory.`,
		Example: `  coffer init --data /var/lib/coffer --key-file /etc/coffer/unseal.key
  coffer init --passphrase-file pass.txt --admin ann --password-file ann.txt`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "key-file", "passphrase-file"); err != nil {
				return err
			}
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			if err := oneMethod(s, cmd.Flags(), a.env); err != nil {
				return err
			}
			o.keyFile, o.passphraseFile, o.settings = s.KeyFile, s.PassphraseFile, s
			return runInit(cmd.Context(), o, a.out)
		},
	}
	operatorFlags(cmd)
	cmd.Flags().Lookup("key-file").Usage = "unseal at start with this key file, which is made when it is missing"
	cmd.Flags().Lookup("passphrase-file").Usage = "unseal at start with the passphrase in this file"
	cmd.Flags().StringVar(&o.admin, "admin", "", "name of a first user, who is an operator too")
	cmd.Flags().StringVar(&o.passwordFile, "password-file", "", "file with the first user's password; - is standard input (default: ask)")
	return cmd
}

func runInit(ctx context.Context, o initOptions, out *console) (err error) {
	o.setup = server.InitOptions{Passphrase: o.settings.Passphrase, AdminName: o.admin}
	if o.setup.AdminPassword, err = o.password(ctx, out); err != nil {
		return err
	}
	if o.setup.Passphrase == "" {
		if o.setup.Passphrase, o.setup.KeyFile, err = o.method(ctx, out); err != nil {
			return err
		}
	}
	var made *api.Initialized
	transport, err := server.DialOperator(o.settings.Data)
	running := err == nil
	switch {
	case running:
		made, err = o.inServer(ctx, operatorClient(transport), out)
	case errors.Is(err, server.ErrNotRunning):
		made, err = o.directly(ctx, out)
	}
	if err != nil {
		return err
	}
	return printInitialized(made, o.settings.Data, running, out)
}

// method asks how the instance is unsealed, or decides for a key file where
// nobody can be asked.
func (o initOptions) method(ctx context.Context, out *console) (passphrase, keyFile string, err error) {
	switch {
	case o.keyFile != "":
		return "", o.keyFile, nil
	case o.passphraseFile != "":
		passphrase, err = out.readSecretFile(o.passphraseFile)
		return passphrase, "", err
	case out.canAsk():
		out.note("A passphrase must be given at each start of the server. With a key file it starts by itself.")
		passphrase, err = out.newPassphrase(ctx, "New passphrase (empty for a key file): ")
	}
	if err != nil || passphrase != "" {
		return passphrase, "", err
	}
	return "", filepath.Join(o.settings.Data, keyFileName), nil
}

func (o initOptions) password(ctx context.Context, out *console) (string, error) {
	switch {
	case o.admin == "" && o.passwordFile == "":
		return "", nil
	case o.admin == "":
		return "", usagef("Say whose password it is: --admin NAME")
	}
	return readPassword(ctx, o.passwordFile, o.admin, out)
}

// readPassword reads a new password from a file, or asks for it.
func readPassword(ctx context.Context, file, user string, out *console) (string, error) {
	if file != "" {
		return out.readSecretFile(file)
	}
	if !out.canAsk() {
		return "", usagef("There is no terminal to ask for the password on. Use --password-file F, or - for standard input.")
	}
	return out.newPassphrase(ctx, fmt.Sprintf("Password of %s: ", user))
}

// inServer sets up a server that runs already and waits for it.
func (o initOptions) inServer(ctx context.Context, c *client.Client, out *console) (*api.Initialized, error) {
	if o.keyFile != "" {
		return nil, failf(exitConflict, "A server is running on this data; it puts a new key file beside its data.\nLeave out --key-file, or stop the server first.")
	}
	req := api.Initialize{Setup: api.Setup{KeyFile: o.setup.Passphrase == ""}}
	if o.setup.Passphrase != "" {
		p := api.NewSecret(o.setup.Passphrase)
		req.Passphrase = &p
	}
	if o.admin != "" {
		req.Admin = &api.NewOperator{Username: o.admin, Password: api.NewSecret(o.setup.AdminPassword)}
	}
	defer out.working("Making the keys")()
	return c.Initialize(ctx, req)
}

func (o initOptions) directly(ctx context.Context, out *console) (*api.Initialized, error) {
	defer out.working("Making the keys")()
	cfg := o.settings.config()
	cfg.Log.Level = "error"
	cfg.Unseal = server.UnsealConfig{WorkFactor: o.settings.WorkFactor} // there is nothing to unseal yet
	srv, err := server.New(cfg)
	if err != nil {
		return nil, err
	}
	made, err := srv.Initialize(ctx, o.setup)
	if err := errors.Join(err, srv.Close()); err != nil {
		return nil, err
	}
	return made, nil
}

func printInitialized(made *api.Initialized, data string, running bool, out *console) error {
	if out.json {
		return out.printJSON(out.out, made)
	}
	out.note("Prepared %s.\n\nThis is the recovery key. It is shown this once. Print it or keep it in a password\nmanager, away from this machine: with it and the data nothing is lost.\n", data)
	err := out.print(nil, func(w io.Writer) { fmt.Fprintln(w, string(made.RecoveryKey)) })
	out.note("\n%s", protection(made.KeyFile, data))
	switch {
	case running:
		out.note("The server is running and unsealed.\nNext: coffer admin user add NAME --data %s", data)
	default:
		out.note("Next: coffer serve --data %s", data)
	}
	return err
}

// protection says plainly what the way of unsealing protects from.
func protection(keyFile, data string) string {
	abs, err := filepath.Abs(data)
	switch {
	case keyFile == "":
		return "Each start of the server needs the passphrase: --passphrase-file, or coffer unseal."
	case err == nil && filepath.Dir(keyFile) == abs:
		return fmt.Sprintf("The server opens the vaults with the key file %s.\n"+
			"It lies beside the data: who copies the whole directory can read all secrets.\n"+
			"It protects only a copy of the data file alone. To get more, move it to another\n"+
			"disk and start with --key-file, and keep it out of your backups.", keyFile)
	default:
		return fmt.Sprintf("The server opens the vaults with the key file %s.\n"+
			"Keep it out of the backups of the data: who has both can read all secrets.", keyFile)
	}
}
