package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type diffOptions struct {
	place
	moment
	file     string
	from, to string // two environments, or ""
	values   bool
	exitCode bool
}

func newDiff(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [ENV1 ENV2]",
		Short: "Compare .env with an environment, or two environments",
		Long: `Compare .env with an environment, or two environments, by key. Values are
compared but shown only with --values. With --at, environments are as they were
then, under the names that keys have now.

` + atHelp,
		Example: `  coffer diff
  coffer diff staging production
  coffer diff --at 2d`,
		Args: func(cmd *cobra.Command, a []string) error {
			if len(a) == 1 {
				return usagef("Name two environments, or none to compare a file with -e ENV.")
			}
			return args(0, 2)(cmd, a)
		},
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			if o.place = at; len(args) == 2 {
				o.from, o.to = args[0], args[1]
			}
			return runDiff(ctx, o, c, a.out)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", ".env", "the file; - is standard input")
	f.BoolVar(&o.values, "values", false, "show the differing values")
	o.flags(f)
	f.BoolVar(&o.exitCode, "exit-code", false, "exit with 1 when there are differences")
	return cmd
}

// difference is what --json shows.
type difference struct {
	From       string               `json:"from"`
	To         string               `json:"to"`
	OnlyInFrom []string             `json:"onlyInFrom"`
	OnlyInTo   []string             `json:"onlyInTo"`
	Different  []string             `json:"different"`
	Same       []string             `json:"same"`
	Values     map[string]twoValues `json:"values,omitempty"`
}

type twoValues struct {
	From *api.Revealed `json:"from"`
	To   *api.Revealed `json:"to"`
}

func runDiff(ctx context.Context, o diffOptions, c *client.Client, out *console) error {
	from, to, err := o.read(ctx, c, out)
	if err != nil {
		return err
	}
	ch := compare(from, to)
	d := difference{o.from, o.to, ch.Deleted, ch.Created, ch.Updated, ch.Unchanged, nil}
	if o.to == "" {
		d.From, d.To = o.environment, fileName(o.file)
	}
	rows := ch.rows("only in "+d.To, "differs", "only in "+d.From)
	if o.values {
		d.Values = map[string]twoValues{}
		for i, row := range rows {
			key := row[0][len("+ "):]
			d.Values[key] = twoValues{valueOf(from, key), valueOf(to, key)}
			rows[i] = append(row, quoteOr(from, key), "→", quoteOr(to, key))
		}
	}
	if ch.none() {
		out.note("%s and %s hold the same.", d.From, d.To)
	}
	if err := out.table(d, rows); err != nil {
		return err
	}
	if o.exitCode && !ch.none() {
		return quietExit(exitError)
	}
	return nil
}

// read is the values on both sides.
func (o diffOptions) read(ctx context.Context, c *client.Client, out *console) (from, to map[string]string, err error) {
	if o.to != "" {
		if from, _, err = o.pull(ctx, c, place{o.repo, o.from}, out); err == nil {
			to, _, err = o.pull(ctx, c, place{o.repo, o.to}, out)
		}
		return from, to, err
	}
	entries, err := readEntries(o.file, out)
	if err != nil {
		return nil, nil, err
	}
	from, _, err = o.pull(ctx, c, o.place, out)
	return from, exactValues(entries, from), err
}

func valueOf(values map[string]string, key string) *api.Revealed {
	v, ok := values[key]
	if !ok {
		return nil
	}
	r := api.Revealed(v)
	return &r
}

func quoteOr(values map[string]string, key string) string {
	if v, ok := values[key]; ok {
		return fmt.Sprintf("%q", v)
	}
	return "-"
}
