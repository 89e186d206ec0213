package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/client"
)

// changing are the actions that change what an environment holds.
var changing = []string{
	"secrets_pushed", "secret_created", "secret_updated", "secret_trashed", "secret_restored", "secret_version_restored",
}

// mostChanges is how many changes are shown.
const mostChanges = 50

// runChanges lists the latest changes of an environment, newest first.
func runChanges(ctx context.Context, at place, c *client.Client, out *console) error {
	found, err := findChanges(ctx, at, c)
	if errors.Is(err, &api.Error{Code: api.Forbidden}) {
		return failf(exitForbidden, "Only an admin of %s may see all changes of an environment.\nThe versions of one secret: coffer history KEY -e %s", at.repo, at.environment)
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := mustExist(ctx, c, at); err != nil {
			return err
		}
		out.note("Nothing has changed in %s of %s.", at.environment, at.repo)
	}
	var rows [][]string
	for _, e := range found {
		key, _ := e.Metadata["key"].(string)
		revision := "-"
		if n, ok := e.Metadata["revision"].(float64); ok {
			revision = fmt.Sprintf("revision %.0f", n)
		}
		rows = append(rows, []string{revision, when(e.Timestamp), whoDid(e.Actor), e.Action, key})
	}
	return out.table(found, rows)
}

// findChanges asks for each action on its own, so that many reads do not crowd
// the few changes out of the page.
func findChanges(ctx context.Context, at place, c *client.Client) ([]api.Activity, error) {
	owner, repo, _ := strings.Cut(at.repo, "/")
	most := mostChanges
	found := []api.Activity{}
	for _, action := range changing {
		l, err := c.VaultActivity(ctx, api.ListVaultActivity{
			PageRef:     api.PageRef{Ref: api.Ref{Owner: owner, Repo: repo}, Page: api.Page{Limit: &most}},
			Environment: at.environment, Action: action,
		})
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(l.Items, changedNothing)...)
	}
	slices.SortStableFunc(found, func(a, b api.Activity) int { return b.Timestamp.Compare(a.Timestamp.Time) })
	return found[:min(len(found), mostChanges)], nil
}

// changedNothing knows dry runs and pushes of what was there already.
func changedNothing(e api.Activity) bool {
	if e.Action != "secrets_pushed" {
		return false
	}
	dry, _ := e.Metadata["dryRun"].(bool)
	touched := 0.0
	for _, count := range []string{"created", "updated", "deleted"} {
		n, _ := e.Metadata[count].(float64)
		touched += n
	}
	return dry || touched == 0
}
