package web

import (
	"fmt"
	"time"
)

// UnsealMethods lists what opens the server, for whoever runs it, and adds to it.
type UnsealMethods struct {
	Frame
	Tabs    []Place
	Rows    []OperatorMethod
	Forms   map[string]Form // how the form of a kind was left, by kind
	Problem string          // why nothing was removed, or ""
	Once    string          // tells these forms from all others
	Master  MasterKey
}

// OperatorMethod is one way to unseal, and what it is good for.
type OperatorMethod struct {
	UnsealMethod
	ID, Label, KeyFile, Plugin string
	ProtectsFrom, NotFrom      string
	LastRecovery               bool // there is no other recovery key
	Last                       bool // there is no other way at all
}

// MadeUnsealMethod shows a new key or new shares, once.
type MadeUnsealMethod struct {
	Frame
	Tabs    []Place
	Method  OperatorMethod
	Key     string // or ""
	Warning string // what must be done before the key is relied on, or ""
	Shares  []MadeShare
}

// MadeShare is one of new shares.
type MadeShare struct {
	Number int
	Text   string
}

// UnsealAttempt is what the server tried by itself, and why it did not open.
type UnsealAttempt struct{ Way, Reason string }

// GivenShares is how far an unsealing with shares is.
type GivenShares struct {
	Given, Threshold, Missing int
	Fingerprint               string
	Until                     time.Time
}

func (UnsealMethods) file() string    { return "unsealmethods.html" }
func (MadeUnsealMethod) file() string { return "unsealmethod_made.html" }

// Title is the page's title.
func (UnsealMethods) Title() string { return "Keys" }

// Title is the page's title.
func (m MadeUnsealMethod) Title() string {
	if m.Key == "" {
		return "New shares"
	}
	return "New key"
}

// Script copies and prints.
func (MadeUnsealMethod) Script() string { return setupScript }

// Form is how the form of a kind was left.
func (p UnsealMethods) Form(kind string) Form { return p.Forms[kind] }

// Name is what the method is called.
func (m UnsealMethod) Name() string {
	switch m.Kind {
	case "key-file":
		return "key file"
	case "recovery-key":
		return "recovery key"
	case "plugin":
		return "age plugin"
	case "shares":
		return fmt.Sprintf("%d of %d shares", m.Threshold, m.Total)
	}
	return m.Kind
}
