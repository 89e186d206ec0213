package web

var accountSamples = map[string]Page{
	"account": Account{Frame: Frame{
		User: "ann", Notice: "The session has ended.",
		Places: []Place{{"Vaults", "/", ""}, {"Account", "/account", "page"}},
		Inside: &Inside{Name: "acme/api", At: "/vaults/acme/api", Places: []Place{{"Secrets", "/vaults/acme/api", "true"}}},
	}, Server: "https://vault.example", Plan: "team", Usage: []Usage{{"Vaults", 2, "unlimited"}}, Sessions: []Session{
		{ID: "1", Where: "203.0.113.7", With: "Mozilla/5.0", Created: someDay, Used: someDay, End: someDay, Current: true},
		{ID: "2", Created: someDay, End: someDay},
	}},
}

var accountEvils = map[string]Page{
	"account":         Account{Frame: Frame{User: evil}, Forge: evil, Server: evil, Plan: evil, Usage: []Usage{{evil, 1, evil}}},
	"session":         Account{Sessions: []Session{{ID: evil, Where: evil, With: evil}}},
	"current session": Account{Sessions: []Session{{ID: evil, Where: evil, With: evil, Current: true}}},
}
