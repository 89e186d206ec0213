package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
)

// openingOptions say what a backup is opened with.
type openingOptions struct {
	recoveryKeyFile, keyFile, passphraseFile string
	shareFiles                               []string
}

var openingFlags = []string{"recovery-key-file", "key-file", "passphrase-file", "share-file"}

func (o *openingOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.recoveryKeyFile, "recovery-key-file", "", "file with the recovery key; - is standard input")
	f.StringVar(&o.keyFile, "key-file", "", "key file of the server that the backup is of; - is standard input")
	f.StringVar(&o.passphraseFile, "passphrase-file", "", "file with the passphrase of the backup; - is standard input")
	f.StringArrayVar(&o.shareFiles, "share-file", nil, "file with one share of a key or several; - is standard input; may be repeated")
}

// read reads what opens the backup, or asks for it on a terminal. It is nothing
// where nobody can be asked.
func (o openingOptions) read(ctx context.Context, seen *api.BackupProof, out *console) (with api.OpenBackup, err error) {
	var text string
	switch {
	case o.passphraseFile != "":
		text, err = out.readSecretFile(o.passphraseFile)
		p := api.NewSecret(text)
		with.Passphrase = &p
	case o.recoveryKeyFile != "" || o.keyFile != "":
		text, err = out.readSecretFile(first(o.recoveryKeyFile, o.keyFile))
		k := api.NewSecret(text)
		with.Key = &k
	case len(o.shareFiles) > 0:
		var all api.Unseal
		if all, err = readShares(o.shareFiles, out); err == nil {
			text, with.Key = "shares", all.Share
		}
	case !out.canAsk():
	case seen.Passphrase:
		text, err = out.hidden(ctx, "Passphrase of the backup: ")
		p := api.NewSecret(text)
		with.Passphrase = &p
	default:
		text, err = out.hidden(ctx, "Recovery key: ")
		k := api.NewSecret(text)
		with.Key = &k
	}
	if text == "" {
		with = api.OpenBackup{}
	}
	return with, err
}

// backupFrom is a backup that is being read, and what it says to everybody.
type backupFrom struct {
	io.Reader
	head  []byte // its beginning, until it is read on
	seen  *api.BackupProof
	close func()
}

// maxBackupHeader is how much of a backup is looked at to see who opens it.
const maxBackupHeader = 1 << 20

func openBackupFile(name string, out *console) (*backupFrom, error) {
	b, err := openFile(name, out)
	if err == nil {
		if err = b.look(); err != nil {
			b.close()
		}
	}
	return b, err
}

// look finds out what a backup says to everybody.
func (b *backupFrom) look() (err error) {
	b.seen, err = server.LookAtBackup(bytes.NewReader(b.head))
	return err
}

// openFile opens a file whose beginning says what it is.
func openFile(name string, out *console) (*backupFrom, error) {
	b := &backupFrom{close: func() {}}
	source := out.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		source, b.close = f, func() { _ = f.Close() }
	}
	r := bufio.NewReaderSize(source, maxBackupHeader)
	var err error
	b.head, err = r.Peek(maxBackupHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		b.close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	b.Reader = r
	return b, nil
}

type restoreOptions struct {
	openingOptions
	force, acceptFaults, noKeyFile bool
}

