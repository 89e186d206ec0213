package api

import "slices"

// PushSecrets asks to make an environment hold exactly these secrets.
type PushSecrets struct {
	RepoFullName string            `json:"repoFullName" need:"true"`
	Environment  string            `json:"environment" need:"true"`
	Secrets      map[string]Secret `json:"secrets" need:"true"`
	Mode         string            `json:"mode"`
}

// The two ways a push treats active keys that it does not name.
const (
	ModeReplace = "replace" // they go to the trash
	ModeMerge   = "merge"   // they stay
)

// Repository is the repository the request is about.
func (r PushSecrets) Repository() string { return r.RepoFullName }

// Check holds every name and value against its rule.
func (r PushSecrets) Check(f *Fields) {
	f.repo("repoFullName", r.RepoFullName)
	f.environment("environment", r.Environment)
	if r.Mode != "" {
		f.oneOf("mode", r.Mode, ModeReplace, ModeMerge)
	}
	if len(r.Secrets) > MaxSecretsPerPush {
		f.Add("secrets", FieldTooLarge, "At most %d secrets in one push; this one has %d.", MaxSecretsPerPush, len(r.Secrets))
		return
	}
	var bad []string
	for key, value := range r.Secrets {
		if !ValidKey(key) || value.Len() > MaxValueLarge {
			bad = append(bad, key)
		}
	}
	slices.Sort(bad)
	for _, key := range bad {
		f.key("secrets."+key, key)
		f.value("secrets."+key, r.Secrets[key])
	}
}

// PushStats counts what a push did, key by key.
type PushStats struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
}

// Pushed answers a push.
type Pushed struct {
	Success  bool      `json:"success"`
	Message  string    `json:"message"`
	Stats    PushStats `json:"stats"`
	Revision uint64    `json:"revision"`
}

// PullSecrets asks for an environment's values.
type PullSecrets struct {
	Repo        string `query:"repo" need:"true"`
	Environment string `query:"environment"`
	Limit       *int   `query:"limit"`
	Offset      *int   `query:"offset"`
	Format      string `query:"format"`
}

// The two forms a pull answers in.
const (
	FormatEnv  = "env"  // one text of KEY=value lines
	FormatJSON = "json" // an object of exact values
)

// DefaultEnvironment is what a pull without an environment asks for.
const DefaultEnvironment = "default"

// Repository is the repository the request is about.
func (r PullSecrets) Repository() string { return r.Repo }

// EnvironmentName is the environment asked for.
func (r PullSecrets) EnvironmentName() string {
	if r.Environment == "" {
		return DefaultEnvironment
	}
	return r.Environment
}

// Check holds names and bounds against their rules.
func (r PullSecrets) Check(f *Fields) {
	f.repo("repo", r.Repo)
	if r.Environment != "" {
		f.environment("environment", r.Environment)
	}
	f.between("limit", r.Limit, 1, MaxSecretsPerPush)
	f.between("offset", r.Offset, 0, 1<<31-1)
	if r.Format != "" {
		f.oneOf("format", r.Format, FormatEnv, FormatJSON)
	}
}

// Pulled answers a pull: Content in the env form, Secrets in the JSON form.
type Pulled struct {
	Content  *Revealed           `json:"content,omitempty"`
	Secrets  map[string]Revealed `json:"secrets,omitzero"`
	Count    int                 `json:"count"`
	Total    int                 `json:"total"`
	Revision uint64              `json:"revision"`
}
