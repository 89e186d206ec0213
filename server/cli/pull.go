package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/dotenv"
)

type pullOptions struct {
	place
	readOptions
	output string // "-" is standard output
	format string
	force  bool
	memory *memory
}

func newPull(a *app) *cobra.Command {
	var o pullOptions
	cmd := &cobra.Command{
		Use:   "pull",
		Short: "Write an environment to a .env file",
		Long: `Write an environment to a .env file that only you may read. A file that holds
the same values is left alone; before another one is replaced, coffer asks.

Formats: env (KEY=value lines), json (one object), shell (export lines).

With --at the environment is pulled as it was then, under the names that keys
have now.

` + atHelp + "\n\n" + offlineHelp,
		Example: `  coffer pull
  coffer pull --at '2026-11-20 09:15' -o -
  coffer pull -e production -o -
  eval "$(coffer pull --format shell)"`,
		Args: args(0, 0),
	}
	cmd.RunE = a.reading(&o.readOptions, func(ctx context.Context, r *reader, _ []string) error {
		o.place, o.memory = r.place, a.memory(r.owner.Server)
		return runPull(ctx, o, r, a.out)
	})
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "the file; - is standard output (default: .env, and - for json and shell)")
	f.StringVar(&o.format, "format", "env", "env, json or shell")
	o.flags(f)
	f.BoolVar(&o.force, "force", false, "replace a differing file without asking")
	return cmd
}

func runPull(ctx context.Context, o pullOptions, r *reader, out *console) error {
	if !slices.Contains([]string{"env", "json", "shell"}, o.format) {
		return usagef("%q is no format. Use env, json or shell.", o.format)
	}
	if o.output == "" {
		o.output = "-"
		if o.format == "env" {
			o.output = ".env"
		}
	}
	values, pulled, err := r.read(ctx, out)
	if err != nil {
		return err
	}
	if o.output == "-" && out.json {
		return out.printJSON(out.out, pulled)
	}
	text, err := render(o.format, values)
	if err != nil {
		return err
	}
	if o.output == "-" {
		_, err := out.out.Write(text)
		return err
	}
	wrote, err := o.write(ctx, text, values, out)
	if err != nil {
		return err
	}
	if o.format == "env" && r.at == "" {
		o.memory.remember(o.place, o.output, pulled.Revision, o.memory.marksOf(values))
	}
	warnIfTracked(ctx, o.output, out)
	report := map[string]any{"file": o.output, "count": pulled.Count, "revision": pulled.Revision, "written": wrote}
	if pulled.Incomplete {
		report["incomplete"] = true
	}
	if pulled.TakenAt != nil {
		report["takenAt"] = pulled.TakenAt
	}
	if !wrote {
		return out.done(report, "%s holds the %s of %s already.", o.output, counted(pulled.Count, "secret"), o.environment)
	}
	return out.done(report, "Wrote %s of %s to %s.", counted(pulled.Count, "secret"), o.environment, o.output)
}

func render(format string, values map[string]string) ([]byte, error) {
	switch format {
	case "json":
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(values)
		return b.Bytes(), err
	case "shell":
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "export %s=%s\n", key, shellQuote(values[key]))
		}
		return []byte(b.String()), nil
	default:
		return []byte(dotenv.Write(dotenv.Entries(values))), nil
	}
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// write replaces the file if its values differ, and reports whether it did.
func (o pullOptions) write(ctx context.Context, text []byte, values map[string]string, out *console) (bool, error) {
	old, err := os.ReadFile(o.output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err == nil {
		same, lost := o.compare(old, text, values)
		if same {
			return false, os.Chmod(o.output, 0o600)
		}
		if !o.force {
			question := fmt.Sprintf("%s differs. Replace it, comments included?", o.output)
			if len(lost) > 0 {
				question = fmt.Sprintf("%s also holds %s. %s", o.output, strings.Join(lost, ", "), "Replace it all the same?")
			}
			if err := out.confirm(ctx, "%s", question); err != nil {
				return false, err
			}
		}
	}
	return true, writePrivate(o.output, text)
}

// compare reports whether the old file holds the values already, and which keys
// only it holds.
func (o pullOptions) compare(old, text []byte, values map[string]string) (same bool, lost []string) {
	if o.format != "env" {
		return bytes.Equal(old, text), nil
	}
	entries, err := dotenv.Parse(old)
	if err != nil {
		return false, nil
	}
	ch := compare(values, exactValues(entries, values))
	return ch.none(), ch.Created
}

// warnIfTracked warns when git would take the file into a commit.
func warnIfTracked(ctx context.Context, file string, out *console) {
	cmd := exec.CommandContext(ctx, "git", "check-ignore", "-q", "--", filepath.Base(file))
	cmd.Dir = filepath.Dir(file)
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 1 {
		out.note("git does not ignore %s. Add it to .gitignore, so that it is never committed.", file)
	}
}
