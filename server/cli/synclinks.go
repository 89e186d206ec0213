package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

// saveLink remembers a target that was just synced.
func (b *bearing) saveLink(ctx context.Context, auto bool, p *api.SyncPreview, c *client.Client, out *console) error {
	q := b.query()
	l, err := c.SaveLink(ctx, api.SaveLink{
		Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, ServiceID: q.ServiceID,
		KeywayEnvironment: p.KeywayEnvironment, ProviderEnvironment: p.ProviderEnvironment,
		AutoSync: auto, AllowReferences: b.references,
	})
	if err != nil {
		out.note("The sync is done, but it was not remembered.")
		return err
	}
	text := "Remembered. To forget it: coffer sync unlink %s"
	if auto {
		text = "Remembered: every later change is sent by itself, without deleting anything. To end that: coffer sync unlink %s"
	}
	out.note(text, l.ID)
	return nil
}

func newSyncLinks(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "links",
		Short: "List what the vault is synced with, and how that went last",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runSyncLinks(ctx, at, c, a.out)
		}),
	}
}

func runSyncLinks(ctx context.Context, at place, c *client.Client, out *console) error {
	v, err := c.Vault(ctx, at.repo)
	if err != nil {
		return err
	}
	if len(v.Syncs) == 0 {
		out.note("No sync of %s is remembered. To remember one: coffer sync PROVIDER --link", at.repo)
	}
	var rows [][]string
	for _, s := range v.Syncs {
		rows = append(rows, []string{s.KeywayEnvironment, "→", s.Provider, linkedProject(s), s.ProviderEnvironment, howSent(s), standing(s), s.ID})
	}
	if err := out.table(orEmpty(v.Syncs), rows); err != nil || out.json {
		return err
	}
	for _, s := range v.Syncs {
		if s.LastError != "" {
			out.note("%s → %s %s: %s", s.KeywayEnvironment, s.Provider, s.ProjectName, s.LastError)
		}
	}
	return nil
}

func linkedProject(s api.VaultSync) string {
	if s.ServiceID == nil {
		return s.ProjectName
	}
	return s.ProjectName + "/" + *s.ServiceID
}

func howSent(s api.VaultSync) string {
	if s.AutoSync {
		return "by itself"
	}
	return "by hand"
}

// standing is how the last sync of a link went.
func standing(s api.VaultSync) string {
	switch {
	case s.LastStatus == "disabled":
		return "stopped " + whenOr(s.LastRunAt, "")
	case s.LastStatus != "" && s.LastStatus != api.SyncSuccess:
		text := "failed " + whenOr(s.LastRunAt, "")
		if s.NextRunAt != nil {
			text += ", again " + when(*s.NextRunAt)
		}
		return text
	case s.DriftKeys > 0:
		return counted(s.DriftKeys, "key") + " changed there"
	case s.LastSyncedAt == nil:
		return "not synced yet"
	}
	return "synced " + when(*s.LastSyncedAt)
}

func newSyncUnlink(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unlink ID",
		Short: "Forget what the vault is synced with; nothing is deleted there",
		Args:  args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runSyncUnlink(ctx, at, args[0], c, a.out)
		}),
	}
}

func runSyncUnlink(ctx context.Context, at place, id string, c *client.Client, out *console) error {
	v, err := c.Vault(ctx, at.repo)
	if err != nil {
		return err
	}
	for _, s := range v.Syncs {
		if s.ID != id {
			continue
		}
		err := out.confirm(ctx, "Forget that %s of %s is synced with %s of %s (%s)? What was synced stays there.",
			s.KeywayEnvironment, at.repo, s.ProviderEnvironment, s.ProjectName, s.Provider)
		if err != nil {
			return err
		}
		owner, repo, _ := strings.Cut(at.repo, "/")
		if err := c.RemoveLink(ctx, api.LinkRef{Ref: api.Ref{Owner: owner, Repo: repo}, LinkID: id}); err != nil {
			return err
		}
		return out.done(map[string]string{"removed": id}, "Forgot the sync of %s with %s (%s).", s.KeywayEnvironment, s.ProjectName, s.Provider)
	}
	return failf(exitNotFound, "No such sync of %s is remembered. To see what there is: coffer sync links", at.repo)
}
