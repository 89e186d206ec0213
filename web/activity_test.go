package web

import (
	"strings"
	"testing"
	"time"
)

// someDays are days of which each has so many reads and writes.
func someDays(counts ...int) (all []ChartDay) {
	for i, n := range counts {
		all = append(all, ChartDay{someDay.Add(time.Duration(i) * 24 * time.Hour), n, n / 2})
	}
	return all
}

var activitySamples = map[string]Page{
	"activity": Activity{
		Frame: Frame{User: "ann"}, Now: someDay, Chart: Chart{Days: someDays(0, 1, 1000), Cut: true},
		Deeds: []Deed{
			{Action: "secrets_pulled", Meta: map[string]any{"secretCount": int64(1), "environment": "production"}, When: someDay, Who: "ann",
				Vault: "acme/api", At: "/vaults/acme/api", Means: "command line", With: "coffer/1", From: "203.0.113.7", Key: true},
			{Action: "never_heard_of", When: someDay, Who: "ann", Vault: "acme/gone", Means: "API"},
		},
		Pager: Pager{From: 26, To: 27, Total: 60, Previous: "/activity", Next: "/activity?offset=50"},
	},
	"no activity": Activity{Frame: Frame{User: "ann"}, Now: someDay, Pager: Pager{Previous: "/activity"}},
	"vault's activity": Activity{
		Frame: matrixFrame, Now: someDay, Chart: Chart{Days: someDays(0, 0)}, Export: "/v1/vaults/acme/api/activity/export",
		Filter: &ActivityFilter{At: "/vaults/acme/api/activity", Action: "secrets_pulled", Environment: "production", Actor: "ann",
			Actions: []string{"secrets_pulled", "x_y"}, Environments: []string{"production"}},
		Deeds: []Deed{{Action: "vault_deleted", When: someDay, Vault: "acme/api"}},
	},
	"nothing like that": Activity{Frame: matrixFrame, Filter: &ActivityFilter{At: "/vaults/acme/api/activity", Actor: "x"}},
}

var activityEvils = map[string]Page{
	"deeds": Activity{
		Deeds: []Deed{
			{Action: evil, Who: evil, Vault: evil, At: "/" + evil, Means: evil, With: evil, From: evil},
			{Action: "secrets_pulled", Meta: map[string]any{"secretCount": evil, "environment": evil}},
			{Action: "secret_permanently_deleted", Meta: map[string]any{"bulk": true, "count": int64(1), "keys": []any{evil}}},
			{Action: "access_denied", Meta: map[string]any{"operation": evil, "reason": []any{map[string]any{evil: evil}}}},
		},
		Filter: &ActivityFilter{At: "/x", Action: evil, Environment: evil, Actor: evil, Actions: []string{evil}, Environments: []string{evil}},
		Pager:  Pager{Previous: "/" + evil, Next: "/" + evil}, Export: "/" + evil,
	},
	"nothing": Activity{Filter: &ActivityFilter{At: "/" + evil}, Pager: Pager{Previous: "/" + evil}},
}

