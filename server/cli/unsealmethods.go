package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newUnsealMethod(a *app) *cobra.Command {
	return group("unseal-method", "List, add and remove ways to unseal the server",
		newUnsealMethodList(a), newUnsealMethodAdd(a), newUnsealMethodRemove(a))
}

// proofHelp says what every change needs.
const proofHelp = `A way that opens the server already has to be shown: --key-file (for the recovery
key, too), --passphrase-file or --share-file; else what the server was started
with; else a terminal is asked.`

// proofFlags adds how a way to unseal is shown.
func proofFlags(cmd *cobra.Command, shareFiles *[]string) {
	operatorFlags(cmd)
	cmd.Flags().Lookup("key-file").Usage = "show this key file, or the file with the recovery key"
	cmd.Flags().Lookup("passphrase-file").Usage = "show the passphrase in this file"
	cmd.Flags().StringArrayVar(shareFiles, "share-file", nil, "show the shares in this file; may be repeated")
}

// proven runs change with what the flags show; where that is nothing, and what the
// server was started with is not enough, it asks.
func (a *app) proven(cmd *cobra.Command, shareFiles []string, c *client.Client, change func(*api.Unseal) error) error {
	ctx := cmd.Context()
	proof, err := proofOf(cmd, shareFiles, a.out)
	if err != nil {
		return err
	}
	err = change(proof)
	if proof != nil || api.CodeOf(err) != api.Forbidden || !a.out.canAsk() || a.out.yes {
		return err
	}
	a.out.note("%s", describe(err))
	text, hidden := a.out.hidden(ctx, "Passphrase or recovery key that opens the server (empty: give up): ")
	if hidden != nil || text == "" {
		return errors.Join(hidden, err)
	}
	u := recognized(text)
	return change(&u)
}

// proofOf is what the flags show, nil for nothing.
func proofOf(cmd *cobra.Command, shareFiles []string, out *console) (*api.Unseal, error) {
	if err := oneOf(cmd, "key-file", "passphrase-file", "share-file"); err != nil {
		return nil, err
	}
	f := cmd.Flags()
	o := unsealOptions{shareFiles: shareFiles}
	if f.Changed("key-file") {
		o.keyFile, _ = f.GetString("key-file")
	}
	if f.Changed("passphrase-file") {
		o.passphraseFile, _ = f.GetString("passphrase-file")
	}
	if o.keyFile == "" && o.passphraseFile == "" && len(shareFiles) == 0 {
		return nil, nil
	}
	u, err := o.read(cmd.Context(), out)
	return &u, err
}

func newUnsealMethodList(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the ways to unseal, with what each protects from and what not",
		Args:  args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runUnsealMethodList(ctx, c, a.out)
		}),
	}
	return operatorFlags(cmd)
}

func runUnsealMethodList(ctx context.Context, c *client.Client, out *console) error {
	all, err := c.UnsealMethods(ctx)
	if err != nil {
		return err
	}
	return out.print(all, func(w io.Writer) {
		for i, m := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			rows := [][]string{{kindOfMethod(m.UnsealMethod), m.Label}, {"  id", m.ID}, {"  since", when(m.CreatedAt)}}
			for _, row := range [][]string{{"  fingerprint", m.Fingerprint}, {"  key file", m.KeyFile}, {"  plugin", m.Plugin}} {
				if row[1] != "" {
					rows = append(rows, row)
				}
			}
			writeTable(w, append(rows, []string{"  protects from", m.ProtectsFrom}, []string{"  not from", m.DoesNotProtectFrom}))
		}
	})
}

// kindOfMethod is the kind, with how many shares.
func kindOfMethod(m api.UnsealMethod) string {
	if m.Kind == api.MethodShares {
		return fmt.Sprintf("%d of %d shares", m.Threshold, m.Total)
	}
	return m.Kind
}

// methodInWords is what people know one way by, on a line.
func methodInWords(m api.OperatorUnsealMethod) string {
	return strings.Join(strings.Fields(kindOfMethod(m.UnsealMethod)+" "+m.Label+" "+m.Fingerprint), " ")
}

// adding is a way to unseal that somebody adds.
type adding struct {
	a          *app
	req        api.AddUnsealMethod
	shareFiles []string
	out        string // file or directory for what is made
}

func newUnsealMethodAdd(a *app) *cobra.Command {
	return group("add", "Add a way to unseal",
		newAddPassphrase(a), newAddKeyFile(a), newAddRecovery(a), newAddPlugin(a), newAddShares(a))
}

// command is one of the subcommands; prepare reads what the new way is made of.
func (d *adding) command(cmd *cobra.Command, prepare func(context.Context, []string) error) *cobra.Command {
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\n" + proofHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return d.a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			if err := prepare(ctx, args); err != nil {
				return err
			}
			return d.run(cmd, c)
		})(cmd, args)
	}
	proofFlags(cmd, &d.shareFiles)
	cmd.Flags().StringVar(&d.req.Label, "label", "", "what people call it")
	return cmd
}

