package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

func newReceipt(a *app) *cobra.Command {
	return group("receipt", "List and get the receipts of vaults that were erased", newReceiptLs(a), newReceiptGet(a))
}

func newReceiptLs(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "ls",
		Short: "List the vaults that were erased, newest first",
		Args:  args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Erasures(ctx)
			if err != nil {
				return err
			}
			rows := [][]string{{"ID", "VAULT", "ERASED", "BY", "RECEIPT"}}
			for _, e := range all {
				by, receipt := "operator", "to come"
				if e.ErasedBy != nil {
					by = *e.ErasedBy
				}
				if e.Receipt != nil {
					receipt = "yes"
				}
				rows = append(rows, []string{e.ID, e.RepoFullName, when(e.ErasedAt), by, receipt})
			}
			return a.out.table(all, rows)
		}),
	})
}

func newReceiptGet(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Get the receipt of a vault that was erased",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			e, err := c.Erasure(ctx, args[0])
			if err != nil {
				return err
			}
			return saveReceipt(e, file, a.out)
		}),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "-", "file to write; - is standard output")
	return operatorFlags(cmd)
}

// saveReceipt writes the receipt of an erasure as it is: it is JSON already.
func saveReceipt(e *api.Erasure, file string, out *console) error {
	if e.Receipt == nil {
		return failf(exitConflict, "There is no receipt for %s yet: the data are not compacted.\nDo it now: coffer compact", e.RepoFullName)
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, *e.Receipt)
		return err
	}
	if file == "-" {
		return write(out.out)
	}
	if err := streamPrivate(file, write); err != nil {
		return err
	}
	return out.done(map[string]string{"id": e.ID, "file": file}, "Wrote %s. To prove it: coffer verify %s", file, file)
}

// receiptHead is how many bytes of a file tell whether it is a receipt.
const receiptHead = 64

// isReceipt reports whether a file that begins with these bytes is a receipt.
func isReceipt(head []byte) bool { return server.IsReceipt(head[:min(len(head), receiptHead)]) }

// runVerifyReceipt proves a receipt with nothing but a public key.
func runVerifyReceipt(text []byte, publicKey string, out *console) error {
	r, err := server.VerifyReceipt(text, publicKey)
	if err != nil {
		return failf(exitError, "%v", err)
	}
	by := r.ErasedBy
	if by == "" {
		by = "whoever had the data directory"
	}
	err = out.table(r, [][]string{
		{"holds", "yes"}, {"what", "the vault of " + r.RepoFullName + " was erased"}, {"vault", r.VaultID}, {"erased", when(r.ErasedAt) + " by " + by},
		{"compacted", fmt.Sprintf("%s, from %s to %s", when(r.CompactedAt), sizeText(r.BeforeBytes), sizeText(r.AfterBytes))},
		{"audit record", fmt.Sprintf("%d, %s", r.AuditRecord, r.AuditLink)}, {"instance", r.Instance}, {"signed by", r.PublicKey},
	})
	if err == nil && publicKey == "" {
		out.note("The key above is the one that the receipt brings. Compare it with the instance's: coffer status, \"audit key\".")
	}
	return err
}