func newRestore(a *app) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into a data directory",
		Long: `Restore a backup into a data directory, with the recovery key, a key file, or the
passphrase of the backup. On a terminal it asks for what is needed. Backups of
earlier versions are brought up to date.

Everything is decrypted and checked first. Then the data are there at once: until
that moment nothing changes, and if the process is killed, the next restore or start
of the server finishes or undoes it, and says so.

What unseals the data here stays as it is: a key file at its place, or what the
configuration names. Where nothing does, a new key file is made beside the data, so
that the server starts by itself; key files of the lost machine open the data no
more then. --no-key-file leaves that out: the server then starts sealed.

A backup that a passphrase opened gets a new recovery key, which is printed this
once.

A directory that is not empty is refused, unless --force moves the data in it aside.`,
		Example: `  coffer restore coffer-1a2b3c4d-20261120T091500Z.tar.age --data /var/lib/coffer --recovery-key-file recovery.txt`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, openingFlags...); err != nil {
				return err
			}
			s, err := loadSettings(placeFlags(cmd), a.env)
			if err != nil {
				return err
			}
			return runRestore(cmd.Context(), args[0], o, s, a.out)
		},
	}
	settingFlags(cmd.Flags(), "data")
	o.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "move aside the data that are there")
	f.BoolVar(&o.noKeyFile, "no-key-file", false, "make no key file: the server starts sealed")
	f.BoolVar(&o.acceptFaults, "accept-faults", false, "restore also what is not as it should be")
	return cmd
}

func runRestore(ctx context.Context, name string, o restoreOptions, s *settings, out *console) error {
	file, err := openBackupFile(name, out)
	if err != nil {
		return err
	}
	defer file.close()
	with, err := o.read(ctx, file.seen, out)
	if err != nil {
		return err
	}
	if with == (api.OpenBackup{}) {
		return usagef("Say what the backup is opened with: %s", neededKeys(file.seen))
	}
	cfg := s.config()
	cfg.Log.Level = "error"
	show, stop := out.measuring("Restoring", 0)
	opts := server.RestoreOptions{
		With: with, KeyFile: absolute(o.keyFile), NoKeyFile: o.noKeyFile, Force: o.force, AcceptFaults: o.acceptFaults,
		Found:    func(text string) { out.note("%s", text) },
		Progress: show, Ignore: present(name, o.keyFile, o.recoveryKeyFile, o.passphraseFile),
		Ready: func(r *api.Restored) error {
			stop()
			return showRecoveryKey(r, out)
		},
	}
	restored, err := server.Restore(ctx, cfg, file, opts)
	stop()
	if err != nil {
		return err
	}
	return printRestored(restored, out)
}

// neededKeys says what opens a backup.
func neededKeys(seen *api.BackupProof) string {
	if seen.Passphrase {
		return "--passphrase-file F"
	}
	text := "--recovery-key-file F or --key-file F"
	if len(seen.Keys) > 0 {
		text += "\nIt opens with one of these keys: " + strings.Join(seen.Keys, ", ")
	}
	return text
}

