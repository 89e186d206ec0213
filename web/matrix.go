package web

import (
	"net/url"
	"strings"
	"time"
)

// Matrix shows which key of a vault is set in which environment. It holds no value.
type Matrix struct {
	Frame
	Search   Search
	Filters  []Filter
	Columns  []MatrixColumn
	Rows     []MatrixRow
	Pager    Pager
	ReadOnly string // why the vault is, or ""
	Gone     bool   // the repository is, and nothing is shown
	Now      time.Time
}

// Filter is one way to look at a part of a list.
type Filter struct {
	Name, Path string
	Count      int
	Current    bool
}

// MatrixColumn is an environment.
type MatrixColumn struct {
	Name, Type string
	Secrets    int
	CanWrite   bool
	Revision   uint64
}

// MatrixRow is a key, with a cell for each column.
type MatrixRow struct {
	Key     string
	Differs bool
	Cells   []MatrixCell
}

// MatrixCell is a key in an environment.
type MatrixCell struct {
	Environment string
	Secret      string // id, or "" where the key is missing
	Same        string // letter that cells of a row with one value share
	Updated     time.Time
	By          string // who changed it last, or ""
	Changed     bool   // lately
}

func (Matrix) file() string { return "matrix.html" }

// Title is the page's title.
func (m Matrix) Title() string { return "Secrets · " + m.Inside.Name }

// Script filters while somebody types.
func (Matrix) Script() string { return "matrix.js" }

// CanWrite says that the reader may change the secrets of some environment.
func (m Matrix) CanWrite() bool {
	for _, c := range m.Columns {
		if c.CanWrite {
			return true
		}
	}
	return false
}

// Empty says that the vault has no secret at all that the reader may know of.
func (m Matrix) Empty() bool {
	for _, c := range m.Columns {
		if c.Secrets > 0 {
			return false
		}
	}
	return true
}

// shownRow is a row as the template writes it. A page has thousands of cells, and
// each action of a template costs more than the text that it writes: so texts are
// put together here, and the template is left with escaping them.
type shownRow struct {
	Key   string
	Cells []shownCell
}

type shownCell struct {
	Set bool

	// To is the address that the cell leads to, or "". Its first slash is left to the
	// template, which then need not look at each whether it leads elsewhere.
	To     string
	Label  string // of that link, for who does not see the table around it
	Same   string // the letter, where values of the row differ
	Change change // the last one, if it is recent
}

// change is what a cell says of one.
type change struct{ Text, Day string }

// matrixRows are the rows of a matrix.
func (p *Pages) matrixRows(m Matrix) []shownRow {
	at := strings.TrimPrefix(p.Path(m.Inside.At), "/") + "/secrets/"
	// What was pushed together changed at the same time, and is put in words once.
	changes := make(map[MatrixCell]change)
	rows := make([]shownRow, len(m.Rows))
	for i, r := range m.Rows {
		rows[i] = shownRow{r.Key, make([]shownCell, len(r.Cells))}
		for j, c := range r.Cells {
			shown := showCell(at, r, c, m.Columns[j].CanWrite)
			if c.Changed {
				alike := MatrixCell{Updated: c.Updated, By: c.By}
				if changes[alike].Text == "" {
					changes[alike] = showChange(m.Now, c)
				}
				shown.Change = changes[alike]
			}
			rows[i].Cells[j] = shown
		}
	}
	return rows
}

func showCell(at string, r MatrixRow, c MatrixCell, canWrite bool) shownCell {
	name := r.Key + " in " + c.Environment
	switch {
	case c.Secret != "" && r.Differs:
		return shownCell{Set: true, To: at + c.Secret, Label: name + ": differs, " + c.Same, Same: c.Same}
	case c.Secret != "":
		return shownCell{Set: true, To: at + c.Secret, Label: name + ": set"}
	case canWrite:
		query := "set?environment=" + url.QueryEscape(c.Environment) + "&key=" + url.QueryEscape(r.Key)
		return shownCell{To: at + query, Label: name + ": missing, set it"}
	default:
		return shownCell{}
	}
}

func showChange(now time.Time, c MatrixCell) change {
	text := "changed " + since(now, c.Updated)
	if c.By != "" {
		text += " by " + c.By
	}
	return change{text, day(c.Updated)}
}