func TestWhatWasDoneIsSaidInWords(t *testing.T) {
	for want, deed := range map[string]Deed{
		"pulled 1 secret of production":                                              {Action: "secrets_pulled", Meta: map[string]any{"secretCount": int64(1), "environment": "production"}},
		"pulled 2 secrets of production, as of 2026":                                 {Action: "secrets_pulled", Meta: map[string]any{"secretCount": uint64(2), "environment": "production", "at": "2026"}},
		"asked for production, and had it already":                                   {Action: "secrets_pulled", Meta: map[string]any{"environment": "production", "notModified": true}},
		"pushed to dev: 1 created, 2 updated, 3 deleted, 4 unchanged":                {Action: "secrets_pushed", Meta: map[string]any{"environment": "dev", "created": 1, "updated": 2, "deleted": 3, "unchanged": 4, "dryRun": false}},
		"tried a push to dev: 1 would be created, 2 updated, 3 deleted":              {Action: "secrets_pushed", Meta: map[string]any{"environment": "dev", "created": 1, "updated": 2, "deleted": 3, "dryRun": true}},
		"emptied the trash of 2 secrets: A_B, C":                                     {Action: "secret_permanently_deleted", Meta: map[string]any{"bulk": true, "count": int64(2), "keys": []any{"A_B", "C"}}},
		"removed A_B of dev for good":                                                {Action: "secret_permanently_deleted", Meta: map[string]any{"key": "A_B", "environment": "dev"}},
		"was refused: secret value, because of too low a role":                       {Action: "access_denied", Meta: map[string]any{"operation": "secret_value", "reason": "role"}},
		"set what bob may do in all environments: read yes, write no":                {Action: "permission_override_created", Meta: map[string]any{"target": "bob", "environment": "*", "canRead": true, "canWrite": false}},
		"saw that the repository is private now":                                     {Action: "vault_visibility_changed", Meta: map[string]any{"isPrivate": true}},
		"saw that the repository is public now":                                      {Action: "vault_visibility_changed", Meta: map[string]any{"isPrivate": false}},
		"renamed OLD of dev to NEW":                                                  {Action: "secret_updated", Meta: map[string]any{"oldKey": "OLD", "key": "NEW", "environment": "dev"}},
		"changed A of {environment}":                                                 {Action: "org_updated", Meta: map[string]any{"changed": "A", "org": "{environment}"}},
		"read the value of something unknown in something unknown":                   {Action: "secret_value_accessed"},
		"connected to vercel":                                                        {Action: "integration_connected", Meta: map[string]any{"provider": "vercel"}},
		"saved a sync of dev with vercel, by itself":                                 {Action: "sync_link_saved", Meta: map[string]any{"provider": "vercel", "environment": "dev", "autoSync": true}},
		"saved a sync of dev with vercel, by hand":                                   {Action: "sync_link_saved", Meta: map[string]any{"provider": "vercel", "environment": "dev", "autoSync": false}},
		"no longer syncs dev with vercel by itself, because it was refused":          {Action: "sync_link_saved", Meta: map[string]any{"provider": "vercel", "environment": "dev", "autoSync": false, "auto": true}},
		"synced dev with vercel (preview), partial: 1 created, 0 updated, 0 deleted": {Action: "secrets_synced", Meta: map[string]any{"provider": "vercel", "environment": "dev", "providerEnvironment": "preview", "status": "partial", "created": 1, "updated": 0, "deleted": 0}},
		"synced dev with vercel (preview) by itself, success: 1 created, 0 updated":  {Action: "secrets_synced", Meta: map[string]any{"provider": "vercel", "environment": "dev", "providerEnvironment": "preview", "status": "success", "created": 1, "updated": 0, "auto": true}},
		"never_heard_of": {Action: "never_heard_of", Meta: map[string]any{"key": "A"}},
		"":               {},
	} {
		if got := deed.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, name := range ActionNames() {
		if strings.Contains(name, " ") || sentences[name] == "" {
			t.Errorf("%q is no action", name)
		}
	}
}

func TestTheChartIsDrawnToOneScale(t *testing.T) {
	c := activitySamples["activity"].(Activity).Chart
	bars := c.Bars()
	for i, want := range [][3]int{{0, 0, 100}, {3, 0, 97}, {100, 50, 0}} {
		if got := [3]int{bars[i].Up, bars[i].Down, bars[i].Top}; got != want || bars[i].X != i*20 {
			t.Errorf("day %d is drawn %+v, want %v", i, bars[i], want)
		}
	}
	text := rendered(t, "", activitySamples["activity"])
	for _, part := range []string{"1001 reads upwards, 500 writes downwards", "too much to count", `role="img" aria-labelledby="chart-is"`,
		"<title>22 November 2026: 1000 reads, 500 writes</title>", `<th scope="row">22 November 2026</th><td>1000</td><td>500</td>`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(text, `<th scope="row">20 November 2026`) {
		t.Error("the table has a day with nothing")
	}
}
