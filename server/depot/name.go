package depot

import (
	"regexp"
	"time"
)

// Name is what a backup is called: the instance it is of, and when it was made, to
// the second. In their text, the names of an instance sort by time.
type Name struct {
	Instance string // the last eight digits of its id
	At       time.Time
}

const (
	nameTime = "20060102T150405Z"
	ending   = ".tar.age"
)

var nameForm = regexp.MustCompile(`^coffer-([0-9a-f]{8})-(\d{8}T\d{6}Z)\.tar\.age$`)

// String is the name of the file or object.
func (n Name) String() string { return begin(n.Instance) + n.At.UTC().Format(nameTime) + ending }

// begin is how the names of an instance begin, or with "" all names.
func begin(instance string) string {
	if instance == "" {
		return "coffer-"
	}
	return "coffer-" + instance + "-"
}

// checkName is what Check puts.
func checkName(instance string) string { return begin(instance) + "check" }

// ParseName reads a name; ok is false for anything that String does not write.
func ParseName(text string) (n Name, ok bool) {
	m := nameForm.FindStringSubmatch(text)
	if m == nil {
		return Name{}, false
	}
	at, err := time.Parse(nameTime, m[2])
	n = Name{Instance: m[1], At: at}
	return n, err == nil && n.String() == text
}

// ours reads the name of a backup of an instance, or with "" of any.
func ours(instance, text string) (Name, bool) {
	n, ok := ParseName(text)
	return n, ok && (instance == "" || n.Instance == instance)
}

// compare is the order of names: by time, then by instance.
func (n Name) compare(o Name) int {
	if c := n.At.Compare(o.At); c != 0 {
		return c
	}
	switch {
	case n.Instance < o.Instance:
		return -1
	case n.Instance > o.Instance:
		return 1
	}
	return 0
}
