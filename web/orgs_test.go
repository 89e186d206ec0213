package web

var someOrg = OrgRow{"acme", "Acme, Inc.", "/orgs/acme", "owner", "team", 2, 1}

var someChoice = Choice{Field{"read-protected", "r-", "No."}, "read, protected", []Option{{"??", "as usual"}, {"r-", "read"}}}

var orgsSamples = map[string]Page{
	"orgs":    Orgs{Frame: Frame{User: "ann"}, Forge: "GitHub", Rows: []OrgRow{someOrg, {"other", "", "/orgs/other", "member", "free", 1, 0}}},
	"no orgs": Orgs{Frame: Frame{User: "ann"}},
	"org": Org{
		Tabs:  []Place{{Name: "Members", Path: "/orgs/acme", Current: "page"}, {Name: "Plan", Path: "/orgs/acme/plan"}},
		Frame: Frame{User: "ann"}, Forge: "GitHub", Row: someOrg, IsOwner: true, Trial: Trial{"active", 3, someDay, "free", "/orgs/acme/plan"},
		People: []OrgPerson{{"ann", "owner", true, someDay}, {"bob", "member", true, someDay.AddDate(-3000, 0, 0)}, {"eve", "member", false, someDay}},
		Rename: Form{Values: map[string]string{"displayName": "X"}, Problems: map[string]string{"displayName": "No."}, Problem: "Nothing."},
		Rights: []OrgDefault{{"read", []Choice{someChoice}}}, Defaults: Form{Problem: "Nothing."}, Sync: Form{Problem: "No."},
	},
	"org of others": Org{Frame: Frame{User: "bob"}, Row: OrgRow{Login: "acme", At: "/orgs/acme"}, Missing: "No roster.", Rights: []OrgDefault{{"read", []Choice{someChoice}}}},
}

var orgsEvils = map[string]Page{
	"orgs": Orgs{Forge: evil, Rows: []OrgRow{{evil, evil, "/" + evil, evil, evil, 1, 1}}},
	"org": Org{
		Tabs:  []Place{{evil, "/" + evil, evil}},
		Forge: evil, Row: OrgRow{evil, evil, "/" + evil, evil, evil, 1, 1}, IsOwner: true, Trial: Trial{"active", 3, someDay, evil, "/" + evil}, People: []OrgPerson{{Name: evil, Role: evil}},
		Rename: Form{Values: map[string]string{"displayName": evil}, Problems: map[string]string{"displayName": evil}, Problem: evil},
		Rights: []OrgDefault{{evil, []Choice{{Field{evil, evil, evil}, evil, []Option{{evil, evil}}}}}}, Defaults: Form{Problem: evil}, Sync: Form{Problem: evil},
	},
	"org of others": Org{Row: OrgRow{Login: evil}, Missing: evil, Rights: []OrgDefault{{evil, []Choice{{Field{evil, evil, evil}, evil, nil}}}}},
}
