package web

var vaultsSamples = map[string]Page{
	"vaults": Vaults{
		Frame: Frame{User: "ann"}, Search: Search{At: "/", Label: "Search", Query: "db"}, Cut: true, Now: someDay,
		Rows: []VaultRow{
			{Name: "acme/api", At: "/vaults/acme/api", Private: true, Role: "admin", Environments: []EnvironmentCount{{"production", 1}}, Secrets: 1,
				Changed: someDay, ReadOnly: "The plan.", Keys: []string{"DB_URL"}, MoreKeys: 3},
			{Name: "acme/web", At: "/vaults/acme/web", Gone: true},
		},
		Pager:  Pager{From: 26, To: 27, Total: 60, Previous: "/", Next: "/?offset=50&q=db"},
		Create: Form{Values: map[string]string{"repoFullName": "x"}, Problems: map[string]string{"repoFullName": "No."}, Problem: "Nothing."},
		Free:   []string{"acme/new"}, Forge: "GitHub", Example: "ann/api",
	},
	"no vaults":     Vaults{Frame: Frame{User: "ann"}, Search: Search{At: "/"}},
	"nothing found": Vaults{Frame: Frame{User: "ann"}, Search: Search{At: "/", Query: "db"}},
}

var vaultsEvils = map[string]Page{
	"vaults": Vaults{
		Search: Search{At: "/", Label: evil, Query: evil, Keep: []Kept{{evil, evil}}},
		Rows:   []VaultRow{{Name: evil, At: "/" + evil, Role: evil, Environments: []EnvironmentCount{{evil, 1}}, ReadOnly: evil, Keys: []string{evil}}},
		Pager:  Pager{Previous: "/" + evil, Next: "/" + evil},
		Create: Form{Values: map[string]string{"repoFullName": evil}, Problems: map[string]string{"repoFullName": evil}, Problem: evil},
		Free:   []string{evil}, Forge: evil, Example: evil,
	},
	"nothing found": Vaults{Search: Search{Query: evil}},
}