func newAddPassphrase(a *app) *cobra.Command {
	d := &adding{a: a, req: api.AddUnsealMethod{Kind: api.MethodPassphrase}}
	var file string
	cmd := d.command(&cobra.Command{
		Use:   "passphrase",
		Short: "Add a passphrase, beside those that there are",
		Args:  args(0, 0),
	}, func(ctx context.Context, _ []string) (err error) {
		var text string
		switch {
		case file != "":
			text, err = a.out.readSecretFile(file)
		case a.out.canAsk():
			text, err = a.out.newPassphrase(ctx, "New passphrase: ")
		default:
			err = usagef("There is no terminal to ask for the passphrase on. Use --new-passphrase-file F, or - for standard input.")
		}
		d.req.Passphrase = passphrase(text).Passphrase
		return err
	})
	cmd.Flags().StringVar(&file, "new-passphrase-file", "", "file with the new passphrase; - is standard input (default: ask)")
	return cmd
}

func newAddKeyFile(a *app) *cobra.Command {
	d := &adding{a: a, req: api.AddUnsealMethod{Kind: api.MethodKeyFile}}
	var from string
	cmd := d.command(&cobra.Command{
		Use:   "key-file FILE",
		Short: "Add a key file, which is made when it is missing",
		Long: `Add a key file. If FILE is there its key is taken, else one is made and written.
The server looks for it at that place at each start.

With --recipient the key is made elsewhere (age-keygen -pq), and FILE is only
where the server will find it.`,
		Args: args(1, 1),
	}, func(_ context.Context, args []string) error { return d.prepareKeyFile(args[0], from) })
	cmd.Flags().StringVar(&from, "recipient", "", "public half, age1pq1…, of a key that stays elsewhere")
	return cmd
}

func (d *adding) prepareKeyFile(path, recipient string) (err error) {
	if d.req.KeyFile, err = filepath.Abs(path); err != nil || recipient != "" {
		d.req.Recipient = recipient
		return err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		d.out = d.req.KeyFile
		return nil
	}
	key := api.NewSecret(string(text))
	d.req.Key = &key
	return err
}

func newAddRecovery(a *app) *cobra.Command {
	d := &adding{a: a, req: api.AddUnsealMethod{Kind: api.MethodRecovery}}
	cmd := d.command(&cobra.Command{
		Use:   "recovery",
		Short: "Add a recovery key, which is shown this once",
		Long: `Add a recovery key and print it: this is the only time it is shown. Those that
there are stay; remove one that may be in the wrong hands.`,
		Args: args(0, 0),
	}, func(context.Context, []string) error { return nil })
	cmd.Flags().StringVar(&d.out, "out", "", "write it into this new file instead")
	return cmd
}

func newAddPlugin(a *app) *cobra.Command {
	d := &adding{a: a, req: api.AddUnsealMethod{Kind: api.MethodPlugin}}
	cmd := d.command(&cobra.Command{
		Use:   "plugin IDENTITY-FILE",
		Short: "Add the key of an age plugin: a YubiKey, a TPM",
		Long: `Add the key of an age plugin, such as age-plugin-yubikey or age-plugin-tpm. The
file is what the plugin wrote when it made the key, with a line AGE-PLUGIN-…; it
is no secret. The plugin's program has to be in the PATH of the server, which tries
the key now and at each start. Nobody is there to answer then: the key must need
no PIN, and no touch if the server shall start by itself.`,
		Example: `  coffer unseal-method add plugin tpm.txt --label "TPM of vault-1"`,
		Args:    args(1, 1),
	}, func(_ context.Context, args []string) error {
		text, err := a.out.readSecretFile(args[0])
		d.req.Identity = text
		return err
	})
	cmd.Flags().StringVar(&d.req.Recipient, "recipient", "", "its recipient, if the file does not name it")
	return cmd
}

func newAddShares(a *app) *cobra.Command {
	d := &adding{a: a, req: api.AddUnsealMethod{Kind: api.MethodShares}}
	cmd := d.command(&cobra.Command{
		Use:   "shares",
		Short: "Add a key in shares, some of which open the server together",
		Long: `Make a key, split it into shares for different people, and print them: this is the
only time they are shown. As many as are needed open the server together; fewer
say nothing about the key. They unseal with: coffer unseal`,
		Example: `  coffer unseal-method add shares --needed 3 --of 5 --out /media/stick`,
		Args:    args(0, 0),
	}, func(context.Context, []string) error { return nil })
	f := cmd.Flags()
	f.IntVar(&d.req.Threshold, "needed", 2, "how many are needed, at least 2")
	f.IntVar(&d.req.Total, "of", 3, "how many are made, at most 32")
	f.StringVar(&d.out, "out", "", "write each into a file of its own in this directory instead")
	return cmd
}

