package web

// SetValue asks for the value of a key, for one environment or more.
type SetValue struct {
	Frame
	At      string // path of this page
	Key     string // or "" where it is asked for, too
	Choices []Tick
	Form    Form
}

// Rename asks for another name of a key, in one environment or more.
type Rename struct {
	Frame
	At, Key string
	Choices []Tick
	Form    Form
}

// Remove asks in which environments a key shall go to the trash.
type Remove struct {
	Frame
	At, Key string
	Choices []Tick
	Form    Form
}

// Tick is an environment that can be ticked.
type Tick struct {
	Field      string // of the form
	Name, Type string
	There      bool // the key is set there
	Ticked     bool
}

func (SetValue) file() string { return "set.html" }
func (Rename) file() string   { return "rename.html" }
func (Remove) file() string   { return "remove.html" }

// Heading is the page's heading.
func (p SetValue) Heading() string {
	if p.Key == "" {
		return "Add a secret"
	}
	return "Set " + p.Key
}

// Title is the page's title.
func (p SetValue) Title() string { return p.Heading() + " · " + p.Inside.Name }

// Title is the page's title.
func (p Rename) Title() string { return "Rename " + p.Key + " · " + p.Inside.Name }

// Title is the page's title.
func (p Remove) Title() string { return "Remove " + p.Key + " · " + p.Inside.Name }
