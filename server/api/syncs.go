package api

// Directions of a sync: to the provider, and from it.
const (
	SyncPush = "push"
	SyncPull = "pull"
)

// SyncTarget says what is synced with what. It is part of every request about a
// sync.
type SyncTarget struct {
	Ref
	ConnectionID        string
	ProjectID           string
	ServiceID           string
	Environment         string // of ours; "" means production
	ProviderEnvironment string // "" means the default of ours
	Direction           string // "" means push
	AllowDelete         bool
	AllowReferences     bool // values that refer to others at the provider are pushed, too

	EnvironmentField string // what the request calls Environment; "" means keywayEnvironment
}

// EnvironmentName is our environment, or its default.
func (t SyncTarget) EnvironmentName() string {
	if t.Environment == "" {
		return DefaultSyncEnvironment
	}
	return t.Environment
}

// DefaultSyncEnvironment is synced when nobody names one.
const DefaultSyncEnvironment = "production"

// Pull reports whether values flow from the provider to us.
func (t SyncTarget) Pull() bool { return t.Direction == SyncPull }

func (t SyncTarget) check(f *Fields) {
	t.Ref.Check(f)
	if t.ProjectID == "" && !f.Has("projectId") {
		f.Add("projectId", TooShort, "Name a project as the list of projects does.")
	}
	f.providerID("projectId", t.ProjectID)
	f.providerID("serviceId", t.ServiceID)
	if len(t.ProviderEnvironment) > maxProviderID {
		f.Add("providerEnvironment", TooLong, "At most %d characters.", maxProviderID)
	}
	if t.Direction != "" {
		f.oneOf("direction", t.Direction, SyncPush, SyncPull)
	}
}

// SyncQuery asks what a sync would do.
type SyncQuery struct {
	Ref
	ConnectionID        string `query:"connectionId" need:"true"`
	ProjectID           string `query:"projectId" need:"true"`
	ServiceID           string `query:"serviceId"`
	KeywayEnvironment   string `query:"keywayEnvironment"`
	Environment         string `query:"environment"` // what the status calls ours
	ProviderEnvironment string `query:"providerEnvironment"`
	Direction           string `query:"direction"`
	AllowDelete         bool   `query:"allowDelete"`
	AllowReferences     bool   `query:"allowReferences"`
}

// Target is what it asks about.
func (r SyncQuery) Target() SyncTarget {
	t := SyncTarget{
		Ref: r.Ref, ConnectionID: r.ConnectionID, ProjectID: r.ProjectID, ServiceID: r.ServiceID,
		Environment: r.KeywayEnvironment, ProviderEnvironment: r.ProviderEnvironment,
		Direction: r.Direction, AllowDelete: r.AllowDelete, AllowReferences: r.AllowReferences,
	}
	if t.Environment == "" && r.Environment != "" {
		t.Environment, t.EnvironmentField = r.Environment, "environment"
	}
	return t
}

// Check holds every parameter against its rule.
func (r SyncQuery) Check(f *Fields) { r.Target().check(f) }

// StartSync asks for a sync. With a PlanHash it is refused when it would do
// something else than the preview said.
type StartSync struct {
	Ref
	ConnectionID        string `json:"connectionId" need:"true"`
	ProjectID           string `json:"projectId" need:"true"`
	ServiceID           string `json:"serviceId"`
	KeywayEnvironment   string `json:"keywayEnvironment"`
	ProviderEnvironment string `json:"providerEnvironment"`
	Direction           string `json:"direction"`
	AllowDelete         bool   `json:"allowDelete"`
	AllowReferences     bool   `json:"allowReferences"`
	PlanHash            string `json:"planHash"`
	Async               bool   `json:"async"` // answer at once with the run, which the caller follows
}

// Target is what it asks for.
func (r StartSync) Target() SyncTarget {
	return SyncTarget{
		Ref: r.Ref, ConnectionID: r.ConnectionID, ProjectID: r.ProjectID, ServiceID: r.ServiceID,
		Environment: r.KeywayEnvironment, ProviderEnvironment: r.ProviderEnvironment,
		Direction: r.Direction, AllowDelete: r.AllowDelete, AllowReferences: r.AllowReferences,
	}
}

// Check holds every field against its rule.
func (r StartSync) Check(f *Fields) { r.Target().check(f) }

// SyncPreview is what a sync would do: names of keys, never values.
type SyncPreview struct {
	ToCreate            []string              `json:"toCreate"`
	ToUpdate            []string              `json:"toUpdate"`
	ToDelete            []string              `json:"toDelete"`
	ToSkip              []string              `json:"toSkip"`
	Details             map[string]SyncDetail `json:"details"`
	Warnings            []SyncWarning         `json:"warnings"`
	PlanHash            string                `json:"planHash"`
	Direction           string                `json:"direction"`
	KeywayEnvironment   string                `json:"keywayEnvironment"`
	ProviderEnvironment string                `json:"providerEnvironment"`
}

// SyncDetail is what happens to one key, and why.
type SyncDetail struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// SyncWarning is what whoever previews a sync should know besides.
type SyncWarning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// How a sync stands.
const (
	SyncRunning = "running"
	SyncSuccess = "success"
	SyncPartial = "partial"
	SyncFailed  = "error"
)

