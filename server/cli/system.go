package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

type unsealOptions struct {
	passphraseFile, keyFile, recoveryKeyFile string
}

func newUnseal(a *app) *cobra.Command {
	var o unsealOptions
	cmd := &cobra.Command{
		Use:   "unseal",
		Short: "Unseal the running server",
		Long: `Unseal the running server with a passphrase, a key file or the recovery key.
Without a flag it is asked for, or read from standard input; an empty input
tries what the server was started with.

The server is the one running on the data directory, or that of --server.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "passphrase-file", "key-file", "recovery-key-file"); err != nil {
				return err
			}
			c, err := a.running(cmd)
			if err != nil {
				return err
			}
			return runUnseal(cmd.Context(), o, c, a.out)
		},
	}
	f := cmd.Flags()
	settingFlags(f, "data")
	f.StringVar(&o.passphraseFile, "passphrase-file", "", "file with the passphrase; - is standard input")
	f.StringVar(&o.keyFile, "key-file", "", "key file; - is standard input")
	f.StringVar(&o.recoveryKeyFile, "recovery-key-file", "", "file with the recovery key; - is standard input")
	return cmd
}

// running is a client for the server of --server, else for the one that runs on
// the data directory. COFFER_URL is not asked: it belongs to a user's commands.
func (a *app) running(cmd *cobra.Command) (*client.Client, error) {
	if a.server != "" {
		address, err := parseAddress(a.server)
		return a.client(address, ""), err
	}
	s, err := loadSettings(cmd.Flags(), a.env)
	if err != nil {
		return nil, err
	}
	return dialOperator(s)
}

func runUnseal(ctx context.Context, o unsealOptions, c *client.Client, out *console) error {
	u, err := o.read(ctx, out)
	if err != nil {
		return err
	}
	stop := out.working("Unsealing")
	err = c.Unseal(ctx, u)
	stop()
	if err != nil {
		return err
	}
	return out.done(map[string]bool{"sealed": false}, "Unsealed.")
}

func (o unsealOptions) read(ctx context.Context, out *console) (u api.Unseal, err error) {
	var text string
	switch {
	case o.passphraseFile != "":
		text, err = out.readSecretFile(o.passphraseFile)
		return passphrase(text), err
	case o.keyFile != "" || o.recoveryKeyFile != "":
		text, err = out.readSecretFile(first(o.keyFile, o.recoveryKeyFile))
		key := api.NewSecret(text)
		return api.Unseal{Key: &key}, err
	case out.canAsk():
		text, err = out.hidden(ctx, "Passphrase or recovery key (empty: as configured): ")
	default:
		var data []byte
		data, err = out.readAll("-")
		text = strings.TrimRight(string(data), "\r\n")
	}
	switch {
	case err != nil || text == "":
		return api.Unseal{}, err
	case strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-"):
		key := api.NewSecret(text)
		return api.Unseal{Key: &key}, nil
	default:
		return passphrase(text), nil
	}
}

func passphrase(text string) api.Unseal {
	p := api.NewSecret(text)
	return api.Unseal{Passphrase: &p}
}

func newSeal(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Seal the running server at once",
		Long: `Seal the running server at once: the keys leave its memory, and nobody reads or
writes until it is unsealed.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			c, err := dialOperator(s)
			if err != nil {
				return err
			}
			return runSeal(cmd.Context(), c, a.out)
		},
	}
	settingFlags(cmd.Flags(), "data")
	return cmd
}

