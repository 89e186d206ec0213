package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type setOptions struct {
	place
	key      string
	value    *string // from the command line
	fromFile string
	raw      bool
}

func newSet(a *app) *cobra.Command {
	var o setOptions
	var inArgv bool
	cmd := &cobra.Command{
		Use:   "set KEY",
		Short: "Give a secret a value, from a prompt, a pipe or a file",
		Long: `Give a secret a value. On a terminal the value is asked for and not shown.
From a pipe it is read as it comes; only the line break that ends a value of
one line is dropped (--raw keeps it). --from-file keeps every byte.

KEY=VALUE works with --insecure-argv: the value then shows in the list of
processes and in your shell's history.`,
		Example: `  coffer set DB_PASSWORD
  coffer set TLS_KEY < key.pem
  coffer set TLS_KEY --from-file key.pem
  openssl rand -hex 32 | coffer set SESSION_SECRET -e production`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, value, inline := strings.Cut(args[0], "=")
			if inline && !inArgv {
				// Only the key is repeated: the rest is the value.
				return usagef("A value on the command line shows in the list of processes and in your shell's history.\n"+
					"Type it or pipe it in: coffer set %s\nTo do it all the same, add --insecure-argv.", key)
			}
			if inline {
				o.value = &value
			}
			o.key = key
			return a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
				o.place = at
				return runSet(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.fromFile, "from-file", "", "read the value from this file, byte for byte")
	f.BoolVar(&o.raw, "raw", false, "keep the final line break of what is piped in")
	f.BoolVar(&inArgv, "insecure-argv", false, "allow KEY=VALUE")
	return cmd
}

func runSet(ctx context.Context, o setOptions, c *client.Client, out *console) error {
	if !api.ValidKey(o.key) {
		return api.InvalidField("key", api.InvalidFormat, "%s", api.KeyRule)
	}
	value, err := o.read(ctx, out)
	if err != nil {
		return err
	}
	owner, repo, _ := strings.Cut(o.repo, "/")
	saved, err := c.SetSecret(ctx, api.SetSecret{
		Ref: api.Ref{Owner: owner, Repo: repo},
		Key: o.key, Value: api.NewSecret(value), Environment: o.environment,
	})
	if err != nil {
		return err
	}
	return out.done(saved, "%s %s in %s of %s.", capital(saved.Status), saved.Key, saved.Environment, o.repo)
}

func (o setOptions) read(ctx context.Context, out *console) (string, error) {
	switch {
	case o.value != nil && o.fromFile != "":
		return "", usagef("Give the value once: as KEY=VALUE or with --from-file.")
	case o.value != nil:
		return *o.value, nil
	case o.fromFile != "":
		data, err := out.readAll(o.fromFile)
		return string(data), err
	case out.canAsk():
		return out.hidden(ctx, fmt.Sprintf("Value of %s in %s of %s: ", o.key, o.environment, o.repo))
	}
	data, err := out.readAll("-")
	value := string(data)
	if err == nil && !o.raw && strings.Count(value, "\n") == 1 {
		if line, ended := strings.CutSuffix(value, "\n"); ended {
			value = strings.TrimSuffix(line, "\r")
		}
	}
	return value, err
}

func newGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a secret",
		Long: `Print the value of a secret, exactly. A line break follows it on a terminal only.
The server records that you read it.`,
		Args: args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runGet(ctx, secretOptions{at, args[0]}, c, a.out)
		}),
	}
}

// secretOptions name one secret.
type secretOptions struct {
	place
	key string
}

func runGet(ctx context.Context, o secretOptions, c *client.Client, out *console) error {
	s, err := c.ViewSecret(ctx, api.ViewSecret{Repo: o.repo, Environment: o.environment, Key: o.key})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(out.out, s)
	}
	text := string(s.Value)
	if _, ok := terminal(out.out); ok {
		text += "\n"
	}
	_, err = io.WriteString(out.out, text)
	return err
}

type lsOptions struct {
	place
	all, long bool
}

func newLs(a *app) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the keys of an environment",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			o.place = at
			return runLs(ctx, o, c, a.out)
		}),
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "list all environments")
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show environment, last change and who made it")
	return cmd
}

func runLs(ctx context.Context, o lsOptions, c *client.Client, out *console) error {
	environment := o.environment
	if o.all {
		environment = ""
	}
	secrets, err := listSecrets(ctx, c, o.repo, environment)
	if err != nil {
		return err
	}
	if len(secrets) == 0 && !o.all {
		if err := mustExist(ctx, c, o.place); err != nil {
			return err
		}
		out.note("%s of %s holds no secret.", o.environment, o.repo)
	}
	var rows [][]string
	for _, s := range secrets {
		row := []string{s.Key}
		if o.all || o.long {
			row = append(row, s.Environment)
		}
		if o.long {
			row = append(row, when(s.UpdatedAt), whoIs(s.LastModifiedBy))
		}
		rows = append(rows, row)
	}
	return out.table(orEmpty(secrets), rows)
}

// mustExist tells an empty environment from one that is not there.
func mustExist(ctx context.Context, c *client.Client, at place) error {
	environments, err := c.Environments(ctx, at.repo)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range environments {
		if e.Name == at.environment {
			return nil
		}
		names = append(names, e.Name)
	}
	return failf(exitNotFound, "You can read no environment %q in %s. There is: %s.", at.environment, at.repo, strings.Join(names, ", "))
}

func newRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm KEY...",
		Short: "Move secrets to the trash",
		Args:  args(1, -1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runRm(ctx, rmOptions{at, args}, c, a.out)
		}),
	}
}

type rmOptions struct {
	place
	keys []string
}

func runRm(ctx context.Context, o rmOptions, c *client.Client, out *console) error {
	var found []*api.SecretMeta
	for _, key := range o.keys {
		s, err := findSecret(ctx, c, secretOptions{o.place, key})
		if err != nil {
			return err
		}
		found = append(found, s)
	}
	err := out.confirm(ctx, "Move %s from %s of %s to the trash?", strings.Join(o.keys, ", "), o.environment, o.repo)
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := c.DeleteSecret(ctx, o.repo, s.ID); err != nil {
			return fmt.Errorf("%s: %w", s.Key, err)
		}
	}
	return out.done(map[string]any{"trashed": o.keys, "environment": o.environment},
		"Moved to the trash: %s. To take one back: coffer trash restore KEY", strings.Join(o.keys, ", "))
}

// findSecret finds the record of a key, which carries its id.
func findSecret(ctx context.Context, c *client.Client, o secretOptions) (*api.SecretMeta, error) {
	secrets, err := listSecrets(ctx, c, o.repo, o.environment)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		if s.Key == o.key && s.Environment == o.environment {
			return &s, nil
		}
	}
	if err := mustExist(ctx, c, o.place); err != nil {
		return nil, err
	}
	return nil, failf(exitNotFound, "There is no secret %q in %s of %s. To see what there is: coffer ls -e %s", o.key, o.environment, o.repo, o.environment)
}

func listSecrets(ctx context.Context, c *client.Client, repo, environment string) ([]api.SecretMeta, error) {
	return client.Drain(func(p api.Page) (*api.List[api.SecretMeta], error) {
		return c.Secrets(ctx, repo, environment, p)
	})
}
