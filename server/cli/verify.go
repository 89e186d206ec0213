package cli

import (
	"github.com/spf13/cobra"
)

func newVerify(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove the receipt of a vault that was erased",
		Long: `Prove the receipt of a vault that was erased; - is standard input. It needs no
server and no data: the receipt is signed, and --public-key is the key of the
instance that signed it, as coffer status prints it.

Exit codes: 0 it holds, 1 it does not.`,
		Args: args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readReceipt(args[0], a.out)
			if err != nil {
				return err
			}
			if !isReceipt(text) {
				return failf(exitError, "%s is no receipt.", args[0])
			}
			return runVerifyReceipt(text, key, a.out)
		},
	}
	cmd.Flags().StringVar(&key, "public-key", "", "key of the instance, in base64; without it the one in the receipt counts")
	return cmd
}
