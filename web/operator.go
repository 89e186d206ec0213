package web

import "time"

// Operator is the server as whoever runs it sees it.
type Operator struct {
	Frame
	Tabs            []Place
	Version, Server string
	Forge           string // what kind of code host, with its address
	AuditKey        string
	Methods         []UnsealMethod
	Jobs            []Job
	Limits          []Limit
	Hindrance       string // why nothing can be written, or ""
	Problem         string // why the form was refused, or ""
}

// Job is something that the server does by itself.
type Job struct {
	Name       string
	Running    bool
	Last, Next time.Time // zero when it never ran
	Removed    int
	Error      string // of the last run, or ""
}

// Limit is how many requests of a kind are possible.
type Limit struct {
	Name, What string
	Rate       string // in words
}

// LocalUsers lists the users of the built-in code host.
type LocalUsers struct {
	Frame
	Tabs  []Place
	Rows  []LocalUser
	Pager Pager
	Form  Form
	// Password is the form for another password when it was refused: its field
	// username says for whom.
	Password Form
}

// PasswordOf is the form for another password of a user, who alone has what was
// wrong with it.
func (u LocalUsers) PasswordOf(name string) Form {
	if u.Password.Values["username"] == name {
		return u.Password
	}
	return Form{}
}

// LocalUser is one of them.
type LocalUser struct {
	Name     string
	Operator bool
	Disabled bool
	Myself   bool // who is looking, and is not offered to lock themselves out
}

// LocalOrgs lists the organizations of the built-in code host.
type LocalOrgs struct {
	Frame
	Tabs   []Place
	Rows   []LocalGroup
	Pager  Pager
	Create Form
	Member Form
}

// LocalRepos lists the repositories of the built-in code host.
type LocalRepos struct {
	Frame
	Tabs   []Place
	Rows   []LocalGroup
	Pager  Pager
	Create Form
	Grant  Form
	Roles  []string
}

// LocalGroup is an organization or a repository, and who has a role there.
type LocalGroup struct {
	Name   string
	Public bool
	People []Grantee
}

// Grantee is somebody with a role.
type Grantee struct{ Name, Role string }

func (Operator) file() string   { return "operator.html" }
func (LocalUsers) file() string { return "operator_users.html" }
func (LocalOrgs) file() string  { return "operator_orgs.html" }
func (LocalRepos) file() string { return "operator_repos.html" }

// Title is the page's title.
func (Operator) Title() string { return "Server" }

// Title is the page's title.
func (LocalUsers) Title() string { return "Users" }

// Title is the page's title.
func (LocalOrgs) Title() string { return "Organizations of this server" }

// Title is the page's title.
func (LocalRepos) Title() string { return "Repositories" }
