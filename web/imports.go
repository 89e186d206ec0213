package web

// Import takes files into a vault.
type Import struct {
	Frame
	Form         Form
	Environments []FileEnvironment
	Text         string // as it was typed and could not be read, or ""
	Problems     []EnvProblem
	ReadOnly     string // why the vault is, or ""
}

// FileEnvironment is an environment that files are made of, or taken into.
type FileEnvironment struct {
	Name, Type string
	At         string // path of its file
	Secrets    int
	CanWrite   bool
}

// ImportPreview shows what a file would change, and asks. It holds no value: the
// draft is the file, sealed.
type ImportPreview struct {
	Frame
	Form              Form
	Environment, Type string
	Action, Back      string // where the form goes, and the page to begin anew
	Draft             string
	Rows              []ImportRow
	Problems          []EnvProblem
	Missing           []string // active keys that are not in the file
	Changed           []string // keys that others changed meanwhile
	Forgotten         bool     // nobody knows what others changed
	Replace           bool     // the missing ones are chosen for the trash
	LeftOut           int      // lines that cannot be stored
	Edited            bool     // it is the environment's own text
}

// ImportRow is one key of a file.
type ImportRow struct {
	Key    string
	Line   int
	Change string // create, update or unchanged
	Stale  bool   // others changed it meanwhile
	Ticked bool
	Field  Field
}

func (Import) file() string        { return "import.html" }
func (ImportPreview) file() string { return "import_preview.html" }

// Title is the page's title.
func (i Import) Title() string { return "Import and export · " + i.Inside.Name }

// Title is the page's title.
func (i ImportPreview) Title() string { return "What would change · " + i.Environment }

// Script takes files that are dropped.
func (Import) Script() string { return "drop.js" }

// Writable are the environments that files can be taken into.
func (i Import) Writable() []FileEnvironment {
	var all []FileEnvironment
	for _, e := range i.Environments {
		if e.CanWrite {
			all = append(all, e)
		}
	}
	return all
}

// Count is how many keys would have a change.
func (i ImportPreview) Count(change string) int {
	n := 0
	for _, r := range i.Rows {
		if r.Change == change {
			n++
		}
	}
	return n
}

// Idle says that there is nothing to choose.
func (i ImportPreview) Idle() bool {
	return i.Count("unchanged") == len(i.Rows) && (len(i.Missing) == 0 || i.LeftOut > 0)
}
