package web

var environmentsSamples = map[string]Page{
	"environments": Environments{
		Frame: matrixFrame, CanManage: true,
		Rows: []EnvironmentRow{{"development", "development", "/vaults/acme/api/environments/development", 1, 2}, {"production", "protected", "/vaults/acme/api/environments/production", 0, 0}},
		Create: Form{Values: map[string]string{"name": "X", "type": "standard"}, Problem: "Nothing.",
			Problems: map[string]string{"name": "No.", "type": "No."}},
	},
	"environments to look at": Environments{Frame: matrixFrame, Rows: []EnvironmentRow{{"development", "development", "/x", 1, 2}}, ReadOnly: "The plan."},
	"no environments":         Environments{Frame: matrixFrame, CanManage: true},
	"environment":             Environment{Frame: matrixFrame, Row: EnvironmentRow{"production", "protected", "/vaults/acme/api/environments/production", 1, 2}},
	"environment again": Environment{
		Frame: matrixFrame, Row: EnvironmentRow{"development", "development", "/vaults/acme/api/environments/development", 1, 2},
		Rename: Form{Values: map[string]string{"newName": "X"}, Problems: map[string]string{"newName": "No."}, Problem: "Nothing."},
		Retype: Form{Problems: map[string]string{"type": "No."}, Problem: "Nothing."},
		Delete: Form{Values: map[string]string{"confirm": "X"}, Problems: map[string]string{"confirm": "No."}, Problem: "Nothing."},
	},
}

var environmentsEvils = map[string]Page{
	"environments": Environments{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, CanManage: true, Rows: []EnvironmentRow{{evil, evil, "/" + evil, 1, 1}},
		Create: Form{Values: map[string]string{"name": evil, "type": evil}, Problems: map[string]string{"name": evil, "type": evil}, Problem: evil},
	},
	"read only": Environments{Frame: matrixFrame, ReadOnly: evil},
	"environment": Environment{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Row: EnvironmentRow{evil, evil, "/" + evil, 1, 1},
		Rename: Form{Values: map[string]string{"newName": evil}, Problems: map[string]string{"newName": evil}, Problem: evil},
		Retype: Form{Problems: map[string]string{"type": evil}, Problem: evil},
		Delete: Form{Values: map[string]string{"confirm": evil}, Problems: map[string]string{"confirm": evil}, Problem: evil},
	},
}
