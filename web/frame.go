package web

// Frame is what stands around every page. Pages embed it.
type Frame struct {
	User   string  // who is signed in, or ""
	Places []Place // where to go from here
	Inside *Inside // the vault that the page is about, or nil
	Notice string  // what was just done, or ""
	Undo   string  // the secrets inside the vault with which it can be undone, or ""

	// Operator says that the user runs this server, too.
	Operator bool
}

// Script is what every page has, unless a page has more. That has this as well.
func (Frame) Script() string { return "busy.js" }

// Place is a page that the navigation leads to.
type Place struct {
	Name, Path string
	Current    string // "page" on that page, "true" below it, or ""
}

// Inside is the vault that a page is about.
type Inside struct {
	Name   string // owner/name
	At     string // path of its first page, without a slash at the end
	Places []Place
	Plan   string // path of the page about its organization's plan, where that can be changed; or ""
}

// Form is what was typed into a form, and what was wrong with it. The zero Form
// is one that nobody has sent yet.
type Form struct {
	Values   map[string]string // by field: what is shown again, never a secret value
	Problems map[string]string // by field
	Problem  string            // with the form as a whole, or ""
	Plans    string            // path of the page about plans, where a higher one allows it; or ""
}

// Field is one field of a form.
type Field struct{ Name, Value, Problem string }

// Field is the form's field of this name.
func (f Form) Field(name string) Field { return Field{name, f.Values[name], f.Problems[name]} }

// Pager leads through a list that has more than one page.
type Pager struct {
	From, To, Total int    // of what is shown
	Previous, Next  string // paths, or ""
}

// Search is a field that a list is searched with.
type Search struct {
	At    string // path of the list
	Label string
	Query string // what is searched for, or ""
	Keep  []Kept // parameters that stay with the list
}

// Kept is a parameter of an address, or a field of a form, that stays as it is.
type Kept struct{ Name, Value string }

// Confirmation asks to type something before it is gone for good.
type Confirmation struct {
	ID   string // of the input
	Text string // what is to be typed
	Field
}

// confirmation is the one of a form.
func confirmation(f Form, text string) Confirmation {
	return Confirmation{"confirm", text, f.Field("confirm")}
}

// confirmationOf is the one of a form of a list, for the thing with this id.
func confirmationOf(f Form, text, id string) Confirmation {
	return Confirmation{"confirm-" + id, text, f.Field("confirm")}
}
