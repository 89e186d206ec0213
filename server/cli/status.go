package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show in one screen how the server is",
		Long: `Show in one screen how the server is: the one on the data directory, or that of
--server, which says less. What is wrong comes first; coffer doctor says more.

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
	return runStatus(cmd.Context(), statusOptions{s.Data, o.running, true}, o.Client, a.out)
}

type statusOptions struct {
	where    string // data directory or address
	running  bool
	operator bool // asked as operator, who may know more
}

// statusReport is what --json shows.
type statusReport struct {
	Server  string `json:"server"`
	Running bool   `json:"running"`
	api.Status
	Facts    *api.Facts       `json:"facts,omitempty"`
	Troubles []api.Diagnosis  `json:"troubles,omitempty"`
	Jobs     []api.Job        `json:"jobs,omitempty"`
	Keys     *api.Rotations   `json:"keys,omitempty"`
	Backups  *api.KeptBackups `json:"backups,omitempty"`
}

func runStatus(ctx context.Context, o statusOptions, c *client.Client, out *console) error {
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	shown := statusReport{Server: o.where, Running: o.running, Status: *st}
	if o.operator {
		if err := shown.ask(ctx, c); err != nil {
			return err
		}
	}
	err = out.print(shown, func(w io.Writer) {
		for _, row := range shown.rows() {
			writeWrapped(w, statusIndent, row[0], row[1])
		}
	})
	if err != nil {
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

// ask adds what only the operator is told.
func (r *statusReport) ask(ctx context.Context, c *client.Client) (err error) {
	seen, err := c.Examine(ctx, true)
	if err != nil {
		return err
	}
	r.Facts, r.Troubles = seen.Facts, seen.Troubles()
	if !r.Initialized || r.Sealed {
		return nil
	}
	if r.Keys, err = c.Rotations(ctx); err == nil {
		r.Backups, err = c.KeptBackups(ctx, true)
	}
	if err == nil && r.Running {
		r.Jobs, err = c.Jobs(ctx)
	}
	return err
}

// rows are the lines of the screen: where and what, then what is wrong, then the rest.
func (r *statusReport) rows() [][2]string {
	rows := [][2]string{{"where", r.Server}, {"server", r.serverWords()}, {"state", r.stateWords()}}
	if r.LastError != "" && len(r.Attempts) == 0 {
		rows = append(rows, [2]string{"last error", r.LastError})
	}
	for _, t := range r.Attempts {
		rows = append(rows, [2]string{"tried", t.Way + ": " + t.Reason})
	}
	for _, t := range r.Troubles {
		if t.Area == "server" {
			continue // the lines above say so
		}
		level := t.Level
		if level == api.DiagnosisProblem {
			level = strings.ToUpper(level)
		}
		rows = append(rows, [2]string{level, t.Text})
	}
	if f := r.Facts; f != nil {
		rows = append(rows, [2]string{"data", dataWords(f)})
		if f.AutoSyncs > 0 {
			rows = append(rows, [2]string{"syncs", counted(f.AutoSyncs, "link") + " by themselves"})
		}
	}
	for _, m := range r.Methods {
		rows = append(rows, [2]string{"opens with", strings.TrimSpace(kindOfMethod(m)+" "+m.Fingerprint) + ", since " + when(m.CreatedAt)})
	}
	if g := r.Shares; g != nil {
		rows = append(rows, [2]string{"shares", fmt.Sprintf("%d of %d given for key %s, kept until %s", g.Given, g.Threshold, g.Fingerprint, when(g.ExpiresAt))})
	}
	if r.Keys != nil {
		for _, row := range rotationRows(r.Keys) {
			rows = append(rows, [2]string{row[0], row[1]})
		}
	}
	if r.Backups != nil {
		for _, row := range backupRows(r.Backups) {
			rows = append(rows, [2]string{row[0], row[1]})
		}
	}
	rows = append(rows, [2]string{"code host", codeHost(r.Forge)})
	if len(r.Jobs) > 0 {
		rows = append(rows, [2]string{"jobs", jobWords(r.Jobs)})
	}
	if r.AuditKey != "" {
		rows = append(rows, [2]string{"audit key", r.AuditKey})
	}
	return rows
}

func (r *statusReport) serverWords() string {
	switch {
	case !r.Running:
		return "not running"
	case r.Facts != nil && r.Facts.StartedAt != nil:
		return fmt.Sprintf("running, version %s, since %s (%s)", r.Version, when(*r.Facts.StartedAt), spanWords(time.Since(r.Facts.StartedAt.Time)))
	}
	return "running, version " + r.Version
}

func (r *statusReport) stateWords() string {
	switch {
	case !r.Initialized:
		return "not set up yet; run: coffer init"
	case r.Sealed && r.Running:
		return "sealed; run: coffer unseal"
	case r.Sealed:
		return "would start sealed"
	case !r.Running:
		return "would start unsealed"
	}
	return "unsealed"
}

func dataWords(f *api.Facts) string {
	text := sizeText(f.DataBytes)
	if f.FreeBytes != nil {
		text += ", and " + sizeText(*f.FreeBytes) + " free on its disk"
	}
	return text + "; " + counted(int(f.AuditRecords), "record") + " in the audit log"
}

// spanWords is how long something lasts, in the unit that fits.
func spanWords(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return counted(int(d/time.Minute), "minute")
}

// jobWords are all jobs in a sentence. What failed stands among the troubles.
func jobWords(all []api.Job) string {
	var failed, running []string
	last, next := all[0].LastRunAt, all[0].NextRunAt
	for _, j := range all {
		if j.LastError != nil {
			failed = append(failed, j.Name)
		}
		if j.Running {
			running = append(running, j.Name)
		}
		if j.LastRunAt != nil && (last == nil || j.LastRunAt.After(last.Time)) {
			last = j.LastRunAt
		}
		if j.NextRunAt.Before(next.Time) {
			next = j.NextRunAt
		}
	}
	text := counted(len(all), "job") + ", none failed"
	if len(failed) > 0 {
		text = fmt.Sprintf("%s, %d failed: %s", counted(len(all), "job"), len(failed), strings.Join(failed, ", "))
	}
	if len(running) > 0 {
		text += "; running: " + strings.Join(running, ", ")
	}
	if last == nil {
		return fmt.Sprintf("%s; none ran yet, the first at %s", text, when(next))
	}
	return fmt.Sprintf("%s; last at %s, next at %s", text, when(*last), when(next))
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
