package web

import (
	"strings"
	"time"
)

// Syncs shows what a vault is synced with, and how the last syncs went.
type Syncs struct {
	Frame
	At      string // path of the page, where its forms go
	Links   []SyncLink
	Runs    []SyncRun // newest first
	MayLook bool      // there is an environment to sync
	Problem string    // why a form was not done, or ""
	Of      string    // id of the link that the form was about
	Now     time.Time
}

// SyncLink is a target that is remembered with a vault.
type SyncLink struct {
	ID          string
	Environment string
	Theirs      SyncPlace
	By          string // whoever saved it, or ""
	Auto        bool   // it syncs by itself
	Stopped     bool   // it did, and does so no more
	Status      string // of the last sync: success, partial or error; or ""
	Problem     string // a sentence about it, or ""
	Synced, Ran time.Time
	Next        time.Time // when it is tried again, or zero
	Drift       int       // keys that differ there
	Checked     time.Time // when that was looked at
	Again       string    // path to connect again, or ""
	Preview     string    // path of a preview, "" for whoever cannot sync it
	MaySync     bool
	MaySwitch   bool // turn on and off that it syncs by itself
	MayRemove   bool
}

// SyncPlace is where values are at a provider.
type SyncPlace struct {
	Provider, Project, Service, Environment string
}

// Name is the place in words.
func (p SyncPlace) Name() string {
	name := p.Project
	if p.Service != "" {
		name += ", " + p.Service
	}
	return name + " (" + p.Environment + ") at " + p.Provider
}

// SyncRun is one sync.
type SyncRun struct {
	ID, Path    string
	Environment string
	Theirs      SyncPlace
	Pull, Auto  bool
	By          string // whoever began it, or ""
	Mine        bool   // it can be stopped
	Canceled    bool
	Status      string // running, success, partial or error
	Done, Total int    // of the keys to be changed
	Counts      SyncCounts
	Failed      []SyncFailure
	Began       time.Time
	Ended       time.Time // zero while it runs
}

// SyncCounts says how many keys were what.
type SyncCounts struct{ Created, Updated, Deleted, Skipped int }

// SyncFailure is a key that could not be changed, and what to do about that.
type SyncFailure struct {
	Key, Operation, Means string
	Request               string // the provider's name for the request, or ""
}

// Running reports whether the end of the sync is not known yet.
func (r SyncRun) Running() bool { return r.Status == "running" }

// OneSync shows a sync that runs or has ended.
type OneSync struct {
	Frame
	SyncRun
	At      string // path of the vault's syncs
	Preview string // path of a preview of the same, "" for whoever cannot sync it
	Again   string // path to connect again, where that is what is missing
	Now     time.Time
}

// NewSync asks what is to be synced with what, one choice after the other.
type NewSync struct {
	Frame
	At          string // path of the vault's syncs
	Connections []SyncChoice
	Connection  SyncChoice   // that was chosen
	Projects    []SyncChoice // that it reaches
	Project     SyncChoice   // that was chosen
	ProjectID   string
	ServiceID   string
	Provider    string
	Mine        []string // environments of the vault
	Chosen      string   // the one of them to begin with
	Theirs      []string // environments of the project
	Problem     string   // why there is nothing to choose from, or ""
	Again       string   // path to connect again, where that is what is missing
}

// SyncChoice is one thing to choose.
type SyncChoice struct{ Value, Name string }

// SyncPreview shows what a sync would do, and asks whether it shall.
type SyncPreview struct {
	Frame
	At          string // path of this page, where its form goes; it says what was chosen
	Change      string // path to choose something else
	PlanHash    string // what was planned, for the form
	Planned     bool   // false where Problem says why nothing could be planned
	Problem     string
	Again       string // path to connect again, where that is what is missing
	Environment string
	Theirs      SyncPlace
	Pull        bool
	Changes     []SyncStep
	Skipped     []SyncStep
	Kept        []SyncStep
	Warnings    []string
	References  string // path of a preview with what refers to others at the provider, or ""
	Barred      string // why it may not be done, or ""
}

// SyncStep is what would happen to one key, and why.
type SyncStep struct{ Key, Action, Reason string }

// SyncSteps is a table of steps.
type SyncSteps struct {
	Page    SyncPreview
	Caption string
	Steps   []SyncStep
}

// stepsOf makes the table of some of a page's steps.
func stepsOf(page SyncPreview, caption string, steps []SyncStep) SyncSteps {
	return SyncSteps{page, caption, steps}
}

func (Syncs) file() string       { return "syncs.html" }
func (OneSync) file() string     { return "sync.html" }
func (NewSync) file() string     { return "sync_new.html" }
func (SyncPreview) file() string { return "sync_preview.html" }

// Title is the page's title.
func (s Syncs) Title() string { return "Integrations · " + s.Inside.Name }

// Title is the page's title.
func (s OneSync) Title() string { return "Sync · " + s.Inside.Name }

// Title is the page's title.
func (s NewSync) Title() string { return "New sync · " + s.Inside.Name }

// Title is the page's title.
func (s SyncPreview) Title() string { return "Preview of a sync · " + s.Inside.Name }

// Script shows how far running syncs have come.
func (s Syncs) Script() string {
	for _, r := range s.Runs {
		if r.Running() && r.Mine {
			return "sync.js"
		}
	}
	return s.Frame.Script()
}

// Script shows how far the sync has come.
func (s OneSync) Script() string {
	if s.Running() && s.Mine {
		return "sync.js"
	}
	return s.Frame.Script()
}

// Count is how many keys an action would be done to.
func (s SyncPreview) Count(action string) int {
	n := 0
	for _, step := range s.Changes {
		if step.Action == action {
			n++
		}
	}
	return n
}

// Why is the reason of a step in words.
func (s SyncPreview) Why(step SyncStep) string {
	words := pushReasons
	if s.Pull {
		words = pullReasons
	}
	return strings.ReplaceAll(words[step.Reason], "$provider", s.Theirs.Provider)
}

// pushReasons are the reasons of what is sent to a provider.
var pushReasons = map[string]string{
	"absent_at_target":     "$provider does not have it there.",
	"differs":              "$provider has another value.",
	"unreadable_changed":   "$provider does not show its value. It may be another one, so it is written.",
	"unchanged":            "Both have the same value.",
	"unchanged_unreadable": "Nobody has changed it since the last sync.",
	"unreadable":           "Its value refers to others at $provider.",
	"invalid_key":          "$provider does not take this name.",
	"reserved_key":         "$provider keeps this name for itself.",
	"too_large":            "Its value is longer than $provider allows.",
	"not_owned":            "At $provider something else sets it: the provider itself, an integration, or another place.",
	"absent_at_source":     "The vault does not have it.",
	"delete_not_allowed":   "The vault does not have it, and deleting was not chosen.",
}

// pullReasons are the reasons of what is taken from a provider.
var pullReasons = map[string]string{
	"absent_at_target":   "The vault does not have it.",
	"differs":            "The vault has another value.",
	"unchanged":          "Both have the same value.",
	"unreadable":         "$provider does not show its value, or it refers to others there.",
	"invalid_key":        "coffer does not take this name.",
	"reserved_key":       "$provider keeps this name for itself.",
	"too_large":          "Its value is longer than coffer allows.",
	"not_owned":          "At $provider something else sets it: the provider itself, an integration, or another place.",
	"absent_at_source":   "$provider does not have it there. It goes to the trash.",
	"delete_not_allowed": "$provider does not have it there, and deleting was not chosen.",
}
