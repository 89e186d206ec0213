package web

import (
	"strings"
	"testing"
)

var historySamples = map[string]Page{
	"history": History{
		Frame: matrixFrame, Environment: "production", ReadOnly: "The plan.", Now: someDay,
		Environments: []Filter{{"development", "/vaults/acme/api/history?environment=development", 1, false}, {"production", "/vaults/acme/api/history?environment=production", 42, true}},
		Rows: []RevisionRow{
			{Number: 42, At: someDay, By: "ann", Keys: []string{"A", "B"}, MoreKeys: 3, Current: true, Change: "/vaults/acme/api/compare?left=production&at=41"},
			{Number: 41, At: someDay, Keys: []string{"A"}, Change: "/c", Compare: "/d", RollBack: "/e"},
		},
		Pager: Pager{From: 1, To: 2, Total: 42, Next: "/vaults/acme/api/history?offset=2"},
	},
	"history empty":   History{Frame: matrixFrame, Environment: "production"},
	"history past it": History{Frame: matrixFrame, Environment: "production", Pager: Pager{Total: 3}},
	"history nothing": History{Frame: matrixFrame},
	"rollback": Rollback{
		Frame: matrixFrame, At: "/vaults/acme/api/history/rollback", Environment: "production", Revision: 41, Then: someDay, Base: 43, Incomplete: true,
		Form: Form{Problem: "Somebody."}, Meanwhile: "/m", Back: "/b", Created: []string{"A"}, Updated: []string{"B", "C"}, Deleted: []string{"D"},
	},
	"rollback nothing": Rollback{Frame: matrixFrame, At: "/r", Environment: "production", Revision: 41, Back: "/b"},
}

var historyEvils = map[string]Page{
	"history": History{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Environment: evil, ReadOnly: evil,
		Environments: []Filter{{evil, "/" + evil, 1, false}},
		Rows:         []RevisionRow{{By: evil, Keys: []string{evil}, Change: "/" + evil, Compare: "/" + evil, RollBack: "/" + evil}},
	},
	"rollback": Rollback{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, At: "/" + evil, Environment: evil, Form: Form{Problem: evil}, Meanwhile: "/" + evil, Back: "/" + evil,
		Created: []string{evil}, Updated: []string{evil}, Deleted: []string{evil}, Incomplete: true,
	},
	"rollback nothing": Rollback{Frame: matrixFrame, At: "/r", Environment: evil, Back: "/" + evil},
}

func TestARollbackSaysWhatItChanges(t *testing.T) {
	text := rendered(t, "", historySamples["rollback"])
	for _, part := range []string{">Get their value of then (2)<", ">Come back (1)<", ">Go to the trash (1)<", `name="baseRevision" value="43"`, "Not all of revision 41 is left"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if text := rendered(t, "", historySamples["rollback nothing"]); strings.Contains(text, "baseRevision") {
		t.Errorf("it asks to change nothing: %s", text)
	}
}
