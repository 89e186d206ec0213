package access

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRolesAreOrderedAndKeepTheirWireNames(t *testing.T) {
	want := []string{"read", "triage", "write", "maintain", "admin"}
	last := None
	for i, r := range Roles() {
		if r <= last || r.String() != want[i] {
			t.Errorf("%s after %s", r, last)
		}
		if got, err := ParseRole(want[i]); err != nil || got != r {
			t.Errorf("ParseRole(%q) = %v, %v", want[i], got, err)
		}
		last = r
	}
	for _, name := range []string{"", "none", "Admin", "owner"} {
		if r, err := ParseRole(name); err == nil || r != None {
			t.Errorf("ParseRole(%q) = %v", name, r)
		}
	}
	for _, r := range []Role{None, 6, 255} {
		if _, err := r.MarshalText(); err == nil {
			t.Errorf("%s has a wire name", r)
		}
	}
}

func TestEnvironmentTypesAreInferredFromTheName(t *testing.T) {
	for name, want := range map[string]EnvType{
		"production": Protected, "prod": Protected, "main": Protected, "master": Protected, "PRODUCTION": Protected,
		"development": Development, "dev": Development, "local": Development, "Dev": Development,
		"staging": Standard, "preview": Standard, "deploy-preview": Standard, "production-eu": Standard, "": Standard,
	} {
		if got := Infer(name); got != want {
			t.Errorf("Infer(%q) = %s, want %s", name, got, want)
		}
	}
	for _, et := range EnvTypes() {
		if got, err := ParseEnvType(et.String()); err != nil || got != et {
			t.Errorf("%s parses as %s, %v", et, got, err)
		}
	}
	if _, err := ParseEnvType("Protected"); err == nil {
		t.Error("a type is found under a name that is not its own")
	}
}

func TestUnknownTypeIsTreatedAsProtected(t *testing.T) {
	for _, et := range []EnvType{0, 4, 255} {
		for _, r := range Roles() {
			if Matrix(r, et) != Matrix(r, Protected) {
				t.Errorf("%s on %s: %v", r, et, Matrix(r, et))
			}
		}
		if got := TestKey(Rights{true, true}, et); got != (Rights{}) {
			t.Errorf("test key on %s: %v", et, got)
		}
		if !SyncNeedsAdmin(Standard, et) || !SyncNeedsAdmin(et, Standard) {
			t.Errorf("sync with %s needs no admin", et)
		}
	}
}

func TestSyncIntoMoreProtectedNeedsAdmin(t *testing.T) {
	types := EnvTypes()
	for i, source := range types {
		for j, target := range types {
			if got := SyncNeedsAdmin(source, target); got != (j > i) {
				t.Errorf("%s to %s: %v", source, target, got)
			}
		}
	}
}

