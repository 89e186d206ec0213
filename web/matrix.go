package web

import "time"

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
