package web

var unsealMethodSamples = map[string]Page{
	"unseal methods": UnsealMethods{Frame: Frame{User: "ann", Operator: true}, Tabs: operatorTabs, Once: "x", Master: underWay, Rows: []OperatorMethod{
		{UnsealMethod: UnsealMethod{Kind: "key-file", Fingerprint: "abcd", Since: someDay}, ID: "1", Label: "rack", KeyFile: "/etc/coffer.key", ProtectsFrom: "Some.", NotFrom: "Others."},
		{UnsealMethod: UnsealMethod{Kind: "passphrase", Since: someDay}, ID: "2", ProtectsFrom: "Some.", NotFrom: "Others."},
		{UnsealMethod: UnsealMethod{Kind: "recovery-key", Fingerprint: "efgh", Since: someDay}, ID: "3", ProtectsFrom: "Some.", NotFrom: "Others.", LastRecovery: true},
		{UnsealMethod: UnsealMethod{Kind: "plugin", Fingerprint: "ijkl", Since: someDay}, ID: "4", Plugin: "tpm", ProtectsFrom: "Some.", NotFrom: "Others."},
		{UnsealMethod: UnsealMethod{Kind: "shares", Fingerprint: "mnop", Since: someDay, Threshold: 2, Total: 3}, ID: "5", ProtectsFrom: "Some.", NotFrom: "Others."}}},
	"unseal methods wrong": UnsealMethods{Tabs: operatorTabs, Problem: "No.", Rows: []OperatorMethod{{UnsealMethod: UnsealMethod{Kind: "passphrase", Since: someDay}, ID: "2", Last: true}},
		Master: MasterKey{Fingerprint: "abcd", Since: someDay, Rekey: wrongKeys, Rotate: wrongKeys},
		Forms:  map[string]Form{"passphrase": wrongMethod, "key-file": wrongMethod, "recovery-key": wrongMethod, "shares": wrongMethod}},
	"new recovery key": MadeUnsealMethod{Tabs: operatorTabs, Key: "AGE-SECRET-KEY-PQ-1QQ", Method: OperatorMethod{UnsealMethod: UnsealMethod{Kind: "recovery-key", Fingerprint: "abcd"}, Label: "safe"}},
	"new key file":     MadeUnsealMethod{Tabs: operatorTabs, Key: "AGE-SECRET-KEY-PQ-1QQ", Method: OperatorMethod{UnsealMethod: UnsealMethod{Kind: "key-file", Fingerprint: "abcd"}, KeyFile: "/etc/x.key"}},
	"new shares": MadeUnsealMethod{Tabs: operatorTabs, Shares: []MadeShare{{1, "COFFER-SHARE-1-AAAAAA"}, {2, "COFFER-SHARE-1-BBBBBB"}},
		Method: OperatorMethod{UnsealMethod: UnsealMethod{Kind: "shares", Fingerprint: "abcd", Threshold: 2, Total: 2}, Label: "board"}},
}

var (
	underWay = MasterKey{Fingerprint: "abcd", Since: someDay, Once: "x", UnderWay: []Rotation{
		{What: "The root key is being", Since: someDay, Done: 3, Total: 10}, {What: "The data keys of all vaults are being", Since: someDay}}}
	wrongKeys  = Form{Problem: "No.", Values: map[string]string{"repoFullName": "x"}, Problems: map[string]string{"repoFullName": "No.", "confirm": "No."}}
	evilKeys   = Form{Problem: evil, Values: map[string]string{"repoFullName": evil}, Problems: map[string]string{"repoFullName": evil, "confirm": evil}}
	evilMaster = MasterKey{Fingerprint: evil, Once: evil, UnderWay: []Rotation{{What: evil}}, Rekey: evilKeys, Rotate: evilKeys}

	wrongMethod = Form{Problem: "No.", Values: map[string]string{"label": "x", "keyFile": "x", "threshold": "x", "total": "x"},
		Problems: map[string]string{"passphrase": "No.", "again": "No.", "keyFile": "No.", "threshold": "No.", "total": "No."}}
	evilMethod = Form{Problem: evil, Values: map[string]string{"label": evil, "keyFile": evil, "threshold": evil, "total": evil},
		Problems: map[string]string{"passphrase": evil, "again": evil, "keyFile": evil, "threshold": evil, "total": evil}}
	evilOpener = OperatorMethod{UnsealMethod: UnsealMethod{Kind: evil, Fingerprint: evil}, ID: evil, Label: evil, KeyFile: evil, Plugin: evil, ProtectsFrom: evil, NotFrom: evil}
)

var unsealMethodEvils = map[string]Page{
	"unseal methods": UnsealMethods{Problem: evil, Once: evil, Master: evilMaster, Rows: []OperatorMethod{evilOpener},
		Forms: map[string]Form{"passphrase": evilMethod, "key-file": evilMethod, "recovery-key": evilMethod, "shares": evilMethod}},
	"new key":    MadeUnsealMethod{Key: evil, Method: evilOpener},
	"new shares": MadeUnsealMethod{Shares: []MadeShare{{1, evil}}, Method: evilOpener},
}
