package api

import "unicode/utf8"

// CheckUsername holds the name of a local user or organization against the
// rule of repository owners, since it becomes one.
func CheckUsername(f *Fields, field, name string) {
	if !ValidOwner(name) {
		f.Add(field, InvalidFormat, "1 to 39 letters, digits, '.', '_' and '-'.")
	}
}

const (
	maxTTL      = 10 * 366 * 24 * 60 * 60 // seconds
	minPassword = 8
	maxPassword = 1024
)

// CheckPassword holds a local password against its bounds.
func CheckPassword(f *Fields, field string, password Secret) {
	switch n := utf8.RuneCountInString(password.Reveal()); {
	case n < minPassword:
		f.Add(field, TooShort, "At least %d characters.", minPassword)
	case n > maxPassword:
		f.Add(field, TooLong, "At most %d characters.", maxPassword)
	}
}

// AddLocalUser asks for a user of the built-in forge.
type AddLocalUser struct {
	Username string `json:"username" need:"true"`
	Password Secret `json:"password" need:"true"`
	Operator bool   `json:"operator"`
}

// Check holds name and password against their rules.
func (r AddLocalUser) Check(f *Fields) {
	CheckUsername(f, "username", r.Username)
	CheckPassword(f, "password", r.Password)
}

// LocalUser is a user of the built-in forge.
type LocalUser struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	Operator bool   `json:"operator"`
	Disabled bool   `json:"disabled"`
}

// AddedLocalUser answers the making of a user.
type AddedLocalUser struct{ LocalUser }

// Created says that something new was made.
func (AddedLocalUser) Created() (bool, string) { return true, "" }

// DisableLocalUser asks to let a user in no more, or in again.
type DisableLocalUser struct {
	Username string `json:"username" need:"true"`
	Disabled bool   `json:"disabled" need:"true"`
}

// Check finds nothing wrong: a user who cannot be is not known.
func (DisableLocalUser) Check(*Fields) {}

// SetLocalPassword gives a user of the built-in forge another password.
type SetLocalPassword struct {
	Username string `json:"username" need:"true"`
	Password Secret `json:"password" need:"true"`
}

// Check holds the password against its rules.
func (r SetLocalPassword) Check(f *Fields) { CheckPassword(f, "password", r.Password) }

// ListLocal asks for a page of what the built-in code host has of something.
type ListLocal struct{ Page }

// Check holds the page against its bounds.
func (r ListLocal) Check(f *Fields) { r.Page.check(f, MaxPage) }

// Grantee is somebody with a role: in an organization, or on a repository.
type Grantee struct {
	Username string `json:"username"`
	Role     string `json:"role"`
}

// LocalOrgMembers is an organization of the built-in code host with who is in it.
type LocalOrgMembers struct {
	LocalOrg
	Members []Grantee `json:"members"`
}

// LocalRepoGrants is a repository of the built-in code host with who was given a
// role on it. Its owner has one besides.
type LocalRepoGrants struct {
	LocalRepo
	Grants []Grantee `json:"grants"`
}

// AddLocalOrg asks for an organization of the built-in forge.
type AddLocalOrg struct {
	Name string `json:"name" need:"true"`
}

// Check holds the name against its rule.
func (r AddLocalOrg) Check(f *Fields) { CheckUsername(f, "name", r.Name) }

// LocalOrg is an organization of the built-in forge.
type LocalOrg struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Created says that something new was made.
func (LocalOrg) Created() (bool, string) { return true, "" }

// SetLocalMember asks to give a user a role in an organization; "none" takes them
// out of it.
type SetLocalMember struct {
	Org      string `json:"org" need:"true"`
	Username string `json:"username" need:"true"`
	Role     string `json:"role" need:"true"`
}

// Check holds the role against those there are.
func (r SetLocalMember) Check(f *Fields) { f.oneOf("role", r.Role, "owner", "member", "none") }

// AddLocalRepo asks for a repository of the built-in forge.
type AddLocalRepo struct {
	RepoFullName string `json:"repoFullName" need:"true"`
	Public       bool   `json:"public"`
}

// Check holds the name against its rule.
func (r AddLocalRepo) Check(f *Fields) { f.repo("repoFullName", r.RepoFullName) }

// LocalRepo is a repository of the built-in forge.
type LocalRepo struct {
	ID           int64  `json:"id"`
	RepoFullName string `json:"repoFullName"`
	Public       bool   `json:"public"`
}

// Created says that something new was made.
func (LocalRepo) Created() (bool, string) { return true, "" }

// GrantLocalRepo asks to give a user a role on a repository; "none" takes it away.
type GrantLocalRepo struct {
	RepoFullName string `json:"repoFullName" need:"true"`
	Username     string `json:"username" need:"true"`
	Role         string `json:"role" need:"true"`
}

// Check holds name and role against their rules.
func (r GrantLocalRepo) Check(f *Fields) {
	f.repo("repoFullName", r.RepoFullName)
	f.oneOf("role", r.Role, "read", "triage", "write", "maintain", "admin", "none")
}

// IssueToken asks for an API key in a user's name. TTLSeconds 0 means it never
// expires.
type IssueToken struct {
	Username    string   `json:"username" need:"true"`
	Name        string   `json:"name" need:"true"`
	Environment string   `json:"environment"`
	Scopes      []string `json:"scopes" need:"true"`
	TTLSeconds  int64    `json:"ttlSeconds"`
	AllowedIPs  []string `json:"allowedIps"`
}

// Check holds what it shares with CreateAPIKey against the same rules.
func (r IssueToken) Check(f *Fields) {
	CreateAPIKey{Name: r.Name, Environment: r.Environment, Scopes: r.Scopes, AllowedIPs: r.AllowedIPs}.Check(f)
	switch {
	case r.TTLSeconds < 0:
		f.Add("ttlSeconds", TooSmall, "A positive duration, or none for a key that never expires.")
	case r.TTLSeconds > maxTTL:
		f.Add("ttlSeconds", FieldTooLarge, "At most ten years, or none for a key that never expires.")
	}
}
