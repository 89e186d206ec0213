package web

var (
	operatorTabs = []Place{{"Server", "/operator", ""}, {"Users", "/operator/users", "page"}}
	wrongForm    = Form{Problem: "No.", Values: map[string]string{"username": "bob", "operator": "true", "name": "acme", "org": "acme", "role": "owner", "repoFullName": "acme/api", "public": "true"},
		Problems: map[string]string{"username": "No.", "password": "No.", "name": "No.", "org": "No.", "role": "No.", "repoFullName": "No."}}
)

var operatorSamples = map[string]Page{
	"server": Operator{Frame: Frame{User: "ann", Operator: true}, Tabs: operatorTabs, Version: "1.0", Server: "https://vault.example", Forge: "local (built in)", AuditKey: "abc",
		Methods: []UnsealMethod{{Kind: "key-file", Fingerprint: "abcd", Since: someDay}, {Kind: "recovery-key", Fingerprint: "efgh", Since: someDay}},
		Jobs:    []Job{{Name: "trash", Last: someDay, Next: someDay, Removed: 3, Error: "No."}, {Name: "audit", Running: true, Next: someDay}, {Name: "new", Next: someDay}},
		Limits:  []Limit{{"general", "requests", "100 in 15m"}, {"bulk", "pushes and pulls", "off"}}},
	"health": Health{Frame: Frame{User: "ann", Operator: true}, Tabs: operatorTabs, At: someDay, Problems: 1, Warnings: 2,
		Findings: []HealthFinding{{"files", "problem", "The key file is open to everybody.", "chmod 600 key"}, {"clock", "warning", "It was set.", "Look."}, {"disk", "ok", "There is room.", ""}}},
	"health well":   Health{At: someDay, Full: true},
	"health warned": Health{At: someDay, Warnings: 1},
	"health ill":    Health{At: someDay, Problems: 2, Warnings: 1},
	"storage": Storage{Tabs: operatorTabs, Copies: []string{"coffer.db.schema-1"}, Size: 5 << 20, Free: 1500, Room: 3 << 30, Last: &Compaction{At: someDay, Before: 9 << 20, After: 1 << 20}, Running: &Compaction{At: someDay, Copied: 1 << 20, All: 4 << 20},
		Erasures: []Erasure{{ID: "1", Vault: "acme/old", At: someDay, By: "ann", Receipt: true}, {ID: "2", Vault: "acme/older", At: someDay}}},
	"storage in need": Storage{Tabs: operatorTabs, Room: -1, Last: &Compaction{At: someDay, Error: "No room."}, Running: &Compaction{At: someDay}, Compact: wrongForm, Erase: wrongForm},
	"server in need":  Operator{Hindrance: "The storage is full.", Problem: "No."},
	"users":           LocalUsers{Tabs: operatorTabs, Rows: []LocalUser{{Name: "ann", Operator: true, Myself: true}, {Name: "bob"}, {Name: "eve", Disabled: true}}, Pager: Pager{From: 1, To: 2, Total: 3, Next: "/operator/users?offset=2"}},
	"users wrong":     LocalUsers{Tabs: operatorTabs, Form: wrongForm},
	"orgs":            LocalOrgs{Tabs: operatorTabs, Rows: []LocalGroup{{Name: "acme", People: []Grantee{{"ann", "owner"}, {"bob", "member"}}}, {Name: "empty"}}},
	"orgs wrong":      LocalOrgs{Tabs: operatorTabs, Create: wrongForm, Member: wrongForm},
	"repos":           LocalRepos{Tabs: operatorTabs, Rows: []LocalGroup{{Name: "acme/api", Public: true, People: []Grantee{{"ann", "write"}}}, {Name: "acme/web"}}, Roles: []string{"read", "none"}},
	"repos wrong":     LocalRepos{Tabs: operatorTabs, Create: wrongForm, Roles: []string{"owner"}},
	"grant wrong":     LocalRepos{Tabs: operatorTabs, Grant: wrongForm, Roles: []string{"owner"}},
}

var (
	evilFields = Form{Problem: evil, Values: map[string]string{"username": evil, "name": evil, "org": evil, "role": evil, "repoFullName": evil},
		Problems: map[string]string{"username": evil, "password": evil, "name": evil, "org": evil, "role": evil, "repoFullName": evil}}
	evilGroups = []LocalGroup{{Name: evil, People: []Grantee{{evil, evil}}}}
)

var operatorEvils = map[string]Page{
	"server": Operator{Tabs: []Place{{evil, evil, evil}}, Version: evil, Server: evil, Forge: evil, AuditKey: evil, Methods: []UnsealMethod{{Kind: evil, Fingerprint: evil, Since: someDay}},
		Jobs: []Job{{Name: evil, Error: evil}}, Limits: []Limit{{evil, evil, evil}}, Hindrance: evil, Problem: evil},
	"health": Health{Tabs: []Place{{evil, evil, evil}}, Problems: 1, Findings: []HealthFinding{{evil, evil, evil, evil}}},
	"storage": Storage{Tabs: []Place{{evil, evil, evil}}, Copies: []string{evil}, Last: &Compaction{At: someDay, Error: evil}, Compact: evilFields, Erase: evilFields,
		Erasures: []Erasure{{ID: evil, Vault: evil, At: someDay, By: evil, Receipt: true}}},
	"users": LocalUsers{Rows: []LocalUser{{Name: evil, Operator: true}, {Name: evil, Disabled: true}}, Form: evilFields},
	"orgs":  LocalOrgs{Rows: evilGroups, Create: evilFields, Member: evilFields},
	"repos": LocalRepos{Rows: evilGroups, Create: evilFields, Grant: evilFields, Roles: []string{evil}},
}
