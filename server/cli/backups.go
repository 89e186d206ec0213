package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coffer/server/api"
	"coffer/server/client"
)

type backupOptions struct {
	to, passphraseFile string
	force              bool
}

func newBackup(a *app) *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Write a backup of everything into one encrypted file",
		Long: `Write a backup of everything into one file. The server goes on serving meanwhile;
when none runs, the data are opened directly. It works while the server is sealed
too.

The file is a plain age file. The recovery key opens it, and every key file of the
server does; with --passphrase-file that passphrase opens it and nothing else.
Prove it with coffer verify, bring it back with coffer restore.

Without --to the file gets a name of its own in the current directory. It is there
when it is complete; an existing file is kept unless --force is given.`,
		Example: `  coffer backup
  coffer backup --to /mnt/backups/
  coffer backup --to - | ssh other 'cat > coffer.tar.age'`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(placeFlags(cmd), a.env)
			if err != nil {
				return err
			}
			op, err := openOperator(s)
			if err != nil {
				return err
			}
			return errors.Join(runBackup(cmd.Context(), o, op.Client, a.out), op.close())
		},
	}
	f := cmd.Flags()
	settingFlags(f, "data")
	f.StringVarP(&o.to, "to", "o", ".", "file or directory to write to; - is standard output")
	f.StringVar(&o.passphraseFile, "passphrase-file", "", "protect the backup with the passphrase in this file, instead of with keys; - is standard input")
	f.BoolVar(&o.force, "force", false, "replace an existing file")
	cmd.AddCommand(newBackupList(a), newBackupNow(a), newBackupDrill(a), newBackupGet(a))
	return cmd
}

// placeFlags are the flags of a command that say where the data are. Others may
// have the names of settings and mean something else: what a backup is opened with
// says nothing about how the server is unsealed.
func placeFlags(cmd *cobra.Command) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"config", "data"} {
		f.AddFlag(cmd.Flags().Lookup(name))
	}
	return f
}

// madeBackup is what --json shows.
type madeBackup struct {
	File string `json:"file"` // empty for standard output
	Size int64  `json:"size"`
	*api.Backup
}

func runBackup(ctx context.Context, o backupOptions, c *client.Client, out *console) (err error) {
	var req api.NewBackup
	if o.passphraseFile != "" {
		text, err := out.readSecretFile(o.passphraseFile)
		if err != nil {
			return err
		}
		p := api.NewSecret(text)
		req.Passphrase = &p
	}
	if o.to == "-" {
		if _, shown := terminal(out.out); shown {
			return usagef("A backup is no text to look at. Send it somewhere, or name a file with --to.")
		}
		_, err := c.Backup(ctx, req, func(api.Backup) (io.Writer, error) { return out.out, nil })
		return err
	}
	w := &backupFile{o: o, out: out}
	defer w.abandon()
	// What is in the way is seen before the work begins.
	if err := w.check(o.to); err != nil {
		return err
	}
	about, err := c.Backup(ctx, req, w.begin)
	w.stop()
	if err != nil {
		return diskError(err, o.to)
	}
	if err := w.commit(); err != nil {
		return diskError(err, o.to)
	}
	how := "the recovery key, or a key file of the server"
	if req.Passphrase != nil {
		how = "its passphrase"
	}
	return out.done(madeBackup{w.name, w.size, about}, "Wrote %s, %s. It opens with %s.\nTo prove it: coffer verify %s", w.name, sizeText(w.size), how, w.name)
}

// backupFile is the file of a backup on its way: it has its name when it is
// complete.
type backupFile struct {
	o    backupOptions
	out  *console
	name string
	size int64
	f    *os.File
	show func(done, total int64)
	stop func()
}

// check refuses a place that is taken.
func (w *backupFile) check(name string) error {
	w.stop = func() {}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() && !info.Mode().IsRegular():
		return failf(exitConflict, "%s is no file. Choose another name, or --to - for standard output.", name)
	case !info.IsDir() && !w.o.force:
		return failf(exitConflict, "%s is there already. Choose another name, or add --force to replace it.", name)
	}
	return nil
}

func (w *backupFile) begin(about api.Backup) (io.Writer, error) {
	w.name = w.o.to
	if info, err := os.Stat(w.name); err == nil && info.IsDir() || strings.HasSuffix(w.name, string(filepath.Separator)) {
		w.name = filepath.Join(w.name, about.Name)
		if err := w.check(w.name); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(w.name), filepath.Base(w.name)+".*.part") // made with mode 0600
	w.f = f
	w.show, w.stop = w.out.measuring("Backing up", about.DataSize)
	return w, err
}

func (w *backupFile) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.size += int64(n)
	w.show(w.size, 0)
	return n, err
}

// commit gives the file its name, when it is on the disk.
func (w *backupFile) commit() error {
	if err := errors.Join(w.f.Sync(), w.f.Close()); err != nil {
		return err
	}
	var err error
	if w.o.force {
		err = os.Rename(w.f.Name(), w.name)
	} else {
		// A link is refused where a file has come up meanwhile.
		err = os.Link(w.f.Name(), w.name)
		if errors.Is(err, fs.ErrExist) {
			return w.check(w.name)
		}
		if err != nil { // some file systems have no links
			err = os.Rename(w.f.Name(), w.name)
		}
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(w.name))
	if err == nil {
		_ = dir.Sync() // some systems cannot sync a directory
		_ = dir.Close()
	}
	return nil
}

// abandon removes what has no name yet.
func (w *backupFile) abandon() {
	if w.f != nil {
		_ = w.f.Close()
		_ = os.Remove(w.f.Name())
	}
}

func diskError(err error, place string) error {
	if isFull(err) {
		return failf(exitError, "The disk of %s is full. There is no backup; what was written of it is removed.", place)
	}
	return err
}

// measuring says on a terminal how much of something is done.
func (c *console) measuring(text string, total int64) (show func(done, newTotal int64), stop func()) {
	if !c.canShow() {
		return func(int64, int64) {}, func() {}
	}
	last, shown := int64(-1), false
	show = func(done, newTotal int64) {
		total := max(cmp.Or(newTotal, total), 1)
		if percent := min(100*done/total, 100); percent != last {
			last, shown = percent, true
			fmt.Fprintf(c.err, "\r\033[K%s: %d %% of %s …", text, percent, sizeText(total))
		}
	}
	return show, func() {
		if shown {
			shown = false
			fmt.Fprint(c.err, "\r\033[K")
		}
	}
}
