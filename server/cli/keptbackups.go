package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newBackupList(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "list",
		Short: "List the backups that the server made by itself, and whether they restore",
		Long: `List the backups that the server made by itself, newest first, with how the last
one went and whether the newest restored when it was tried.

Exit codes: 0 all is well, 1 the last backup failed or does not restore.`,
		Args: args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runBackupList(ctx, c, a.out)
		}),
	})
}

func runBackupList(ctx context.Context, c *client.Client, out *console) error {
	k, err := c.KeptBackups(ctx, false)
	if err != nil {
		return err
	}
	rows := backupRows(k)
	for _, b := range k.Backups {
		rows = append(rows, []string{when(b.CreatedAt), b.Name + ", " + sizeText(b.Size)})
	}
	if k.Problem != nil {
		rows = append(rows, []string{"problem", *k.Problem})
	}
	if err := out.table(k, rows); err != nil {
		return err
	}
	if k.Problem != nil || k.Last != nil && k.Last.Error != nil || k.Drill != nil && !k.Drill.Restores {
		return quietExit(exitError)
	}
	return nil
}

// backupRows are the last backup and the last drill, in a line each.
func backupRows(k *api.KeptBackups) [][]string {
	if k.Where == "" {
		return [][]string{{"backups", "none by itself; name a place with backup.to"}}
	}
	last := "none yet in " + k.Where
	if k.LastGood != nil {
		last = fmt.Sprintf("%s, %s in %s", when(k.LastGood.EndedAt), sizeText(k.LastGood.Size), k.LastGood.Where)
	}
	if k.Last != nil && k.Last.Error != nil {
		last += ". The last one failed: " + *k.Last.Error
	}
	drill := "none yet"
	switch d := k.Drill; {
	case d == nil:
	case d.Restores:
		drill = fmt.Sprintf("it restores, tried at %s: %s", when(d.At), d.Found)
	default:
		drill = fmt.Sprintf("it does not restore, tried at %s: %s", when(d.At), *d.Reason)
	}
	return [][]string{{"last backup", last}, {"last drill", drill}}
}

func newBackupGet(a *app) *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Download a backup from where the server keeps them",
		Long: `Download a backup from where the server keeps them; coffer backup list names them.
To restore one on a machine without a server, take it from the directory or the
bucket: it is a file like any other.`,
		Example: `  coffer backup get coffer-099a8057-20261120T200732Z.tar.age
  coffer backup get coffer-099a8057-20261120T200732Z.tar.age --to - | age -d -i recovery.txt | tar t`,
		Args: args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runBackupGet(ctx, o, args[0], c, a.out)
		}),
	}
	f := operatorFlags(cmd).Flags()
	f.StringVarP(&o.to, "to", "o", ".", "file or directory to write to; - is standard output")
	f.BoolVar(&o.force, "force", false, "replace an existing file")
	return cmd
}

func runBackupGet(ctx context.Context, o backupOptions, name string, c *client.Client, out *console) error {
	if o.to == "-" {
		if _, shown := terminal(out.out); shown {
			return usagef("A backup is no text to look at. Send it somewhere, or name a file with --to.")
		}
		return c.FetchBackup(ctx, name, func() (io.Writer, error) { return out.out, nil })
	}
	w := &backupFile{o: o, out: out}
	defer w.abandon()
	if err := w.check(o.to); err != nil {
		return err
	}
	err := c.FetchBackup(ctx, name, func() (io.Writer, error) { return w.begin(api.Backup{Name: name}) })
	w.stop()
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return diskError(err, o.to)
	}
	return out.done(map[string]any{"file": w.name, "size": w.size}, "Wrote %s, %s.\nTo prove it: coffer verify %s", w.name, sizeText(w.size), w.name)
}

func newBackupNow(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "now",
		Short: "Put a backup where the server keeps them, now",
		Args:  args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runBackupJob(ctx, "backups", c, a.out)
		}),
	})
}

func newBackupDrill(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "drill",
		Short: "Fetch the newest backup back and find out whether it restores, now",
		Args:  args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runBackupJob(ctx, "drill", c, a.out)
		}),
	})
}

// runBackupJob has a job of backups run, waits for its end, and says what came of it.
func runBackupJob(ctx context.Context, job string, c *client.Client, out *console) error {
	stop := out.working("Working")
	err := waitForJob(ctx, job, c)
	stop()
	if errors.Is(err, &api.Error{Code: api.NotFound}) {
		return failf(exitNotFound, "The server keeps no backups by itself. Name a place with backup.to.")
	}
	if err != nil {
		return err
	}
	return runBackupList(ctx, c, out)
}

// waitForJob has a job run that may take longer than a request. What it failed with
// is for its own list to say.
func waitForJob(ctx context.Context, job string, c *client.Client) error {
	j, err := c.RunJob(ctx, job)
	for err == nil && j.Running {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		var all []api.Job
		if all, err = c.Jobs(ctx); err != nil {
			return err
		}
		for i := range all {
			if all[i].Name == job {
				j = &all[i]
			}
		}
	}
	return err
}