func runSeal(ctx context.Context, c *client.Client, out *console) error {
	if err := out.confirm(ctx, "Seal the server? Nobody reads or writes until it is unsealed."); err != nil {
		return err
	}
	if err := c.Seal(ctx); err != nil {
		return err
	}
	return out.done(map[string]bool{"sealed": true}, "Sealed. To unseal: coffer unseal")
}

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the server runs and is unsealed",
		Long: `Show whether the server runs and is unsealed: the one on the data directory, or
that of --server.

Exit codes: 0 it serves, 5 it does not run, 7 it runs but is sealed or not set
up yet.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.status(cmd)
		},
	}
	return operatorFlags(cmd)
}

func (a *app) status(cmd *cobra.Command) error {
	if a.server != "" {
		c, err := a.running(cmd)
		if err != nil {
			return err
		}
		return runStatus(cmd.Context(), statusOptions{where: c.URL, running: true}, c, a.out)
	}
	s, err := loadSettings(cmd.Flags(), a.env)
	if err != nil {
		return err
	}
	o, err := openOperator(s)
	if errors.Is(err, server.ErrOlder) {
		return runOlderStatus(s.Data, err, a.out)
	}
	if err != nil {
		return err
	}
	defer o.close()
	return runStatus(cmd.Context(), statusOptions{s.Data, o.running, o.running}, o.Client, a.out)
}

type statusOptions struct {
	where   string // data directory or address
	running bool
	jobs    bool // asked as operator, who may know of them
}

// statusReport is what --json shows.
type statusReport struct {
	Server  string `json:"server"`
	Running bool   `json:"running"`
	api.Status
	Jobs    []api.Job        `json:"jobs,omitempty"`
	Backups *api.KeptBackups `json:"backups,omitempty"`
}

func runStatus(ctx context.Context, o statusOptions, c *client.Client, out *console) error {
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	var jobs []api.Job
	var backups *api.KeptBackups
	rows := statusRows(o, st)
	if o.jobs && st.Initialized && !st.Sealed {
		if jobs, err = c.Jobs(ctx); err != nil {
			return err
		}
		if backups, err = c.KeptBackups(ctx, true); err != nil {
			return err
		}
		rows = append(rows, backupRows(backups)...)
	}
	rows = append(rows, jobRows(jobs)...)
	if err := out.table(statusReport{o.where, o.running, *st, jobs, backups}, rows); err != nil {
		return err
	}
	switch {
	case !o.running:
		return quietExit(exitNetwork)
	case st.Sealed || !st.Initialized:
		return quietExit(exitSealed)
	}
	return nil
}

func statusRows(o statusOptions, st *api.Status) [][]string {
	server, state := "running, version "+st.Version, "unsealed"
	switch {
	case !st.Initialized:
		state = "not set up yet; run: coffer init"
	case st.Sealed && o.running:
		state = "sealed; run: coffer unseal"
	case st.Sealed:
		state = "would start sealed"
	case !o.running:
		state = "would start unsealed"
	}
	if !o.running {
		server = "not running"
	}
	rows := [][]string{{"where", o.where}, {"server", server}, {"state", state}}
	for _, m := range st.Methods {
		rows = append(rows, []string{"opens with", strings.TrimSpace(fmt.Sprintf("%s %s", m.Kind, m.Fingerprint)) + ", since " + when(m.CreatedAt)})
	}
	rows = append(rows, []string{"code host", codeHost(st.Forge)})
	if st.AuditKey != "" {
		rows = append(rows, []string{"audit key", st.AuditKey})
	}
	if st.LastError != "" {
		rows = append(rows, []string{"last error", st.LastError})
	}
	return rows
}

// codeHost is the code host in words, with by whose rights it is asked.
func codeHost(f api.ForgeStatus) string {
	by := map[string]string{
		api.ForgeAskedByApp:   ", asked with the rights of an App",
		api.ForgeAskedByToken: ", asked with a service token",
		api.ForgeAskedByUsers: ", asked with the rights of each user",
	}
	if f.URL == "" {
		return kindOfHost(f.Kind)
	}
	return kindOfHost(f.Kind) + " at " + f.URL + by[f.Credential]
}

// kindOfHost is a kind of code host in words.
func kindOfHost(kind string) string {
	if kind == "local" {
		return "local (built in)"
	}
	return kind
}

func jobRows(jobs []api.Job) [][]string {
	var rows [][]string
	for _, j := range jobs {
		text := "runs first at " + when(j.NextRunAt)
		switch {
		case j.Running:
			text = "is running"
		case j.LastRunAt != nil:
			text = fmt.Sprintf("ran at %s and removed %d; next at %s", when(*j.LastRunAt), j.Removed, when(j.NextRunAt))
		}
		if j.LastError != nil {
			text += ". Last error: " + *j.LastError
		}
		rows = append(rows, []string{"job " + j.Name, text})
	}
	return rows
}

func newCheck(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the consistency of the data file; the server must be stopped",
		Long: `Check the consistency of the data file; the server must be stopped. Data of an
earlier version is checked as it is, without upgrading it.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return runCheck(s, a.out)
		},
	}
	return operatorFlags(cmd)
}

func runCheck(s *settings, out *console) error {
	if err := mustHaveData(s.Data); err != nil {
		return err
	}
	if _, err := server.DialOperator(s.Data); err == nil {
		return failf(exitConflict, "A server is running on %s. Stop it first.", s.Data)
	}
	defer out.working("Checking")()
	cfg := s.config()
	cfg.Log.Level = "error"
	c, err := server.Check(cfg)
	if err != nil {
		return err
	}
	later := ""
	if c.Older {
		later = fmt.Sprintf("\nIt has schema %d and is upgraded when a server starts on it: coffer serve --data %s", c.Schema, s.Data)
	}
	return out.done(map[string]any{"ok": true, "data": s.Data, "schema": c.Schema, "upgradeNeeded": c.Older}, "The data in %s is consistent.%s", s.Data, later)
}
