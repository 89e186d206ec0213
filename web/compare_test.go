package web

import (
	"strings"
	"testing"
)

var compareSamples = map[string]Page{
	"compare": Compare{
		Frame: matrixFrame, Environments: []string{"development", "production"}, Compared: true,
		Form: Form{Values: map[string]string{"left": "production", "at": "4", "right": "development"}},
		Left: ComparedSide{Name: "production at revision 4", At: someDay, Incomplete: true}, Right: ComparedSide{Name: "development now"},
		OnlyLeft: []string{"A"}, OnlyRight: []string{"B", "C"}, Different: []string{"D"}, Same: []string{"E"},
		Swap: "/vaults/acme/api/compare?left=development&right=production&rightAt=4",
	},
	"compare alike": Compare{
		Frame: matrixFrame, Environments: []string{"development"}, Compared: true, Swap: "/vaults/acme/api/compare",
		Left: ComparedSide{Name: "a"}, Right: ComparedSide{Name: "b"},
	},
	"compare wrong":   Compare{Frame: matrixFrame, Environments: []string{"development"}, Form: Form{Problem: "No.", Problems: map[string]string{"at": "No time."}}},
	"compare nothing": Compare{Frame: matrixFrame},
}

var compareEvils = map[string]Page{
	"compare": Compare{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Environments: []string{evil}, Compared: true,
		Form: Form{Values: map[string]string{"left": evil, "at": evil, "rightAt": evil}, Problem: evil, Problems: map[string]string{"at": evil, "rightAt": evil}},
		Left: ComparedSide{Name: evil, Incomplete: true}, Right: ComparedSide{Name: evil, Incomplete: true},
		OnlyLeft: []string{evil}, OnlyRight: []string{evil}, Different: []string{evil}, Same: []string{evil}, Swap: "/" + evil,
	},
}

func TestAComparisonSaysInWordsHowKeysDiffer(t *testing.T) {
	text := rendered(t, "", compareSamples["compare"])
	for _, part := range []string{">Different values (1)<", ">Only in production at revision 4 (1)<", ">Only in development now (2)<", ">The same (1)<",
		"<option selected>production</option>", "Not all of production at revision 4 is left"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}
