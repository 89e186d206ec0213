package api

// Ref names a repository, and with it its vault, in a path.
type Ref struct {
	Owner string `path:"owner"`
	Repo  string `path:"repo"`
}

// Repository is "owner/repo".
func (r Ref) Repository() string { return r.Owner + "/" + r.Repo }

// Check holds both halves against [RepoRule]. A malformed path names nothing,
// so httpd answers it like an absent repository.
func (r Ref) Check(f *Fields) { f.repo("repo", r.Repository()) }

// PageRef asks for a page of something inside a vault.
type PageRef struct {
	Ref
	Page
}

// Check holds the page against its bounds.
func (r PageRef) Check(f *Fields) {
	r.Ref.Check(f)
	r.Page.check(f, MaxPage)
}

// ListVaults asks for a page of the caller's vaults.
type ListVaults struct{ Page }

// Check holds the page against its bounds.
func (r ListVaults) Check(f *Fields) { r.Page.check(f, MaxPage) }

// CreateVault asks for a vault for a repository.
type CreateVault struct {
	RepoFullName string `json:"repoFullName" need:"true"`
}

// Repository is the repository the request is about.
func (r CreateVault) Repository() string { return r.RepoFullName }

// Check holds the name against [RepoRule].
func (r CreateVault) Check(f *Fields) { f.repo("repoFullName", r.RepoFullName) }

// Vault is a vault as its callers see it. Counts and lists hold only what the
// caller may read.
type Vault struct {
	ID                 string              `json:"id"`
	RepoFullName       string              `json:"repoFullName"`
	RepoOwner          string              `json:"repoOwner"`
	RepoName           string              `json:"repoName"`
	RepoAvatar         *string             `json:"repoAvatar"`
	IsPrivate          bool                `json:"isPrivate"`
	Permission         *string             `json:"permission"`
	SecretCount        int                 `json:"secretCount"`
	Environments       []string            `json:"environments"`
	EnvironmentDetails []EnvironmentDetail `json:"environmentDetails"`
	IsReadOnly         bool                `json:"isReadOnly"`
	ReadonlyReason     *string             `json:"readonlyReason"`
	Warning            *string             `json:"warning"`
	Syncs              []VaultSync         `json:"syncs"`
	CreatedAt          Time                `json:"createdAt"`
	UpdatedAt          Time                `json:"updatedAt"`
}

// CreatedVault answers the making of a vault.
type CreatedVault struct {
	Vault
	VaultID string `json:"vaultId"`
	Message string `json:"message"`
}

// Created says where the new vault is found.
func (v CreatedVault) Created() (bool, string) { return true, "/v1/vaults/" + v.RepoFullName }

// Collaborators lists who may reach a repository.
type Collaborators struct {
	RepoFullName  string         `json:"repoFullName"`
	Provider      string         `json:"provider"`
	Collaborators []Collaborator `json:"collaborators"`
}

// Collaborator is one account with a role on a repository. GithubPermission
// holds the role at whatever code host the instance is bound to.
type Collaborator struct {
	Login             string            `json:"login"`
	AvatarURL         *string           `json:"avatarUrl"`
	HTMLURL           *string           `json:"htmlUrl"`
	GithubPermission  string            `json:"githubPermission"`
	KeywayPermissions KeywayPermissions `json:"keywayPermissions"`
	Type              string            `json:"type"`
}

// KeywayPermissions sums a role up for clients that show three ticks.
type KeywayPermissions struct {
	CanRead   bool `json:"canRead"`
	CanWrite  bool `json:"canWrite"`
	CanManage bool `json:"canManage"`
}