// SyncResult is what a sync did.
type SyncResult struct {
	Success bool          `json:"success"`
	Status  string        `json:"status"`
	Stats   SyncStats     `json:"stats"`
	Created int           `json:"created"`
	Updated int           `json:"updated"`
	Deleted int           `json:"deleted"`
	Skipped int           `json:"skipped"`
	Failed  []SyncFailure `json:"failed"`
	Error   string        `json:"error,omitempty"`
	JobID   string        `json:"jobId,omitempty"`
}

// SyncStats counts the same. Total includes what failed.
type SyncStats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Total   int `json:"total"`
}

// SyncFailure is one variable that could not be written or deleted.
type SyncFailure struct {
	Key       string `json:"key"`
	Operation string `json:"operation"` // create, update or delete
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	RequestID string `json:"requestId,omitempty"` // the provider's name for the request
}

// StillRunning reports whether the result is not known yet, and where to look for
// it then.
func (r SyncResult) StillRunning() (bool, string) {
	return r.Status == SyncRunning, "/v1/integrations/jobs/" + r.JobID
}

// SyncJobRef names a run of a sync in a path.
type SyncJobRef struct {
	ID string `path:"id" id:"true"`
}

// Check finds nothing wrong: a run that cannot be is not found.
func (SyncJobRef) Check(*Fields) {}

// SyncJob is a run of a sync that may have outlived its request.
type SyncJob struct {
	JobID      string        `json:"jobId"`
	Status     string        `json:"status"`
	Result     *SyncResult   `json:"result"` // nil while it runs
	Progress   *SyncProgress `json:"progress,omitempty"`
	CreatedAt  Time          `json:"createdAt"`
	FinishedAt *Time         `json:"finishedAt"`
}

// SyncProgress is how far a run has come.
type SyncProgress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// SyncStatus tells somebody who is about to sync for the first time what is where.
type SyncStatus struct {
	IsFirstSync         bool `json:"isFirstSync"`
	VaultIsEmpty        bool `json:"vaultIsEmpty"`
	ProviderHasSecrets  bool `json:"providerHasSecrets"`
	ProviderSecretCount int  `json:"providerSecretCount"`
}

// SyncDiff compares what both sides hold, by name.
type SyncDiff struct {
	KeywayCount    int      `json:"keywayCount"`
	ProviderCount  int      `json:"providerCount"`
	OnlyInKeyway   []string `json:"onlyInKeyway"`
	OnlyInProvider []string `json:"onlyInProvider"`
	Different      []string `json:"different"`
	Same           []string `json:"same"`
	Unreadable     []string `json:"unreadable"`
}

// SaveLink asks to remember a target with the vault and, with AutoSync, to push to
// it after every change.
type SaveLink struct {
	Ref
	ConnectionID        string `json:"connectionId" need:"true"`
	ProjectID           string `json:"projectId" need:"true"`
	ServiceID           string `json:"serviceId"`
	KeywayEnvironment   string `json:"keywayEnvironment"`
	ProviderEnvironment string `json:"providerEnvironment"`
	AutoSync            bool   `json:"autoSync"`
	AllowReferences     bool   `json:"allowReferences"`
}

// Target is what is to be remembered.
func (r SaveLink) Target() SyncTarget {
	return SyncTarget{
		Ref: r.Ref, ConnectionID: r.ConnectionID, ProjectID: r.ProjectID, ServiceID: r.ServiceID,
		Environment: r.KeywayEnvironment, ProviderEnvironment: r.ProviderEnvironment, AllowReferences: r.AllowReferences,
	}
}

// Check holds every field against its rule.
func (r SaveLink) Check(f *Fields) { r.Target().check(f) }

// VaultSync is a target that a vault is linked with.
type VaultSync struct {
	ID                  string  `json:"id"`
	Provider            string  `json:"provider"`
	ConnectionID        string  `json:"connectionId"`
	ProjectID           string  `json:"projectId"`
	ProjectName         string  `json:"projectName"`
	ServiceID           *string `json:"serviceId"`
	KeywayEnvironment   string  `json:"keywayEnvironment"`
	ProviderEnvironment string  `json:"providerEnvironment"`
	AutoSync            bool    `json:"autoSync"`
	LastSyncedAt        *Time   `json:"lastSyncedAt"`

	// Beyond the contract: how the last automatic run went.
	LastStatus string `json:"lastStatus,omitempty"` // success, partial, error or disabled
	LastError  string `json:"lastError,omitempty"`  // a sentence
	LastRunAt  *Time  `json:"lastRunAt,omitempty"`  // when it ended
	NextRunAt  *Time  `json:"nextRunAt,omitempty"`  // when it is tried again
	DriftKeys  int    `json:"driftKeys,omitempty"`  // keys that differ at the provider
	CheckedAt  *Time  `json:"checkedAt,omitempty"`  // when that was looked at
}

// SavedLink answers the saving of a link.
type SavedLink struct {
	Link LinkDetail `json:"link"`
}

// LinkDetail is a saved link.
type LinkDetail struct {
	VaultSync
	VaultID string `json:"vaultId"`
	IsNew   bool   `json:"isNew"`
}

// LinkRef names a saved link in a path.
type LinkRef struct {
	Ref
	LinkID string `path:"id" id:"true"`
}

// Check holds the repository's name against its rule. A link that cannot be is
// not found.
func (r LinkRef) Check(f *Fields) { r.Ref.Check(f) }
