package web

import (
	"strings"
	"testing"
)

var (
	sitePlace = SyncPlace{Provider: "Vercel", Project: "site", Environment: "production"}
	evilPlace = SyncPlace{Provider: evil, Project: evil, Service: evil, Environment: evil}

	runningSync = SyncRun{ID: "r1", Path: "/vaults/acme/api/syncs/runs/r1", Environment: "production", Theirs: sitePlace, Mine: true, By: "ann", Status: "running", Done: 1, Total: 3, Began: someDay}
	partialSync = SyncRun{
		ID: "r2", Path: "/vaults/acme/api/syncs/runs/r2", Environment: "production", Theirs: sitePlace, By: "ann", Auto: true, Status: "partial", Canceled: true,
		Counts: SyncCounts{Created: 1}, Failed: []SyncFailure{{"A", "create", "Too long. Shorten it.", "req-1"}, {"B", "delete", "Not tried.", ""}}, Began: someDay, Ended: someDay,
	}
	doneSync   = SyncRun{ID: "r3", Path: "/x", Environment: "production", Theirs: sitePlace, Pull: true, Status: "success", Began: someDay, Ended: someDay}
	failedSync = SyncRun{ID: "r4", Path: "/x", Environment: "production", Theirs: sitePlace, Status: "error", Began: someDay, Ended: someDay}
	evilRun    = SyncRun{
		ID: evil, Path: "/" + evil, Environment: evil, Theirs: evilPlace, By: evil, Status: evil, Mine: true,
		Failed: []SyncFailure{{evil, evil, evil, evil}},
	}
)

var syncsSamples = map[string]Page{
	"syncs": Syncs{
		Frame: matrixFrame, At: "/vaults/acme/api/syncs", Now: someDay, MayLook: true, Problem: "Vercel did not answer.", Of: "l2",
		Links: []SyncLink{
			{ID: "l1", Environment: "production", Theirs: sitePlace, By: "ann", Auto: true, Status: "success", Synced: someDay, Ran: someDay, Drift: 2, Checked: someDay, Preview: "/x", MaySync: true, MaySwitch: true, MayRemove: true},
			{ID: "l2", Environment: "staging", Theirs: SyncPlace{"Railway", "site", "web", "staging"}, Stopped: true, Status: "partial", Problem: "1 of 3.", Synced: someDay, Ran: someDay, Next: someDay, Again: "/connections/new?provider=railway", MayRemove: true},
			{ID: "l3", Environment: "staging", Theirs: sitePlace, Status: "error", Ran: someDay, Drift: 1},
			{ID: "l4", Environment: "staging", Theirs: sitePlace},
		},
		Runs: []SyncRun{runningSync, partialSync, doneSync, failedSync},
	},
	"no syncs":                     Syncs{Frame: matrixFrame, At: "/vaults/acme/api/syncs", Problem: "No."},
	"a sync that runs":             OneSync{Frame: matrixFrame, SyncRun: runningSync, At: "/vaults/acme/api/syncs", Now: someDay},
	"another's sync":               OneSync{Frame: matrixFrame, SyncRun: SyncRun{ID: "r5", Path: "/x", Status: "running", Theirs: sitePlace}, At: "/x"},
	"a sync in part":               OneSync{Frame: matrixFrame, SyncRun: partialSync, At: "/x", Now: someDay, Preview: "/x/preview", Again: "/connections/new"},
	"a sync that is done":          OneSync{Frame: matrixFrame, SyncRun: doneSync, At: "/x", Now: someDay},
	"a sync that failed":           OneSync{Frame: matrixFrame, SyncRun: failedSync, At: "/x", Now: someDay},
	"new sync":                     NewSync{Frame: matrixFrame, At: "/x", Connections: []SyncChoice{{"c1", "Vercel: Acme"}}},
	"new sync without connections": NewSync{Frame: matrixFrame, At: "/x"},
	"new sync with a connection": NewSync{
		Frame: matrixFrame, At: "/x", Connections: []SyncChoice{{"c1", "Vercel: Acme"}}, Connection: SyncChoice{"c1", "Vercel: Acme"}, Provider: "Vercel",
		Projects: []SyncChoice{{"p1 s1", "site, web"}},
	},
	"new sync with nothing there": NewSync{Frame: matrixFrame, At: "/x", Connection: SyncChoice{"c1", "Vercel: Acme"}, Provider: "Vercel"},
	"new sync with somebody down": NewSync{Frame: matrixFrame, At: "/x", Connection: SyncChoice{"c1", "Vercel: Acme"}, Problem: "Vercel did not answer.", Again: "/connections/new"},
	"new sync with a project": NewSync{
		Frame: matrixFrame, At: "/x", Connection: SyncChoice{"c1", "Vercel: Acme"}, Project: SyncChoice{"p1 s1", "site, web"}, ProjectID: "p1", ServiceID: "s1", Provider: "Vercel",
		Mine: []string{"production", "staging"}, Chosen: "production", Theirs: []string{"production", "preview"},
	},
	"preview":           previewOf(false, "", nil),
	"preview of a pull": previewOf(true, "Something has changed since the preview.", nil),
	"preview barred":    SyncPreview{Frame: matrixFrame, At: "/x", Change: "/x", Planned: true, Theirs: sitePlace, Environment: "production", Barred: "Only an admin may."},
	"no preview":        SyncPreview{Frame: matrixFrame, At: "/x", Change: "/x", Problem: "Vercel did not answer.", Again: "/connections"},
}

