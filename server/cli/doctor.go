package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

func newDoctor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the setup, here and at the server",
		Long: `Look for what is wrong with the setup, and say what to do about it.

For whoever runs the server: files and who may read them, disk, clock, network,
code host, jobs, syncs, audit log, memory. The server that runs on the data
directory is asked; when none runs, its data is looked at here.

For whoever uses one: is it reached, is the login good, which repository is this,
and is there a vault for it.

What applies is looked at: both, where this machine has a server's data and a
login. --data asks for the first alone, --server for the second.

Exit codes: 0 no problem, perhaps with warnings; 1 there is a problem.`,
		Example: `  coffer doctor
  coffer doctor --config coffer.yaml --data /var/lib/coffer`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return a.doctor(cmd.Context(), s, cmd.Flags().Changed("data"))
		},
	}
	return operatorFlags(cmd)
}

// examined is what --json shows.
type examined struct {
	Server   *api.Report `json:"server"` // null where there is none of ours
	User     *api.Report `json:"user"`   // null where nobody is signed in
	Problems int         `json:"problems"`
	Warnings int         `json:"warnings"`
}

func (a *app) doctor(ctx context.Context, s *settings, dataNamed bool) error {
	var all examined
	var err error
	stop := a.out.working("Examining")
	if a.server == "" && (dataNamed || hasData(s.Data)) {
		if all.Server, err = a.examineServer(ctx, s); errors.Is(err, fs.ErrPermission) && !dataNamed {
			err = nil // another user's server
		}
	}
	if err == nil && !dataNamed {
		if _, unknown := a.address(a.credentials()); unknown == nil || all.Server == nil {
			all.User = a.examineUser(ctx)
		}
	}
	stop()
	if err != nil {
		return err
	}
	for _, r := range []*api.Report{all.Server, all.User} {
		if r != nil {
			all.Problems, all.Warnings = all.Problems+r.Problems, all.Warnings+r.Warnings
		}
	}
	err = a.out.print(all, func(w io.Writer) {
		writeReport(w, "The server on "+s.Data, all.Server)
		writeReport(w, "You and your repository", all.User)
	})
	if err != nil {
		return err
	}
	if !a.out.json {
		a.out.note("%s", verdict(all.Problems, all.Warnings))
	}
	if all.Problems > 0 {
		return quietExit(exitError)
	}
	return nil
}

// hasData reports whether a directory has a server's data, also of another user.
func hasData(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, server.DataFile))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// examineServer asks the running server, else looks at its data here.
func (a *app) examineServer(ctx context.Context, s *settings) (*api.Report, error) {
	o, err := openOperator(s)
	if exit := new(failure); errors.As(err, &exit) {
		if exit.exit == exitForbidden {
			return nil, fmt.Errorf("%w%w", err, hiddenError{fs.ErrPermission})
		}
		return nil, err
	}
	if err != nil {
		return server.ExamineClosed(s.config(), err), nil
	}
	r, err := o.Client.Examine(ctx, false)
	if err = errors.Join(err, o.close()); err != nil {
		return nil, err
	}
	if o.running && r.Facts != nil && strings.HasPrefix(r.Facts.PublicURL, "https://") {
		through, err := trusting(r.Facts.Fingerprint)
		if err != nil {
			return nil, err
		}
		seen := a.certificate(ctx, r.Facts.PublicURL, through)
		seen.Area = "tls"
		facts := r.Facts
		r = api.NewReport(r.At, append(r.Findings, seen))
		r.Facts = facts
	}
	return r, nil
}

// trusting is how clients reach a server: those of one that nobody vouches for know
// its fingerprint.
func trusting(fingerprint string) (http.RoundTripper, error) {
	if fingerprint == "" {
		return http.DefaultTransport, nil
	}
	pin, err := client.ParsePin(fingerprint)
	if err != nil {
		return nil, err
	}
	return pin.Transport(), nil
}

// hiddenError is told by errors.Is only.
type hiddenError struct{ error }

func (hiddenError) Error() string   { return "" }
func (h hiddenError) Unwrap() error { return h.error }

func verdict(problems, warnings int) string {
	switch {
	case problems == 0 && warnings == 0:
		return "All is well."
	case problems == 0:
		return fmt.Sprintf("No problem, %s.", counted(warnings, "warning"))
	}
	return fmt.Sprintf("%s, %s.", counted(problems, "problem"), counted(warnings, "warning"))
}

// Columns of a report: its lines are for terminals of 80.
const (
	reportWidth  = 79
	reportIndent = 21
	statusIndent = 12
)

func writeReport(w io.Writer, title string, r *api.Report) {
	if r == nil {
		return
	}
	fmt.Fprintln(w, printable(title))
	for _, d := range r.Findings {
		level := d.Level
		if level == api.DiagnosisProblem {
			level = strings.ToUpper(level)
		}
		writeWrapped(w, reportIndent, fmt.Sprintf("  %-8s %s", level, d.Area), d.Text)
		if d.Next != "" {
			writeWrapped(w, reportIndent, "", "→ "+d.Next)
		}
	}
}

// writeWrapped writes a text beside a label, broken between words.
func writeWrapped(w io.Writer, indent int, label, text string) {
	line := fmt.Sprintf("%-*s", indent, label)
	for word := range strings.FieldsSeq(printable(text)) {
		// A word that fits on no line, like a long path, stays where it is: a command
		// that is cut into lines cannot be copied.
		long := utf8.RuneCountInString(word)
		if utf8.RuneCountInString(line)+1+long > reportWidth && long <= reportWidth-indent && len(line) > indent {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent)
		}
		if len(line) > indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}
