package web

import (
	"strings"
	"testing"
)

var someDefaults = []Default{{"read", []Rights{{true, false}, {true, false}, {}}}, {"admin", []Rights{{true, true}, {true, true}, {false, true}}}}

var accessSamples = map[string]Page{
	"access": Access{
		Frame: matrixFrame, Role: "admin", Columns: []string{"development", "production"}, Mine: []Rights{{true, true}, {}}, CanManage: true,
		People: []Person{
			{ID: "1", Name: "ann", Role: "admin", Rights: []Rights{{true, true}, {false, true}}},
			{Name: "robot", Role: "read", Bot: true, Rights: []Rights{{true, false}, {}}},
		},
		Overrides: []Override{
			{ID: "1", Who: "bob", Environment: "production", Rights: Rights{true, false}, By: "ann", When: someDay},
			{ID: "2", Who: "write", IsRole: true, Environment: "*", When: someDay},
			{ID: "3", Environment: "*", When: someDay},
		},
		Roles: []string{"read", "admin"}, Defaults: someDefaults,
		Create: Form{Values: map[string]string{"target": "user:1", "environment": "production", "canRead": "on"}, Problem: "Nothing.",
			Problems: map[string]string{"target": "No.", "environment": "No."}},
	},
	"access of an owner":  Access{Frame: matrixFrame, Role: "read", CanManage: true, Members: []Person{{ID: "1", Name: "ann", Role: "owner"}}, Columns: []string{"a"}, Mine: []Rights{{}}},
	"access to look at":   Access{Frame: matrixFrame, Role: "read", Columns: []string{"development"}, Mine: []Rights{{true, false}}, Defaults: someDefaults},
	"access to nothing":   Access{Frame: matrixFrame, Role: "read", Defaults: someDefaults},
	"access without list": Access{Frame: matrixFrame, Role: "admin", Unlisted: "The code host is down.", CanManage: true, Columns: []string{"a"}, Mine: []Rights{{}}},
}

var accessEvils = map[string]Page{
	"access": Access{
		Frame: Frame{User: evil, Inside: &Inside{Name: evil, At: "/" + evil}}, Role: evil, Columns: []string{evil}, CanManage: true, Unlisted: evil,
		Members:   []Person{{ID: evil, Name: evil, Role: evil}},
		People:    []Person{{ID: evil, Name: evil, Role: evil, Rights: []Rights{{}}}},
		Overrides: []Override{{ID: evil, Who: evil, Environment: evil, By: evil}, {ID: evil, Who: evil, IsRole: true}},
		Roles:     []string{evil}, Defaults: []Default{{Role: evil}},
		Create: Form{Values: map[string]string{"target": evil, "environment": evil}, Problems: map[string]string{"target": evil, "environment": evil}, Problem: evil},
	},
	"access to look at": Access{Frame: Frame{User: evil, Inside: matrixFrame.Inside}, Role: evil, Columns: []string{evil}, Mine: []Rights{{}}},
	"access to nothing": Access{Frame: matrixFrame, Role: evil},
}

func TestRightsAreSaidInWords(t *testing.T) {
	text := rendered(t, "", accessSamples["access"])
	for _, part := range []string{">read and write<", ">read<", ">write only<", ">nothing<", "A user that is gone in all environments", "Role write in all environments",
		`<option value="user:1" selected>ann`, `name="canRead" value="on" checked`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(text, `<option value="user:"`) {
		t.Error("somebody without an account can be chosen")
	}
}
