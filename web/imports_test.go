package web

import (
	"strings"
	"testing"
)

var importSamples = map[string]Page{
	"import": Import{
		Frame: matrixFrame, Form: Form{Values: map[string]string{"environment": "production"}},
		Environments: []FileEnvironment{{"development", "development", "/vaults/acme/api/raw/development", 2, true}, {"production", "protected", "/vaults/acme/api/raw/production", 0, true}},
	},
	"import wrong": Import{
		Frame: matrixFrame, Form: Form{Problem: "No.", Problems: map[string]string{"text": "Nothing."}}, Text: "A", Problems: []EnvProblem{{1, "No."}, {0, "None."}},
		Environments: []FileEnvironment{{"development", "development", "/vaults/acme/api/raw/development", 1, true}},
	},
	"import not":  Import{Frame: matrixFrame, Environments: []FileEnvironment{{"development", "development", "/vaults/acme/api/raw/development", 1, false}}},
	"import late": Import{Frame: matrixFrame, ReadOnly: "The plan."},
	"import preview": ImportPreview{
		Frame: matrixFrame, Environment: "production", Type: "protected", Action: "/vaults/acme/api/import", Back: "/vaults/acme/api/import", Draft: "sealed",
		Rows: []ImportRow{
			{Key: "A", Line: 1, Change: "create", Ticked: true},
			{Key: "B", Line: 2, Change: "update", Stale: true, Field: Field{"secrets.B", "", "Too long."}},
			{Key: "C", Line: 3, Change: "unchanged"},
		},
		Form: Form{Problem: "Look."}, Problems: []EnvProblem{{4, "It is left out."}}, Missing: []string{"D"}, Changed: []string{"B", "E"},
	},
	"import preview edited":   ImportPreview{Frame: matrixFrame, Environment: "staging", Missing: []string{"D", "E"}, Edited: true, Replace: true, Forgotten: true, Action: "/a", Back: "/b"},
	"import preview left out": ImportPreview{Frame: matrixFrame, Environment: "staging", Rows: []ImportRow{{Key: "C", Line: 3, Change: "unchanged"}}, Missing: []string{"D"}, LeftOut: 1, Action: "/a", Back: "/b"},
}

var importEvils = map[string]Page{
	"import": Import{
		Frame: Frame{Inside: &Inside{Name: evil, At: "/" + evil}}, Form: Form{Problem: evil, Problems: map[string]string{"text": evil, "environment": evil}}, Text: "</textarea>" + evil,
		Environments: []FileEnvironment{{evil, evil, "/" + evil, 1, true}}, Problems: []EnvProblem{{1, evil}}, ReadOnly: evil,
	},
	"import preview": ImportPreview{
		Frame: matrixFrame, Environment: evil, Type: evil, Action: "/" + evil, Back: "/" + evil, Draft: evil, Form: Form{Problem: evil},
		Rows:     []ImportRow{{Key: evil, Change: evil, Field: Field{evil, evil, evil}}},
		Problems: []EnvProblem{{1, evil}}, Missing: []string{evil}, Changed: []string{evil},
	},
}

// TestAnImportOffersWhatCanBeDone, and nothing else.
func TestAnImportOffersWhatCanBeDone(t *testing.T) {
	text := rendered(t, "", importSamples["import preview"])
	for _, part := range []string{`name="secrets.A" checked>`, `name="secrets.B" aria-invalid="true"`, "Also move 1 key that is not in the file", `id="replace" name="replace" aria`, "changed meanwhile", ">Import</button>"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(text, "secrets.C") {
		t.Error("what is unchanged can be chosen")
	}
	text = rendered(t, "", importSamples["import preview edited"])
	if !strings.Contains(text, `name="replace" checked`) || !strings.Contains(text, ">Save</button>") || !strings.Contains(text, "2 keys that are not in the text") {
		t.Errorf("%s", text)
	}
	text = rendered(t, "", importSamples["import preview left out"])
	if strings.Contains(text, `name="replace"`) || strings.Contains(text, `type="submit">Import`) || !strings.Contains(text, "Nothing would change") {
		t.Errorf("%s", text)
	}
	text = rendered(t, "", importSamples["import not"])
	if strings.Contains(text, "<select") || !strings.Contains(text, "nothing that you could import") {
		t.Errorf("%s", text)
	}
}
