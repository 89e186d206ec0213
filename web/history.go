package web

import "time"

// History shows the revisions of an environment, newest first.
type History struct {
	Frame
	Environments []Filter // counting revisions
	Environment  string   // that is shown, or "" where there is none
	Rows         []RevisionRow
	Pager        Pager
	ReadOnly     string // why the vault is, or ""
	Now          time.Time
}

// RevisionRow is one revision. Paths are empty where they lead nowhere.
type RevisionRow struct {
	Number   uint64
	At       time.Time
	By       string // who made it, or ""
	Keys     []string
	MoreKeys int // that it changed besides
	Current  bool
	Change   string // path of what it changed
	Compare  string // path of what changed since
	RollBack string // path of the page that asks
}

func (History) file() string { return "history.html" }

// Title is the page's title.
func (h History) Title() string { return "History · " + h.Inside.Name }

// Rollback asks whether an environment shall become what it was.
type Rollback struct {
	Frame
	At          string // path that the form is sent to
	Environment string
	Revision    int
	Then        time.Time // when it began, or zero
	Base        uint64    // revision of now
	Incomplete  bool      // not all of then is left
	Form        Form
	Meanwhile   string // path of what somebody changed meanwhile, or ""
	Back        string // path of the history

	Created, Updated, Deleted []string
}

func (Rollback) file() string { return "rollback.html" }

// Title is the page's title.
func (r Rollback) Title() string { return "Roll back " + r.Environment + " · " + r.Inside.Name }

// Nothing says that nothing would change.
func (r Rollback) Nothing() bool { return len(r.Created)+len(r.Updated)+len(r.Deleted) == 0 }

// Groups are the keys that would change, by how.
func (r Rollback) Groups() []KeyGroup {
	return []KeyGroup{
		{"Get their value of then", "updated", r.Updated},
		{"Come back", "created", r.Created},
		{"Go to the trash", "deleted", r.Deleted},
	}
}
