package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newAudit(a *app) *cobra.Command {
	return group("audit", "Prove and export the audit log", newAuditVerify(a), newAuditExport(a))
}

func newAuditVerify(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Prove that nobody tampered with the audit log, or with a file made of it",
		Long: `Prove that nobody tampered with the audit log, or with a file that it was
exported or streamed to; - is standard input. It asks the running server, else
it opens the data itself.

There are two verdicts. Intact: every record that is there is authentic and in
its place. Complete: none is missing between the signed beginning and the end.
What speaks against one is named with its place.

A file is held against the log too: where the log lacks what the file has, the
data was put back to an older state, which the data alone does not show.

Exit codes: 0 intact and complete, 1 not.`,
		Example: `  coffer audit verify
  coffer audit verify audit.jsonl`,
		Args: args(0, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return runAuditVerify(ctx, name, c, a.out)
		}),
	})
}

func runAuditVerify(ctx context.Context, name string, c *client.Client, out *console) error {
	var file io.Reader
	switch name {
	case "":
	case "-":
		file = bufio.NewReader(out.in)
	default:
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		file = f
	}
	stop := out.working("Verifying")
	r, err := c.VerifyAudit(ctx, file)
	stop()
	if err != nil {
		return err
	}
	if err := out.table(r, reportRows(r)); err != nil {
		return err
	}
	if !r.Intact || !r.Complete || logText[r.Log] != "" {
		return quietExit(exitError)
	}
	return nil
}

// logText is what is said where the log does not hold what a file of it does.
var logText = map[string]string{
	api.LogBehind:  "The log ends before this file does: the data was put back to an older state.",
	api.LogDiffers: "The log has gone another way than this file: the data was put back to an older state.",
	api.LogMissing: "The log lacks a record that this file has.",
}

func reportRows(r *api.AuditReport) [][]string {
	yes := map[bool]string{true: "yes", false: "NO"}
	of := ""
	if r.VaultID != "" {
		of = " of one vault, counted among its own"
	}
	rows := [][]string{{"intact", yes[r.Intact]}, {"complete", yes[r.Complete]}}
	for _, f := range r.Faults {
		place := f.Kind
		if f.Line > 0 {
			place += fmt.Sprintf(", line %d", f.Line)
		}
		rows = append(rows, []string{"not " + f.Against, place + ": " + f.Detail})
	}
	if text := logText[r.Log]; text != "" {
		rows = append(rows, []string{"but", text})
	}
	records := "none" + of
	if r.Records > 0 {
		records = fmt.Sprintf("%d%s, from %d to %d", r.Records, of, r.First, r.Last)
	}
	return append(rows, []string{"records", records},
		[]string{"begins", "behind " + markText(r.Begins)}, []string{"ends", "with " + markText(r.Ends)},
		[]string{"instance", r.Instance}, []string{"signed by", r.PublicKey})
}

func markText(m *api.AuditMark) string {
	if m == nil {
		return "nobody knows which record"
	}
	return fmt.Sprintf("record %d, signed %s", m.Number, when(m.Time))
}

type auditExportOptions struct {
	place
	vault bool
	file  string
}

func newAuditExport(a *app) *cobra.Command {
	var o auditExportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the audit log as lines of JSON",
		Long: `Write the audit log as lines of JSON, oldest first, to standard output or to a
file that only you may read. It asks the running server, else it opens the data
itself.

Between its first line, which is signed, and its last, which is too, each line
is a record with what proves it: coffer audit verify FILE.

--vault writes the records of one vault instead; it asks the server that you are
signed in to, and takes the role admin.`,
		Example: `  coffer audit export -o audit.jsonl
  coffer audit export --vault --repo acme/api | jq -r .action`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.vault {
				return a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
					return runAuditExport(ctx, o, c, a.out)
				})(cmd, args)
			}
			return a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
				o.place = at
				return runAuditExport(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", "-", "file to write; - is standard output")
	cmd.Flags().BoolVar(&o.vault, "vault", false, "the records of one vault; needs the role admin")
	return operatorFlags(cmd)
}

func runAuditExport(ctx context.Context, o auditExportOptions, c *client.Client, out *console) error {
	export := func(w io.Writer) error {
		if o.vault {
			return c.ExportVaultActivity(ctx, o.repo, w)
		}
		return c.ExportAudit(ctx, w)
	}
	if o.file == "-" {
		return export(out.out)
	}
	defer out.working("Exporting")()
	if err := streamPrivate(o.file, export); err != nil {
		return err
	}
	return out.done(map[string]string{"file": o.file}, "Wrote %s. To prove it: coffer audit verify %s", o.file, o.file)
}
