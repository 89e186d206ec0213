package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/offline"
)

func newLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [URL]",
		Short: "End the login at a server and forget it",
		Long: `End the login at a server, forget it, and remove the offline copies of what the
server holds. A login of yours elsewhere goes on: coffer sessions ls shows them.

An API key is only forgotten and stays valid: to end it, use coffer keys rm.`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.server = args[0]
			}
			store := a.credentials()
			address, err := a.address(store)
			if err != nil {
				return err
			}
			return runLogout(cmd.Context(), address, a.client, store, a.copies(), a.out)
		},
	}
}

// loggedOut is what --json shows.
type loggedOut struct {
	URL          string `json:"url"`
	SignedOut    bool   `json:"signedOut"`
	SessionEnded bool   `json:"sessionEnded"`
	Copies       int    `json:"offlineCopiesRemoved"`
}

func runLogout(ctx context.Context, address string, connect dial, store *credentials, copies *copies, out *console) error {
	removed, err := copies.remove(func(p offline.Place) bool { return p.Server == address })
	if err != nil {
		return fmt.Errorf("remove the offline copies: %w", err)
	}
	l, err := store.login(address)
	if err != nil {
		return err
	}
	ended, problem := endSession(ctx, l, connect(address, l.Token))
	known, err := store.forget(address)
	if err != nil {
		return err
	}
	text := "Signed out of %s."
	if !known {
		text = "You were not signed in to %s."
	}
	if removed > 0 {
		text += fmt.Sprintf(" Offline copies removed: %d.", removed)
	}
	if problem != nil {
		out.note("The login is forgotten here, but the server did not end it: %s", describe(problem))
		out.note("Whoever has a copy of it could use it until %s. To end it, sign in again: coffer sessions ls", whenOr(l.ExpiresAt, "it expires"))
	}
	return out.done(loggedOut{address, known, ended, removed}, text, address)
}

// logoutTime is how long the server may take to end a login: it is forgotten here
// in any case.
const logoutTime = 10 * time.Second

// endSession ends a login at its server. One that the server does not know any
// more has ended already.
func endSession(ctx context.Context, l login, c *client.Client) (ended bool, err error) {
	if credentialKind(l.Token) != kindLogin {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, logoutTime)
	defer cancel()
	if err := c.Logout(ctx); err != nil && api.CodeOf(err) != api.Unauthorized {
		return false, err
	}
	return true, nil
}

func newSessions(a *app) *cobra.Command {
	return group("sessions", "List and end your logins", newSessionsLs(a), newSessionsEnd(a))
}

func newSessionsLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List your logins, newest first",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runSessionsLs(ctx, c, a.out)
		}),
	}
}

func runSessionsLs(ctx context.Context, c *client.Client, out *console) error {
	all, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, s := range all {
		this := ""
		if s.Current {
			this = "this one"
		}
		rows = append(rows, []string{s.ID, "since " + when(s.CreatedAt), "used " + whenOr(s.LastUsedAt, "never"), "ends " + when(s.ExpiresAt),
			textOr(s.IP), programOf(s.UserAgent), this})
	}
	if len(rows) == 0 {
		out.note("You have no login. This is an API key or an access token of the code host.")
	}
	return out.table(orEmpty(all), rows)
}

// programOf says what signed in. What browsers say of themselves is long, and
// more or less the same in all of them.
func programOf(userAgent *string) string {
	if text := textOr(userAgent); !strings.HasPrefix(text, "Mozilla/") {
		return text
	}
	return "a browser"
}

func newSessionsEnd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "end ID",
		Short: "End one of your logins at once",
		Args:  args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runSessionsEnd(ctx, args[0], c, a.out)
		}),
	}
}

func runSessionsEnd(ctx context.Context, id string, c *client.Client, out *console) error {
	if err := c.EndSession(ctx, id); err != nil {
		return err
	}
	return out.done(map[string]string{"ended": id}, "Ended the login %s.", id)
}
