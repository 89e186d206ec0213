package api

// Person is a user as other users see them.
type Person struct {
	ID        string  `json:"id"`
	Username  string  `json:"username"`
	AvatarURL *string `json:"avatarUrl"`
}

// SecretMeta is a secret without its value.
type SecretMeta struct {
	ID             string  `json:"id"`
	Key            string  `json:"key"`
	Environment    string  `json:"environment"`
	CreatedAt      Time    `json:"createdAt"`
	UpdatedAt      Time    `json:"updatedAt"`
	LastModifiedBy *Person `json:"lastModifiedBy"`
}

// ListSecrets asks for a page of a vault's secrets, of one environment or all.
type ListSecrets struct {
	PageRef
	Environment string `query:"environment"`
}

// SetSecret asks to create a secret, or to give an existing key a value.
type SetSecret struct {
	Ref
	Key         string `json:"key" need:"true"`
	Value       Secret `json:"value" need:"true"`
	Environment string `json:"environment" need:"true"`
}

// Check holds key, value and environment against their rules.
func (r SetSecret) Check(f *Fields) {
	r.Ref.Check(f)
	f.key("key", r.Key)
	f.value("value", r.Value)
	f.environment("environment", r.Environment)
}

// value holds a value against the largest any plan allows; what this vault's
// plan allows is the warden's to say.
func (f *Fields) value(field string, v Secret) {
	if v.Len() > MaxValueLarge {
		f.Add(field, FieldTooLarge, "At most %d bytes.", MaxValueLarge)
	}
}

// SavedSecret answers a SetSecret.
type SavedSecret struct {
	ID          string `json:"id"`
	Key         string `json:"key"`
	Environment string `json:"environment"`
	CreatedAt   Time   `json:"createdAt"`
	UpdatedAt   Time   `json:"updatedAt"`
	Status      string `json:"status"`
}

// Created reports whether the key was new.
func (s SavedSecret) Created() (bool, string) { return s.Status == "created", "" }

// SecretRef names a secret in a path.
type SecretRef struct {
	Ref
	SecretID string `path:"secretId" id:"true"`
}

// PatchSecret asks for another name, another value, or both. Key is another
// word for Name.
type PatchSecret struct {
	SecretRef
	Name  *string `json:"name"`
	Key   *string `json:"key"`
	Value *Secret `json:"value"`
}

// Check wants something to change, and holds it against its rules.
func (r PatchSecret) Check(f *Fields) {
	r.Ref.Check(f)
	if f.Has("name") || f.Has("key") || f.Has("value") {
		return
	}
	switch {
	case r.Name != nil:
		f.key("name", *r.Name)
	case r.Key != nil:
		f.key("key", *r.Key)
	case r.Value == nil:
		f.Add("name", Required, "Give a new name, a new value or both.")
	}
	if r.Value != nil {
		f.value("value", *r.Value)
	}
}

// Contradiction reports two different new names in one request.
func (r PatchSecret) Contradiction() string {
	if r.Name != nil && r.Key != nil && *r.Name != *r.Key {
		return "name and key are two words for the same thing; send one of them."
	}
	return ""
}

// NewName is the name asked for, or "".
func (r PatchSecret) NewName() string {
	switch {
	case r.Name != nil:
		return *r.Name
	case r.Key != nil:
		return *r.Key
	default:
		return ""
	}
}

// Value is one revealed value.
type Value struct {
	Value   Revealed `json:"value"`
	Preview Revealed `json:"preview"`
}

// ViewSecret asks for one value by its name.
type ViewSecret struct {
	Repo        string `query:"repo" need:"true"`
	Environment string `query:"environment" need:"true"`
	Key         string `query:"key" need:"true"`
}

// Repository is the repository the request is about.
func (r ViewSecret) Repository() string { return r.Repo }

// Check holds the names against their rules.
func (r ViewSecret) Check(f *Fields) {
	f.repo("repo", r.Repo)
	f.environment("environment", r.Environment)
	f.key("key", r.Key)
}

// ViewedSecret is one revealed value with its name.
type ViewedSecret struct {
	Key         string   `json:"key"`
	Value       Revealed `json:"value"`
	Environment string   `json:"environment"`
	Preview     Revealed `json:"preview"`
}

// VersionRef names one version of a secret in a path.
type VersionRef struct {
	SecretRef
	VersionID string `path:"versionId" id:"true"`
}

// Version is one stored value of a secret, without the value.
type Version struct {
	ID            string       `json:"id"`
	VersionNumber uint32       `json:"versionNumber"`
	CreatedAt     Time         `json:"createdAt"`
	CreatedBy     *string      `json:"createdBy"`
	CreatedByUser *VersionUser `json:"createdByUser"`
}

// VersionUser is who stored a version.
type VersionUser struct {
	Username  string  `json:"username"`
	AvatarURL *string `json:"avatarUrl"`
}

// VersionValue is the revealed value of one version.
type VersionValue struct {
	Value
	VersionNumber uint32 `json:"versionNumber"`
}

// RestoredVersion answers the restoring of a version: its value became a new one.
type RestoredVersion struct {
	Message          string `json:"message"`
	Key              string `json:"key"`
	VersionNumber    uint32 `json:"versionNumber"`
	NewVersionNumber uint32 `json:"newVersionNumber"`
}
