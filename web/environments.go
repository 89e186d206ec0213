package web

// Environments lists the environments of a vault that somebody may read, in the
// order in which they are shown everywhere.
type Environments struct {
	Frame
	Rows      []EnvironmentRow
	CanManage bool
	ReadOnly  string // why the vault is, or ""
	Create    Form
}

// EnvironmentRow is one of them.
type EnvironmentRow struct {
	Name, Type string
	At         string // path of its own page
	Secrets    int
	Revision   uint64
}

// Environment changes one environment.
type Environment struct {
	Frame
	Row                    EnvironmentRow
	Rename, Retype, Delete Form
}

func (Environments) file() string { return "environments.html" }
func (Environment) file() string  { return "environment.html" }

// Title is the page's title.
func (e Environments) Title() string { return "Environments · " + e.Inside.Name }

// Title is the page's title.
func (e Environment) Title() string { return e.Row.Name + " · " + e.Inside.Name }

// Place is where an environment stands in its list, from 1.
func (EnvironmentRow) Place(i int) int { return i + 1 }

// Last reports whether this row is the last one.
func (e Environments) Last(i int) bool { return i == len(e.Rows)-1 }
