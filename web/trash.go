package web

import "time"

// Trash lists what can still be restored, last deleted first.
type Trash struct {
	Frame
	At       string // path of the page that is shown, where its forms go
	Rows     []TrashRow
	Pager    Pager
	CanEmpty bool
	ReadOnly string // why the vault is, or ""
	Destroy  Form   // of the row with the id Of, or of the form to empty it all
	Of       string
	Now      time.Time
}

// TrashRow is a deleted secret.
type TrashRow struct {
	ID, Key, Environment string
	Deleted, Expires     time.Time
	Days                 int // that it stays
	CanWrite             bool
}

// Left is the form of the row or, with "", of the form to empty it all, as it was
// left.
func (t Trash) Left(id string) Form {
	if t.Of == id {
		return t.Destroy
	}
	return Form{}
}

// Settings is what there is to know about a vault, and its end.
type Settings struct {
	Frame
	Forge            string // name of the code host, or "" for the built-in one
	Private          bool
	Role             string // of whoever is signed in, or ""
	Created, Changed time.Time
	Environments     int
	Secrets          int
	ReadOnly         string // why it is, or ""
	Gone             bool   // the repository is
	CanDelete        bool
	Delete           Form
}

func (Trash) file() string    { return "trash.html" }
func (Settings) file() string { return "settings.html" }

// Title is the page's title.
func (t Trash) Title() string { return "Trash · " + t.Inside.Name }

// Title is the page's title.
func (s Settings) Title() string { return "Settings · " + s.Inside.Name }