func absolute(name string) string {
	if name == "" || name == "-" {
		return ""
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	return path
}

func present(names ...string) []string {
	var all []string
	for _, name := range names {
		if path := absolute(name); path != "" {
			all = append(all, path)
		}
	}
	return all
}

// showRecoveryKey shows a new recovery key while nothing has changed yet: whoever
// is killed behind this moment has it.
func showRecoveryKey(r *api.Restored, out *console) error {
	if r.RecoveryKey == "" || out.json {
		return nil
	}
	out.note("The passphrase opened the backup. This is the new recovery key of the data, in place\nof the old one. It is shown this once. Print it or keep it in a password manager:\n")
	return out.print(nil, func(w io.Writer) { fmt.Fprintln(w, string(r.RecoveryKey)) })
}

func printRestored(r *api.Restored, out *console) error {
	if out.json {
		return out.printJSON(out.out, r)
	}
	out.note("Restored the backup of %s into %s, up to record %d of its audit log.", when(r.Backup.CreatedAt), r.Data, r.Backup.AuditNumber)
	out.note("Master key: %s", r.Fingerprint)
	if r.Aside != "" {
		out.note("What was there is in %s now.", r.Aside)
	}
	switch {
	case r.UnsealedBy == "":
		out.note("Nothing here unseals it: the server starts sealed. Then: coffer unseal --data %s", r.Data)
	case r.NewKeyFile:
		if r.Removed > 0 && r.RecoveryKey == "" {
			out.note("Its key file is not on this machine: a new one takes its place, and the old one opens\nthese data no more.")
		}
		out.note("%s", protection(r.KeyFile, r.Data))
	case r.KeyFile != "":
		out.note("%s", protection(r.KeyFile, r.Data))
	default:
		out.note("The passphrase that is configured here unseals it.")
	}
	out.note("Next: coffer serve --data %s", r.Data)
	return nil
}

func newVerify(a *app) *cobra.Command {
	var o openingOptions
	var temp, publicKey string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a backup would restore, or the receipt of an erasure",
		Long: `Prove that a backup is whole and would restore. It asks no server. With the recovery
key, a key file or the passphrase of the backup it reads all of it, checks its sums
and its data, opens every value, and judges the audit log. Values are not shown.

Of the receipt of a vault that was erased it proves the signature; --public-key is
the key of the instance, as coffer status prints it.

Without a key it can only say what opens the backup. On a terminal it asks for one.

It needs room for the data in a temporary directory.

Exit codes: 0 good, 1 something is wrong with it, 9 it is damaged or no backup,
64 there was no key to look into it.`,
		Example: `  coffer verify coffer-1a2b3c4d-20261120T091500Z.tar.age --recovery-key-file recovery.txt`,
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, openingFlags...); err != nil {
				return err
			}
			file, err := openFile(args[0], a.out)
			if err != nil {
				return err
			}
			defer file.close()
			if isReceipt(file.head) {
				return runVerifyReceipt(file.head, publicKey, a.out)
			}
			return runVerify(cmd.Context(), file, temp, o, a.out)
		},
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&publicKey, "public-key", "", "of a receipt: key of the instance, in base64; without it the one in the receipt counts")
	cmd.Flags().StringVar(&temp, "temp", "", "directory for the data while they are looked at (default: the system's)")
	return cmd
}

func runVerify(ctx context.Context, file *backupFrom, temp string, o openingOptions, out *console) error {
	if err := file.look(); err != nil {
		return err
	}
	with, err := o.read(ctx, file.seen, out)
	if err != nil {
		return err
	}
	if with == (api.OpenBackup{}) {
		if err := out.table(file.seen, lookedAtRows(file.seen)); err != nil {
			return err
		}
		return usagef("To look into it: %s", neededKeys(file.seen))
	}
	show, stop := out.measuring("Verifying", 0)
	cfg := server.Config{Version: programVersion()}
	p, err := server.VerifyBackup(ctx, cfg, file, with, temp, show)
	stop()
	if err != nil {
		return err
	}
	if err := out.table(p, proofRows(p)); err != nil {
		return err
	}
	if !p.Good {
		return quietExit(exitError)
	}
	return nil
}

func lookedAtRows(p *api.BackupProof) [][]string {
	opens := "a passphrase"
	if !p.Passphrase {
		opens = "one of the keys " + strings.Join(p.Keys, ", ")
	}
	return [][]string{{"file", "an age file; what is in it is not known without a key"}, {"opens with", opens}}
}

func proofRows(p *api.BackupProof) [][]string {
	verdict := "yes: everything in it opens"
	if !p.Good {
		verdict = "NO"
	}
	rows := [][]string{{"good", verdict}}
	for _, f := range p.Faults {
		rows = append(rows, []string{"but", f})
	}
	b := p.Backup
	rows = append(rows,
		[]string{"made", when(b.CreatedAt) + " by coffer " + b.Version},
		[]string{"instance", b.Instance},
		[]string{"master key", b.Fingerprint},
		[]string{"data", sizeText(b.DataSize) + fmt.Sprintf(", schema %d", b.Schema)},
		[]string{"audit log", fmt.Sprintf("up to record %d, link %s", b.AuditNumber, b.AuditLink)},
		[]string{"vaults", fmt.Sprint(p.Vaults)},
		[]string{"values", fmt.Sprintf("%d opened, versions included", p.Values)})
	for _, k := range b.OpensWith {
		rows = append(rows, []string{"opens with", strings.TrimSpace(k.Kind + " " + k.Fingerprint)})
	}
	return rows
}
