package web

import (
	"strings"
	"testing"
)

var (
	vercelHere    = Connection{ID: "c1", Provider: "Vercel", Name: "Acme", Again: "/connections/new?provider=vercel", Since: someDay, Links: 2}
	brokenHere    = Connection{ID: "c2", Provider: "Netlify", Name: "ann", Broken: true, Again: "/connections/new?provider=netlify", Since: someDay}
	namelessThere = Connection{ID: "c3", Provider: "Railway", Since: someDay}
)

var connectionsSamples = map[string]Page{
	"connections": Connections{
		Rows: []Connection{vercelHere, brokenHere, namelessThere}, Now: someDay,
		Providers: []Provider{{Name: "vercel", Display: "Vercel", Authorize: "/v1/integrations/vercel/authorize"}, {Name: "netlify", Display: "Netlify"}},
	},
	"no connections": Connections{Now: someDay},
	"new connection": NewConnection{
		Provider: Provider{Name: "vercel", Display: "Vercel", Authorize: "/v1/integrations/vercel/authorize"},
		Make:     "There.", Rights: []string{"read", "write"}, Team: "Team ID", TeamHint: "There, too.",
		Form: Form{Values: map[string]string{"teamId": "team_1"}, Problems: map[string]string{"token": "No.", "teamId": "No."}, Problem: "Nothing was changed."},
	},
	"new connection without teams": NewConnection{Provider: Provider{Name: "github-actions", Display: "GitHub Actions"}},
	"one connection": OneConnection{
		Connection: vercelHere, Now: someDay, Projects: []Project{{Name: "site", Service: "api", Repository: "acme/site", Environments: []string{"production", "preview"}}, {Name: "bare"}},
		Through: []Through{
			{Project: "site", Target: "production", Vault: "acme/api", Environment: "production", Path: "/vaults/acme/api/syncs", Auto: true}, {Project: "x", Target: "y"},
		},
	},
	"one connection down": OneConnection{Connection: brokenHere, Problem: "Vercel did not answer.", Through: []Through{{Project: "x", Target: "y"}}},
	"one connection bare": OneConnection{Connection: namelessThere},
}

var connectionsEvils = map[string]Page{
	"connections": Connections{
		Rows:      []Connection{{ID: evil, Provider: evil, Name: evil, Broken: true, Again: "/" + evil}},
		Providers: []Provider{{evil, evil, "/" + evil}, {evil, evil, ""}},
	},
	"new connection": NewConnection{
		Provider: Provider{evil, evil, "/" + evil}, Make: evil, Rights: []string{evil}, Team: evil, TeamHint: evil,
		Form: Form{Values: map[string]string{"teamId": evil, "token": evil}, Problems: map[string]string{"token": evil, "teamId": evil}, Problem: evil},
	},
	"one connection": OneConnection{
		Connection: Connection{ID: evil, Provider: evil, Name: evil, Again: "/" + evil},
		Projects:   []Project{{evil, evil, evil, []string{evil}}},
		Through:    []Through{{Project: evil, Target: evil, Vault: evil, Environment: evil, Path: "/" + evil}},
	},
	"one connection down": OneConnection{Problem: evil, Connection: Connection{ID: evil}},
}

// TestATokenDoesNotComeBack, even if it stood among what is to be shown again.
func TestATokenDoesNotComeBack(t *testing.T) {
	text := rendered(t, "", NewConnection{Form: Form{Values: map[string]string{"token": "canary"}, Problems: map[string]string{"token": "No."}}})
	if strings.Contains(text, "canary") {
		t.Errorf("the token is on the page: %s", text)
	}
}
