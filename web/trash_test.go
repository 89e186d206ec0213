package web

import (
	"strings"
	"testing"
)

var trashSamples = map[string]Page{
	"trash": Trash{
		Frame: matrixFrame, At: "/vaults/acme/api/trash?offset=25", Now: someDay, CanEmpty: true,
		Rows: []TrashRow{
			{ID: "1", Key: "A", Environment: "production", Deleted: someDay, Expires: someDay, Days: 1, CanWrite: true},
			{ID: "2", Key: "B", Environment: "production", Deleted: someDay, Expires: someDay, Days: 30},
			{ID: "3", Key: "C", Environment: "production", Deleted: someDay, Expires: someDay, Days: 30, CanWrite: true},
		},
		Pager: Pager{From: 26, To: 28, Total: 60, Previous: "/vaults/acme/api/trash", Next: "/vaults/acme/api/trash?offset=50"},
		Of:    "3", Destroy: Form{Values: map[string]string{"confirm": "X"}, Problems: map[string]string{"confirm": "No."}, Problem: "Nothing."},
	},
	"trash to look at": Trash{Frame: matrixFrame, At: "/x", Rows: []TrashRow{{ID: "1", CanWrite: true}}, ReadOnly: "The plan."},
	"trash not emptied": Trash{Frame: matrixFrame, At: "/x", Rows: []TrashRow{{ID: "1"}}, CanEmpty: true,
		Destroy: Form{Problems: map[string]string{"confirm": "No."}, Problem: "Nothing."}},
	"no trash":        Trash{Frame: matrixFrame, At: "/x"},
	"no trash here":   Trash{Frame: matrixFrame, At: "/x", Pager: Pager{Previous: "/x"}},
	"settings":        Settings{Frame: matrixFrame, Forge: "GitHub", Private: true, Role: "admin", Created: someDay, Changed: someDay, ReadOnly: "The plan.", CanDelete: true, Delete: Form{Problem: "Nothing.", Problems: map[string]string{"confirm": "No."}}},
	"settings to see": Settings{Frame: matrixFrame, Role: "read", Created: someDay, Changed: someDay},
	"settings gone":   Settings{Frame: matrixFrame, Created: someDay, Changed: someDay, Gone: true, CanDelete: true},
}

var trashEvils = map[string]Page{
	"trash": Trash{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, At: "/" + evil, CanEmpty: true, Of: evil,
		Rows:    []TrashRow{{ID: evil, Key: evil, Environment: evil, CanWrite: true}},
		Pager:   Pager{Previous: "/" + evil, Next: "/" + evil},
		Destroy: Form{Values: map[string]string{"confirm": evil}, Problems: map[string]string{"confirm": evil}, Problem: evil},
	},
	"read only": Trash{Frame: matrixFrame, ReadOnly: evil},
	"settings": Settings{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Forge: evil, Role: evil, ReadOnly: evil, CanDelete: true,
		Delete: Form{Values: map[string]string{"confirm": evil}, Problems: map[string]string{"confirm": evil}, Problem: evil},
	},
}

// TestWhatWasTypedStaysWithItsRow, and opens only that one.
func TestWhatWasTypedStaysWithItsRow(t *testing.T) {
	text := rendered(t, "", trashSamples["trash"])
	_, third, _ := strings.Cut(text, "<h2><code>C</code>")
	for _, part := range []string{"<details open>", `id="confirm-3" name="confirm" value="X"`, `id="confirm-wrong"`} {
		if strings.Count(text, part) != 1 || !strings.Contains(third, part) {
			t.Errorf("%s is not where it belongs: %s", part, text)
		}
	}
}
