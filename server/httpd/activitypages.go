package httpd

import (
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// activityPages show what was done.
func activityPages() []route {
	return []route{
		{method: get, path: "/activity", bucket: inGeneral, run: signedIn(ownActivity)},
		{method: get, path: vaultPath + "/activity", bucket: inGeneral, run: inVault(vaultActivity)},
	}
}

func ownActivity(x *exchange) (web.Page, error) {
	req, err := asked[api.ListActivity](x)
	if err != nil {
		return nil, err
	}
	list, err := x.Warden.Activity(x.ctx, x.who, *req)
	if err != nil {
		return nil, err
	}
	days, err := x.Warden.ActivityDays(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	return x.activity(list, days), nil
}

func vaultActivity(x *exchange, v *api.Vault) (web.Page, error) {
	req, err := asked[api.ListVaultActivity](x)
	if err != nil {
		return nil, err
	}
	list, err := x.Warden.VaultActivity(x.ctx, x.who, *req)
	if err != nil {
		return nil, err
	}
	days, err := x.Warden.VaultActivityDays(x.ctx, x.who, req.Ref)
	if err != nil {
		return nil, err
	}
	p := x.activity(list, days)
	at := p.Inside.At + "/activity"
	p.Filter = &web.ActivityFilter{
		At: at, Action: req.Action, Environment: req.Environment, Actor: req.Actor,
		Actions: actionsInVaults(), Environments: v.Environments,
	}
	if req.Action != "" && !slices.Contains(p.Filter.Actions, req.Action) {
		p.Filter.Actions = append(p.Filter.Actions, req.Action)
	}
	p.Export = "/v1/vaults/" + url.PathEscape(v.RepoOwner) + "/" + url.PathEscape(v.RepoName) + "/activity/export"
	return p, nil
}

// activity is a page of either list.
func (x *exchange) activity(list *api.List[api.Activity], days *warden.ActivityDays) web.Activity {
	p := web.Activity{Frame: x.frame(), Now: x.Now(), Pager: x.pager(list.Limit, list.Offset, len(list.Items), list.Total)}
	p.Chart.Cut = days.Cut
	for _, d := range days.Days {
		p.Chart.Days = append(p.Chart.Days, web.ChartDay(d))
	}
	for _, a := range list.Items {
		p.Deeds = append(p.Deeds, shownDeed(a))
	}
	return p
}

// platforms are what people call the kinds of programs.
var platforms = map[string]string{"cli": "command line", "mcp": "MCP server", "web": "browser", "api": "API"}

// aboutKeys are the actions whose records name the key that they are about, and
// not one that acted.
var aboutKeys = map[string]bool{"api_key_created": true, "api_key_revoked": true}

func shownDeed(a api.Activity) web.Deed {
	d := web.Deed{
		Action: a.Action, Meta: a.Metadata, When: a.Timestamp.Time, Means: platforms[a.Platform],
		Vault: textOrNone(a.RepoFullName), With: textOrNone(a.UserAgent), From: textOrNone(a.IP),
		Key: a.Metadata["apiKeyId"] != nil && !aboutKeys[a.Action],
	}
	if a.Actor != nil {
		d.Who = a.Actor.Username
	}
	if owner, repo, ok := api.SplitRepo(d.Vault); ok && a.VaultID != nil {
		d.At = pathOf(owner, repo)
	}
	return d
}

func textOrNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// actionsInVaults are what may have happened in a vault, to choose from. Plans and
// trials are its account's.
func actionsInVaults() []string {
	return slices.DeleteFunc(web.ActionNames(), func(name string) bool {
		return strings.HasPrefix(name, "plan_") || strings.HasPrefix(name, "org_trial_")
	})
}
