package web

import (
	"html"
	"strings"
	"testing"
)

var rawFile = FileEnvironment{"production", "protected", "/vaults/acme/api/raw/production", 2, true}

var rawSamples = map[string]Page{
	"raw":       Raw{Frame: matrixFrame, File: rawFile},
	"raw shown": Raw{Frame: matrixFrame, File: rawFile, Shown: true, Text: "A=1\n", Base: 7, Form: Form{Problem: "No."}, Problems: []EnvProblem{{1, "No."}}},
	"raw long":  Raw{Frame: matrixFrame, File: rawFile, Shown: true, Text: "A=1\n", TooLong: true},
	"raw read":  Raw{Frame: matrixFrame, File: FileEnvironment{"staging", "standard", "/vaults/acme/api/raw/staging", 1, false}, Shown: true, Text: "A=1\n", ReadOnly: "The plan."},
}

var rawEvils = map[string]Page{
	"raw": Raw{Frame: matrixFrame, File: FileEnvironment{evil, evil, "/" + evil, 2, true}, Shown: true, Text: "</textarea>" + evil,
		Form: Form{Problem: evil}, Problems: []EnvProblem{{1, evil}}, ReadOnly: evil},
	"raw hidden": Raw{Frame: matrixFrame, File: FileEnvironment{evil, evil, "/" + evil, 2, false}, Text: evil},
}

// TestAFileIsShownAsItIs: browsers leave out a line break that a text begins with,
// so there is one more.
func TestAFileIsShownAsItIs(t *testing.T) {
	const text = "\n\nA='</textarea> &amp; <b>'\n"
	got := rendered(t, "", Raw{Frame: matrixFrame, File: rawFile, Shown: true, Text: text})
	_, got, _ = strings.Cut(got, `aria-describedby="text-hint">`)
	got, _, _ = strings.Cut(got, "</textarea>")
	if html.UnescapeString(got) != "\n"+text {
		t.Errorf("%q", got)
	}
}

func TestAHiddenFileHoldsNoValue(t *testing.T) {
	if got := rendered(t, "", Raw{Frame: matrixFrame, File: rawFile, Text: "A=canary\n"}); strings.Contains(got, "canary") || !strings.Contains(got, "Show and edit") {
		t.Errorf("%s", got)
	}
}
