package web

import (
	"strings"
	"testing"
)

var secretSamples = map[string]Page{
	"secret": &Secret{Frame: matrixFrame, Key: "A", Environment: "production", Type: "protected", At: "/vaults/acme/api/secrets/1",
		Created: someDay, Updated: someDay, By: "bob", CanWrite: true, Now: someDay, Problem: "No.",
		Versions: []SecretVersion{{"12", 2, someDay, "bob"}, {"11", 1, someDay, ""}}},
	"secret to read": &Secret{Frame: matrixFrame, Key: "A", Environment: "production", At: "/vaults/acme/api/secrets/1", ReadOnly: "The plan.",
		Versions: []SecretVersion{{"12", 2, someDay, "bob"}, {"11", 1, someDay, ""}}},
	"secret shown":  &Secret{Frame: matrixFrame, Key: "A", Environment: "production", At: "/vaults/acme/api/secrets/1", Shown: &ShownValue{Value: "\n one\n<b>two\n"}},
	"version shown": &Secret{Frame: matrixFrame, Key: "A", Environment: "production", At: "/vaults/acme/api/secrets/1", Shown: &ShownValue{Version: 3}},
}

var secretEvils = map[string]Page{
	"secret": &Secret{Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Key: evil, Environment: evil, Type: evil, At: "/" + evil,
		By: evil, CanWrite: true, ReadOnly: evil, Problem: evil, Versions: []SecretVersion{{evil, 2, someDay, evil}, {evil, 1, someDay, evil}}},
	"secret shown": &Secret{Frame: matrixFrame, Shown: &ShownValue{Value: evil}},
}

// TestAValueIsShownAsItIs: browsers leave out a line break that a pre begins with,
// unless there is another one in front of it.
func TestAValueIsShownAsItIs(t *testing.T) {
	text := rendered(t, "", secretSamples["secret shown"])
	if !strings.Contains(text, ">\n\n one\n&lt;b&gt;two\n</pre>") {
		t.Error(text)
	}
	if text := rendered(t, "", secretSamples["version shown"]); !strings.Contains(text, "Value of version 3") || !strings.Contains(text, "The value is empty.") {
		t.Error(text)
	}
}

// TestOnlyWhatCanBeDoneIsOffered on the page of a secret.
func TestOnlyWhatCanBeDoneIsOffered(t *testing.T) {
	write, read := rendered(t, "", secretSamples["secret"]), rendered(t, "", secretSamples["secret to read"])
	for _, part := range []string{"Set a new value", "Rename", "Move to the trash", "Restore version 1"} {
		if !strings.Contains(write, part) || strings.Contains(read, part) {
			t.Errorf("%q is offered to the wrong people", part)
		}
	}
	if strings.Contains(write, "Restore version 2") {
		t.Error("the current version can be restored")
	}
}
