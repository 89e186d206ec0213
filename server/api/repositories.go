package api

// RepositoryIDs asks for the code host's numbers of a repository.
type RepositoryIDs struct {
	Repo string `query:"repo" need:"true"`
}

// Check holds the name against [RepoRule].
func (r RepositoryIDs) Check(f *Fields) { f.repo("repo", r.Repo) }

// FoundRepositoryIDs are the numbers of a repository and its owner, null for
// whoever has no role there.
type FoundRepositoryIDs struct {
	OwnerID *int64 `json:"ownerId"`
	RepoID  *int64 `json:"repoId"`
}

// CheckInstallation asks whether the server reaches a repository.
type CheckInstallation struct {
	RepoOwner string `json:"repoOwner" need:"true"`
	RepoName  string `json:"repoName" need:"true"`
}

// Check holds both halves against [RepoRule].
func (r CheckInstallation) Check(f *Fields) {
	if !ValidOwner(r.RepoOwner) {
		f.Add("repoOwner", InvalidFormat, RepoRule)
	}
	if !ValidRepo(r.RepoName) {
		f.Add("repoName", InvalidFormat, RepoRule)
	}
}

// Installation says whether the server reaches a repository, and where it is
// opened to it.
type Installation struct {
	Installed      bool    `json:"installed"`
	InstallationID *int64  `json:"installationId,omitempty"`
	InstallURL     *string `json:"installUrl"`
}
