package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newAudit(a *app) *cobra.Command {
	cmd := group("audit", "Verify and export the audit log")
	cmd.Long = `The audit log holds who did what. Each record vouches for the one before it
under a key that only the unsealed server has, and signed statements say where
the log begins and ends.`
	cmd.AddCommand(newAuditVerify(a), newAuditExport(a))
	return cmd
}

func newAuditVerify(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Verify the audit log, or a file that it was exported or streamed to",
		Long: `Verify the audit log, or a file that it was exported or streamed to; - is
standard input. Two verdicts are given:

  intact    every record that is there is as it was written, in its place
  complete  none is missing between its signed beginning and its end

and with each that fails, the first place that speaks against it. Exits with 1
unless both hold.`,
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
	file, err := openAudit(name, out)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
	}
	stop := out.working("Verifying")
	report, err := verifyAudit(ctx, c, file)
	stop()
	if err != nil {
		return err
	}
	if err := out.print(report, func(w io.Writer) { writeReport(w, report) }); err != nil {
		return err
	}
	if !report.Intact || !report.Complete {
		return failf(exitError, "The audit log does not hold. Keep it as it is, and ask who could write to it.")
	}
	return nil
}

// verifyAudit keeps a nil file from becoming an io.Reader that is not nil.
func verifyAudit(ctx context.Context, c *client.Client, file io.ReadCloser) (*api.AuditReport, error) {
	if file == nil {
		return c.VerifyAudit(ctx, nil)
	}
	return c.VerifyAudit(ctx, file)
}

// openAudit is the file to verify, or nil for the server's own log.
func openAudit(name string, out *console) (io.ReadCloser, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return io.NopCloser(out.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, failf(exitNotFound, "The file cannot be read: %v.", err)
	}
	return f, nil
}

func writeReport(w io.Writer, r *api.AuditReport) {
	yes := map[bool]string{true: "yes", false: "no"}
	fmt.Fprintf(w, "intact    %s\ncomplete  %s\n", yes[r.Intact], yes[r.Complete])
	switch {
	case r.Records == 0:
		fmt.Fprintln(w, "records   none")
	default:
		fmt.Fprintf(w, "records   %d, from %d to %d\n", r.Records, r.First, r.Last)
	}
	fmt.Fprintf(w, "signed    by %s\n", r.PublicKey)
	for _, f := range r.Faults {
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf(", line %d", f.Line)
		}
		fmt.Fprintf(w, "not %s%s: %s (%s)\n", f.Against, where, f.Detail, f.Kind)
	}
}

type auditExportOptions struct {
	output string // "-" is standard output
	vault  bool
}

func newAuditExport(a *app) *cobra.Command {
	var o auditExportOptions
	cmd := operatorFlags(&cobra.Command{
		Use:   "export",
		Short: "Export the audit log as lines of JSON",
		Long: `Export the audit log as lines of JSON, oldest first, with what it takes to
verify the file later. With --vault an admin of a vault exports what anybody did
in it.`,
		Example: `  coffer audit export -o audit.jsonl
  coffer audit export --vault --repo acme/api -o -`,
		Args: args(0, 0),
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.vault {
			return a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
				return runAuditExport(o, a.out, func(w io.Writer) error { return c.ExportVaultActivity(ctx, at.repo, w) })
			})(cmd, args)
		}
		return a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runAuditExport(o, a.out, func(w io.Writer) error { return c.ExportAudit(ctx, w) })
		})(cmd, args)
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "-", "the file; - is standard output")
	cmd.Flags().BoolVar(&o.vault, "vault", false, "what anybody did in a vault; needs the role admin")
	return cmd
}

// runAuditExport leaves no file behind that looks whole and is not.
func runAuditExport(o auditExportOptions, out *console, export func(io.Writer) error) error {
	if o.output == "-" {
		return export(out.out)
	}
	f, err := os.OpenFile(o.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return failf(exitConflict, "%s is there already. Name another file, or remove it.", o.output)
	}
	if err != nil {
		return err
	}
	stop := out.working("Exporting")
	err = errors.Join(export(f), f.Sync(), f.Close())
	stop()
	if err != nil {
		return errors.Join(err, os.Remove(o.output))
	}
	return out.done(map[string]string{"file": o.output}, "Wrote %s. To verify it: coffer audit verify %s", o.output, strings.TrimSpace(o.output))
}