// run adds the way, hands out what was made, and takes it back where that was not
// saved: nobody shall count on a key that nobody has.
func (d *adding) run(cmd *cobra.Command, c *client.Client) error {
	var made *api.AddedUnsealMethod
	var shown *api.Unseal
	out := d.a.out
	write, err := d.places()
	if err != nil {
		return err
	}
	stop := out.working("Adding it")
	err = d.a.proven(cmd, d.shareFiles, c, func(proof *api.Unseal) (err error) {
		d.req.Proof, shown = proof, proof
		made, err = c.AddUnsealMethod(cmd.Context(), d.req)
		return err
	})
	stop()
	if err != nil {
		write.abandon()
		return err
	}
	if err = write.keep(made); err == nil {
		err = d.show(cmd.Context(), made, write)
	}
	if err == nil {
		return nil
	}
	write.abandon()
	_, undone := c.RemoveUnsealMethod(context.WithoutCancel(cmd.Context()), api.RemoveUnsealMethod{ID: made.ID, Proof: shown})
	if undone != nil {
		return errors.Join(err, fmt.Errorf("it could not be removed again: %w", undone))
	}
	out.note("It was removed again.")
	return err
}

// show prints what was made once, and asks whether it was saved.
func (d *adding) show(ctx context.Context, made *api.AddedUnsealMethod, files *newFiles) error {
	out := d.a.out
	if out.json {
		if len(files.names) > 0 { // they are there, and in no log of whoever reads this
			made.Key, made.Shares = nil, nil
		}
		return out.printJSON(out.out, made)
	}
	out.note("Added: %s", methodInWords(made.OperatorUnsealMethod))
	for _, name := range files.names {
		out.note("Written: %s", name)
	}
	if len(files.names) > 0 || made.Key == nil && len(made.Shares) == 0 {
		out.note("It protects from: %s\nIt does not protect from: %s", made.ProtectsFrom, made.DoesNotProtectFrom)
		return nil
	}
	what := "The key is"
	if len(made.Shares) > 0 {
		what = "The shares are"
	}
	out.note("%s shown this once. Print it or keep it in a password manager, away from this machine:\n", what)
	err := out.print(nil, func(w io.Writer) {
		for _, text := range madeTexts(made) {
			fmt.Fprintln(w, text)
		}
	})
	if err != nil || !out.canAsk() {
		return err
	}
	return out.confirm(ctx, "\nSaved? If not, it is removed again.")
}

func madeTexts(made *api.AddedUnsealMethod) []string {
	var all []string
	if made.Key != nil {
		all = append(all, string(*made.Key))
	}
	for _, s := range made.Shares {
		all = append(all, string(s))
	}
	return all
}

func newUnsealMethodRemove(a *app) *cobra.Command {
	var shareFiles []string
	cmd := &cobra.Command{
		Use:   "remove ID|LABEL",
		Short: "Remove a way to unseal",
		Long: `Remove a way to unseal. Another one, which stays, has to be shown; the last one
cannot be removed. Backups that were made before still open with it.

` + proofHelp,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
				return a.removeMethod(cmd, args[0], shareFiles, c)
			})(cmd, args)
		},
	}
	proofFlags(cmd, &shareFiles)
	return cmd
}

func (a *app) removeMethod(cmd *cobra.Command, id string, shareFiles []string, c *client.Client) error {
	all, err := c.UnsealMethods(cmd.Context())
	if err != nil {
		return err
	}
	var target *api.OperatorUnsealMethod
	recovery := 0
	for i, m := range all {
		if m.Kind == api.MethodRecovery {
			recovery++
		}
		if m.ID == id || m.Label != "" && m.Label == id {
			target = &all[i]
		}
	}
	if target == nil {
		return failf(exitNotFound, "There is no such way to unseal.\nList them: coffer unseal-method list")
	}
	if target.Kind == api.MethodRecovery && recovery == 1 {
		a.out.note("This is the last recovery key: whoever loses what is left loses everything.")
	}
	if err := a.out.confirm(cmd.Context(), "Remove %s?", methodInWords(*target)); err != nil {
		return err
	}
	var gone *api.RemovedUnsealMethod
	err = a.proven(cmd, shareFiles, c, func(proof *api.Unseal) (err error) {
		gone, err = c.RemoveUnsealMethod(cmd.Context(), api.RemoveUnsealMethod{ID: target.ID, Proof: proof})
		return err
	})
	if err != nil {
		return err
	}
	if gone.Warning != "" && !a.out.json {
		a.out.note("%s", gone.Warning)
	}
	return a.out.done(gone, "Removed.")
}