func previewOf(pull bool, problem string, changes []SyncStep) SyncPreview {
	if changes == nil {
		changes = []SyncStep{{"A", "create", "absent_at_target"}, {"B", "update", "differs"}, {"C", "delete", "absent_at_source"}}
	}
	return SyncPreview{
		Frame: matrixFrame, At: "/vaults/acme/api/syncs/preview?connectionId=c1", Change: "/vaults/acme/api/syncs/new?connectionId=c1", Planned: true, Problem: problem, Pull: pull,
		Environment: "production", Theirs: sitePlace, PlanHash: "0123", Changes: changes,
		Skipped: []SyncStep{{"D", "skip", "unchanged"}}, Kept: []SyncStep{{"E", "keep", "not_owned"}},
		Warnings: []string{"Takes effect with the next deployment."}, References: "/x",
	}
}

var syncsEvils = map[string]Page{
	"syncs": Syncs{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, At: "/" + evil, MayLook: true, Problem: evil, Of: evil,
		Links: []SyncLink{{ID: evil, Environment: evil, Theirs: evilPlace, By: evil, Status: evil, Problem: evil, Again: "/" + evil, Preview: "/" + evil, MaySync: true, MaySwitch: true, MayRemove: true}},
		Runs:  []SyncRun{evilRun},
	},
	"one sync":                   OneSync{Frame: matrixFrame, SyncRun: evilRun, At: "/" + evil, Preview: "/" + evil, Again: "/" + evil},
	"a sync that runs":           OneSync{Frame: matrixFrame, SyncRun: SyncRun{ID: evil, Status: "running", Theirs: evilPlace}, At: "/" + evil},
	"new sync":                   NewSync{Frame: matrixFrame, At: "/" + evil, Connections: []SyncChoice{{evil, evil}}, Problem: evil, Again: "/" + evil},
	"new sync with a connection": NewSync{Frame: matrixFrame, At: "/" + evil, Connection: SyncChoice{evil, evil}, Projects: []SyncChoice{{evil, evil}}, Provider: evil},
	"new sync with a project": NewSync{
		Frame: matrixFrame, At: "/" + evil, Connection: SyncChoice{evil, evil}, Project: SyncChoice{evil, evil}, ProjectID: evil, ServiceID: evil, Provider: evil,
		Mine: []string{evil}, Theirs: []string{evil},
	},
	"preview": SyncPreview{
		Frame: matrixFrame, At: "/" + evil, Change: "/" + evil, Planned: true, Problem: evil, Again: "/" + evil, Environment: evil, Theirs: evilPlace,
		PlanHash: evil, Changes: []SyncStep{{evil, evil, "differs"}}, Warnings: []string{evil}, References: "/" + evil,
	},
	"preview barred": SyncPreview{Frame: matrixFrame, Planned: true, Theirs: evilPlace, Barred: evil},
}

// TestEveryReasonHasWords, for the direction in which it is there.
func TestEveryReasonHasWords(t *testing.T) {
	onlyPush := []string{"unreadable_changed", "unchanged_unreadable"}
	for _, reason := range append([]string{
		"absent_at_target", "differs", "unchanged", "unreadable", "invalid_key", "reserved_key", "too_large", "not_owned", "absent_at_source", "delete_not_allowed",
	}, onlyPush...) {
		for _, pull := range []bool{false, true} {
			text := SyncPreview{Pull: pull, Theirs: sitePlace}.Why(SyncStep{Reason: reason})
			if mayLack := pull && strings.Contains(strings.Join(onlyPush, " "), reason); !mayLack && (!strings.HasSuffix(text, ".") || strings.Contains(text, "$")) {
				t.Errorf("%s, pull %t: %q", reason, pull, text)
			}
		}
	}
}

// TestOnlyOnesOwnSyncsAreWatched: what others began does not tell us how far it is.
func TestOnlyOnesOwnSyncsAreWatched(t *testing.T) {
	for name, want := range map[string]string{"syncs": "sync.js", "no syncs": "busy.js", "a sync that runs": "sync.js", "another's sync": "busy.js", "a sync in part": "busy.js"} {
		if got := syncsSamples[name].Script(); got != want {
			t.Errorf("%s has the module %q", name, got)
		}
	}
}
