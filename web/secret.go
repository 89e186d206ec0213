package web

import "time"

// Secret is one secret: where it is, who changed it last, and its versions. It
// holds a value only where Shown does.
type Secret struct {
	Frame
	Key, Environment string
	Type             string // of the environment
	At               string // path of this page
	Created, Updated time.Time
	By               string // who changed it last, or ""
	CanWrite         bool
	ReadOnly         string // why the vault is, or ""
	Versions         []SecretVersion
	Shown            *ShownValue // what was asked for, or nil
	Problem          string      // why something was not done, or ""
	Now              time.Time
}

// SecretVersion is one value that a secret had, without the value.
type SecretVersion struct {
	ID      string
	Number  uint32
	Created time.Time
	By      string // or ""
}

// ShownValue is a value that somebody asked to see.
type ShownValue struct {
	Version uint32 // 0 is the newest
	Value   string
}

func (*Secret) file() string { return "secret.html" }

// Title is the page's title.
func (s *Secret) Title() string { return s.Key + " · " + s.Environment + " · " + s.Inside.Name }

// Script shows and copies values without another page.
func (*Secret) Script() string { return "secret.js" }
