package cli

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// As shells say it.
const (
	exitCannotRun = 126
	exitNoCommand = 127
)

type runOptions struct {
	place
	command []string
	env     environ
	keep    bool
}

func newRun(a *app) *cobra.Command {
	o := runOptions{env: a.env}
	var read readOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command with an environment's secrets as variables",
		Long: `Run a command with an environment's secrets as variables. Nothing is written to
disk. Signals reach the command, and its exit code is passed on.

A secret comes before a variable of the same name that is set already;
--keep turns that around.

With --at the command gets the environment as it was then, under the names that
keys have now.

` + atHelp + "\n\n" + offlineHelp,
		Example: `  coffer run -- npm start
  coffer run --at 2d -- npm start
  coffer run -e production -- sh -c 'echo "$API_URL"'`,
		Args: args(1, -1),
		RunE: a.reading(&read, func(ctx context.Context, r *reader, args []string) error {
			o.place, o.command = r.place, args
			return runRun(ctx, o, r, a.out)
		}),
	}
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave variables alone that are set already")
	read.flags(cmd.Flags())
	// What stands behind the command belongs to the command.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runRun(ctx context.Context, o runOptions, r *reader, out *console) error {
	path, err := exec.LookPath(o.command[0])
	if errors.Is(err, fs.ErrPermission) {
		return failf(exitCannotRun, "%s is not allowed to run.", o.command[0])
	}
	if err != nil {
		return failf(exitNoCommand, "There is no command %s.", o.command[0])
	}
	values, _, err := r.read(ctx, out)
	if err != nil {
		return err
	}
	err = execute(path, o.command, merge(o.env, values, o.keep), out)
	if errors.Is(err, syscall.E2BIG) {
		return failf(exitCannotRun, "The secrets are too large for an environment. Use: coffer pull")
	}
	return err
}

// merge adds values to an environment; where both know a name, keep decides.
func merge(env environ, values map[string]string, keep bool) []string {
	merged := make([]string, 0, len(env)+len(values))
	set := map[string]bool{}
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if _, replaced := values[name]; replaced && !keep {
			continue
		}
		set[name] = true
		merged = append(merged, pair)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !set[name] {
			merged = append(merged, name+"="+values[name])
		}
	}
	return merged
}
