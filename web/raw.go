package web

// Raw is an environment as a .env file. Without Shown it asks whether to show it,
// and holds no value.
type Raw struct {
	Frame
	Form     Form
	File     FileEnvironment
	ReadOnly string // why the vault is, or ""
	Shown    bool
	Text     string // of the file
	TooLong  bool   // to be edited here
	Base     uint64 // revision that the text was taken at
	Problems []EnvProblem
}

func (Raw) file() string { return "raw.html" }

// Title is the page's title.
func (r Raw) Title() string { return r.File.Name + " as a file · " + r.Inside.Name }
