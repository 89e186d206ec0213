package web

// Unsent gives a form back that came after the session had ended: to sign in beside
// it, and to send it again.
type Unsent struct {
	Frame
	At        string // where the form goes, as the first time
	Return    string // where to go after signing in, in the other window
	Multipart bool   // how the form was sent
	Fields    []Kept // what it held
}

func (Unsent) file() string { return "unsent.html" }

// Title is the page's title.
func (Unsent) Title() string { return "Your session has ended" }
