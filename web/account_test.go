package web

import (
	"strings"
	"testing"
)

var accountSamples = map[string]Page{
	"account": Account{Frame: Frame{
		User: "ann", Notice: "The session has ended.",
		Places: []Place{{"Vaults", "/", ""}, {"Account", "/account", "page"}},
		Inside: &Inside{Name: "acme/api", At: "/vaults/acme/api", Places: []Place{{"Secrets", "/vaults/acme/api", "true"}}},
	}, Server: "https://vault.example", Plan: "team", Limited: true, Paid: true, Usage: []Usage{{"Vaults", 2, "unlimited"}}, Sessions: []Session{
		{ID: "1", Where: "203.0.113.7", With: "Mozilla/5.0", Created: someDay, Used: someDay, End: someDay, Current: true},
		{ID: "2", Created: someDay, End: someDay},
		{ID: "3", With: "Mozilla/5.0", Created: someDay, End: someDay},
		{ID: "4", With: "coffer/1.0", Created: someDay, End: someDay},
	}},
}

var accountEvils = map[string]Page{
	"account":         Account{Frame: Frame{User: evil}, Forge: evil, Server: evil, Plan: evil, Limited: true, Paid: true, Usage: []Usage{{evil, 1, evil}}},
	"session":         Account{Sessions: []Session{{ID: evil, Where: evil, With: evil}}},
	"current session": Account{Sessions: []Session{{ID: evil, Where: evil, With: evil, Current: true}}},
}

func TestSessionsHaveShortNames(t *testing.T) {
	for with, want := range map[string]string{"": "Another program", "Mozilla/5.0 (X11; Linux x86_64)": "Another browser", "coffer/1.0": "coffer/1.0"} {
		if got := (Session{With: with}).Name(); got != want {
			t.Errorf("%q is called %q, want %q", with, got, want)
		}
	}
	if got := (Session{With: "Mozilla/5.0", Current: true}).Name(); got != "This browser" {
		t.Errorf("the current one is called %q", got)
	}
	text := rendered(t, "", Account{Sessions: []Session{{With: "Mozilla/5.0 (X11)"}, {With: "coffer/1.0"}}})
	if strings.Count(text, "<dt>Program</dt>") != 1 || !strings.Contains(text, "Mozilla/5.0 (X11)") {
		t.Errorf("which program a browser is, and nothing twice: %s", text)
	}
}
