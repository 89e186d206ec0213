package web

import (
	"strings"
	"testing"
)

var someChoices = []Tick{
	{Field: "environment.development", Name: "development", Type: "development", There: true, Ticked: true},
	{Field: "environment.production", Name: "production", Type: "protected"},
}

var someForm = Form{
	Values:   map[string]string{"key": "a b", "name": "a b", "value": "\nline"},
	Problems: map[string]string{"key": "No.", "name": "No.", "value": "No."}, Problem: "Nothing was changed.",
}

var editSamples = map[string]Page{
	"set":            SetValue{Frame: matrixFrame, At: "/vaults/acme/api/secrets/set?key=A", Key: "A", Choices: someChoices},
	"add":            SetValue{Frame: matrixFrame, At: "/vaults/acme/api/secrets/set", Choices: someChoices, Form: someForm},
	"set nowhere":    SetValue{Frame: matrixFrame, At: "/vaults/acme/api/secrets/set"},
	"rename":         Rename{Frame: matrixFrame, At: "/vaults/acme/api/secrets/rename?key=A", Key: "A", Choices: someChoices, Form: someForm},
	"rename nowhere": Rename{Frame: matrixFrame, At: "/vaults/acme/api/secrets/rename?key=A", Key: "A"},
	"remove":         Remove{Frame: matrixFrame, At: "/vaults/acme/api/secrets/remove?key=A", Key: "A", Choices: someChoices, Form: someForm},
	"remove nowhere": Remove{Frame: matrixFrame, At: "/vaults/acme/api/secrets/remove?key=A", Key: "A"},
	"undo": Matrix{Frame: Frame{User: "ann", Notice: "The secret is in the trash.", Undo: "1.2",
		Inside: &Inside{Name: "acme/api", At: "/vaults/acme/api"}}},
}

var evilForm = Form{
	Values:   map[string]string{"key": evil, "name": evil, "value": "</textarea>" + evil},
	Problems: map[string]string{"key": evil, "name": evil, "value": evil}, Problem: evil,
}

var editEvils = map[string]Page{
	"set":    SetValue{Frame: matrixFrame, At: "/" + evil, Key: evil, Choices: []Tick{{evil, evil, evil, true, true}}, Form: evilForm},
	"add":    SetValue{Frame: matrixFrame, At: "/" + evil, Choices: []Tick{{evil, evil, evil, true, true}}, Form: evilForm},
	"rename": Rename{Frame: matrixFrame, At: "/" + evil, Key: evil, Choices: []Tick{{evil, evil, evil, true, true}}, Form: evilForm},
	"remove": Remove{Frame: matrixFrame, At: "/" + evil, Key: evil, Choices: []Tick{{evil, evil, evil, true, true}}, Form: evilForm},
	"undo":   Matrix{Frame: Frame{Notice: evil, Undo: evil, Inside: &Inside{At: "/" + evil}}},
}

// TestWhatWasTypedComesBackAsItWas: browsers leave out a line break that a field
// begins with, unless there is another one in front of it.
func TestWhatWasTypedComesBackAsItWas(t *testing.T) {
	if text := rendered(t, "", editSamples["add"]); !strings.Contains(text, ">\n\nline</textarea>") {
		t.Error(text)
	}
}
