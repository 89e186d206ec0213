package web

import (
	"strings"
	"testing"
)

var matrixFrame = Frame{User: "ann", Inside: &Inside{Name: "acme/api", At: "/vaults/acme/api"}}

var matrixSamples = map[string]Page{
	"matrix": Matrix{
		Frame: matrixFrame, Search: Search{At: "/vaults/acme/api", Label: "Search keys", Query: "A", Keep: []Kept{{"show", "differs"}}},
		Filters: []Filter{{"All", "/vaults/acme/api?q=A", 2, false}, {"Different values", "/vaults/acme/api?q=A&show=differs", 1, true}},
		Columns: []MatrixColumn{{"development", "development", 2, true, 7}, {"production", "protected", 1, false, 8}},
		Rows: []MatrixRow{
			{Key: "A", Differs: true, Cells: []MatrixCell{
				{Environment: "development", Secret: "1", Same: "A", Updated: someDay, By: "bob", Changed: true},
				{Environment: "production", Secret: "2", Same: "B", Updated: someDay},
			}},
			{Key: "AB", Cells: []MatrixCell{{Environment: "development", Secret: "3", Same: "A"}, {Environment: "production"}}},
			{Key: "B", Cells: []MatrixCell{{Environment: "development"}, {Environment: "production", Secret: "4", Same: "A"}}},
		},
		Pager: Pager{From: 1, To: 2, Total: 3, Next: "/vaults/acme/api?offset=2"}, ReadOnly: "The plan.", Now: someDay,
	},
	"matrix nothing found":   Matrix{Frame: matrixFrame, Search: Search{At: "/vaults/acme/api"}, Columns: []MatrixColumn{{"development", "development", 2, true, 7}}},
	"matrix empty":           Matrix{Frame: matrixFrame, Columns: []MatrixColumn{{"development", "development", 0, true, 7}}},
	"matrix nothing to read": Matrix{Frame: matrixFrame},
	"matrix gone":            Matrix{Frame: matrixFrame, Gone: true},
}

var matrixEvils = map[string]Page{
	"matrix": Matrix{
		Frame:   Frame{Inside: &Inside{Name: evil, At: "/" + evil}},
		Search:  Search{Query: evil},
		Filters: []Filter{{evil, "/" + evil, 1, false}}, ReadOnly: evil,
		Columns: []MatrixColumn{{evil, evil, 1, false, 1}, {evil, evil, 1, true, 1}},
		Rows:    []MatrixRow{{Key: evil, Cells: []MatrixCell{{Environment: evil, Secret: evil, Same: evil, By: evil, Changed: true}, {Environment: evil}}}},
	},
	"matrix empty": Matrix{Frame: matrixFrame, Columns: []MatrixColumn{{Name: evil}}},
}

// TestTheMatrixSaysInWordsWhatACellIs, not by colour alone.
func TestTheMatrixSaysInWordsWhatACellIs(t *testing.T) {
	text := rendered(t, "", matrixSamples["matrix"])
	for _, part := range []string{">differs: A<", ">differs: B<", ">set<", ">missing<", ">protected<", ">read only<", `<th scope="row"><code>AB</code>`, "<caption",
		`href="/vaults/acme/api/secrets/1" aria-label="A in development: differs, A"`,
		`<small title="20 November 2026, 09:15 UTC">changed just now by bob</small>`,
		`href="/vaults/acme/api/secrets/3" aria-label="AB in development: set"`,
		`href="/vaults/acme/api/secrets/set?environment=development&amp;key=B" aria-label="B in development: missing, set it"`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}