func TestScopesAreASet(t *testing.T) {
	set, err := ParseScopes([]string{"admin:api-keys", "read:secrets", "read:secrets"})
	if err != nil || set != ScopesOf(ReadSecrets, AdminKeys) {
		t.Fatalf("%s, %v", set, err)
	}
	if diff := cmp.Diff([]string{"read:secrets", "admin:api-keys"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	if !set.Has(AdminKeys) || set.Has(WriteSecrets) || !set.SubsetOf(All) || All.SubsetOf(set) || !Scopes(0).SubsetOf(set) {
		t.Error("wrong membership")
	}
	if len(All.Names()) != 4 || Scopes(0).Names() == nil {
		t.Errorf("all: %q, none: %q", All.Names(), Scopes(0).Names())
	}
	if _, err := ParseScopes([]string{"read:secrets", "read"}); err == nil {
		t.Error("an unknown scope is accepted")
	}
}

func TestDefaultsAreKeyedByWireNames(t *testing.T) {
	var d Defaults
	if err := json.Unmarshal([]byte(`{"write":{"protected":{"read":false}}}`), &d); err != nil {
		t.Fatal(err)
	}
	no := false
	if diff := cmp.Diff(Defaults{Write: {Protected: {Read: &no}}}, d); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{"owner":{}}`, `{"read":{"prod":{}}}`, `{"read":{"standard":{"read":1}}}`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestActionsHaveCompleteRowsWithNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Actions() {
		row := a.Row()
		if row.Name == "" || seen[row.Name] || row.Kinds == 0 {
			t.Errorf("action %d: row %+v", a, row)
		}
		seen[row.Name] = true
		if row.Rights != (Rights{}) && row.Role == None {
			t.Errorf("%s asks for a right, but for no role", a)
		}
		if row.Scopes == 0 && row.Kinds&APIKey != 0 && a != TokenValidate {
			t.Errorf("%s is open to API keys of any scope", a)
		}
	}
	if len(seen) != int(actionEnd)-1 {
		t.Errorf("%d actions", len(seen))
	}
}

func TestUnknownActionPanicsRatherThanBeGranted(t *testing.T) {
	for _, a := range []Action{0, actionEnd, 255} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s has a row", a)
				}
			}()
			a.Row()
		}()
	}
}

func TestCredentialAloneDecidesFirst(t *testing.T) {
	for _, c := range []struct {
		action Action
		kind   Kinds
		scopes Scopes
		want   Denial
	}{
		{Pull, APIKey, ScopesOf(ReadSecrets), Granted},
		{Pull, APIKey, All &^ ScopesOf(ReadSecrets), ScopeDenied},
		{Push, PAT, All, Granted},
		{TrashList, APIKey, ScopesOf(DeleteSecrets), Granted},
		{TrashList, APIKey, ScopesOf(ReadSecrets), Granted},
		{TrashList, APIKey, ScopesOf(WriteSecrets, AdminKeys), ScopeDenied},
		{KeyCreate, PAT, All, ScopeDenied},
		{KeyCreate, APIKey, ScopesOf(AdminKeys), Granted},
		{KeyList, PAT, All, Granted},
		{OverrideCreate, APIKey, All, ScopeDenied},
		{OverrideCreate, PAT, All, Granted},
		{Logout, PAT, All, ScopeDenied},
		{Logout, JWT, All, Granted},
		{DeviceApprove, JWT, All, ScopeDenied},
		{DeviceApprove, Session, All, Granted},
		{TokenValidate, APIKey, 0, Granted},
		{SystemSeal, Session, All, ScopeDenied},
		{SystemSeal, Session | OperatorSession, All, Granted},
		{SystemSeal, JWT, All, ScopeDenied},
		{SystemSeal, Operator, 0, Granted},
		{TokenIssue, Session | OperatorSession, All, ScopeDenied},
		{SignIn, Session | OperatorSession, All, ScopeDenied},
		{Pull, Session | OperatorSession, All, Granted},
		{Pull, OperatorSession, All, ScopeDenied},
		{TokenValidate, 0, All, ScopeDenied},
	} {
		if got := c.action.Admit(c.kind, c.scopes); got != c.want {
			t.Errorf("%s by %s with %s: %q, want %q", c.action, c.kind, c.scopes, got, c.want)
		}
	}
}

func TestFirstReasonThatAppliesIsGiven(t *testing.T) {
	both := Rights{Read: true, Write: true}
	for name, c := range map[string]struct {
		action Action
		facts  Facts
		want   Denial
	}{
		"no role beats everything":         {Push, Facts{ReadOnly: true, Rights: both, Type: Protected, TestKey: true}, NoRole},
		"no role, though owner":            {OverrideCreate, Facts{Standing: Owner}, NoRole},
		"role too low":                     {VaultDelete, Facts{Role: Maintain, TestKey: true}, RoleTooLow},
		"owner instead of admin":           {OverrideCreate, Facts{Role: Read, Standing: Owner}, Granted},
		"member instead of admin":          {OverrideCreate, Facts{Role: Maintain, Standing: Member}, RoleTooLow},
		"owner is no admin elsewhere":      {VaultDelete, Facts{Role: Write, Standing: Owner}, RoleTooLow},
		"right before test key":            {Push, Facts{Role: Write, Rights: Rights{Read: true}, Type: Protected, TestKey: true}, Environment},
		"test key before plan":             {Push, Facts{Role: Admin, Rights: both, Type: Protected, TestKey: true, ReadOnly: true}, TestKeyUsed},
		"test key elsewhere":               {Push, Facts{Role: Admin, Rights: both, Type: Standard, TestKey: true}, Granted},
		"test key deletes no vault":        {VaultDelete, Facts{Role: Admin, TestKey: true}, TestKeyUsed},
		"test key, protected environment":  {EnvironmentRename, Facts{Role: Admin, TestKey: true, Type: Protected}, TestKeyUsed},
		"test key, type not said":          {EnvironmentRename, Facts{Role: Admin, TestKey: true}, TestKeyUsed},
		"test key, other environment":      {EnvironmentRename, Facts{Role: Admin, TestKey: true, Type: Standard}, Granted},
		"read-only vault":                  {SecretCreate, Facts{Role: Admin, Rights: both, Type: Standard, ReadOnly: true}, PlanDenied},
		"read-only vault, read":            {Pull, Facts{Role: Admin, Rights: both, Type: Standard, ReadOnly: true}, Granted},
		"read-only vault, trash deletion":  {TrashDelete, Facts{Role: Admin, Rights: both, Type: Standard, ReadOnly: true}, Granted},
		"dry run needs to read as well":    {PushDryRun, Facts{Role: Write, Rights: Rights{Write: true}, Type: Standard}, Environment},
		"push needs not":                   {Push, Facts{Role: Write, Rights: Rights{Write: true}, Type: Standard}, Granted},
		"outsider":                         {OrgGet, Facts{}, RoleTooLow},
		"member starts no trial":           {OrgTrialStart, Facts{Standing: Member}, RoleTooLow},
		"member with our app starts trial": {OrgTrialStart, Facts{Standing: Installer}, Granted},
		"member with our app is no owner":  {OrgUpdate, Facts{Standing: Installer}, RoleTooLow},
		"about nobody else":                {UserMe, Facts{}, Granted},
	} {
		if got := c.action.Decide(c.facts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if !slices.IsSorted(Actions()) {
		t.Error("actions out of order")
	}
}
