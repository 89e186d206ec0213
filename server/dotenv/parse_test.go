package dotenv

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReadsFilesAsPeopleWriteThem(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"bare":                          {"K=value\n", "value"},
		"empty":                         {"K=\n", ""},
		"blanks around =":               {"  K = value  \n", "value"},
		"equals signs in the value":     {"K=a=b==\n", "a=b=="},
		"export":                        {"export K=value\n", "value"},
		"export, tab":                   {"\texport\tK='value'\n", "value"},
		"byte order mark":               {"\ufeffK=value\n", "value"},
		"CRLF":                          {"# c\r\nK=value\r\n", "value"},
		"CRLF, quoted over lines":       {"K=\"a\r\nb\"\r\n", "a\nb"},
		"CR alone inside quotes":        {"K='a\rb'\n", "a\rb"},
		"no line end at the end":        {"#\nK=value", "value"},
		"comment after a blank":         {"K=value # comment\n", "value"},
		"comment after a tab":           {"K=value\t# comment\n", "value"},
		"comment instead of a value":    {"K= # comment\n", ""},
		"hash inside a word":            {"K=pass#word\n", "pass#word"},
		"hash first":                    {"K=#fff\n", "#fff"},
		"backslash and dollar, bare":    {"K=C:\\new$x\n", `C:\new$x`},
		"quotes inside a bare value":    {"K=don't \"do\" it\n", `don't "do" it`},
		"unicode":                       {"K=naïve 日本🔑\n", "naïve 日本🔑"},
		"non-breaking blank is kept":    {"K=\u00a0x\u00a0\n", "\u00a0x\u00a0"},
		"single quotes are literal":     {`K='a\n$b "c" # d'` + "\n", `a\n$b "c" # d`},
		"single quotes, comment":        {"K='a' # it's\n", "a"},
		"comment right after a quote":   {"K='a'#b\n", "a"},
		"apostrophe in single quotes":   {"K='it's'\n", "it's"},
		"backticks":                     {"K=`it's \"x\" \\n`\n", `it's "x" \n`},
		"backticks over lines":          {"K=`a\nb`\n", "a\nb"},
		"double quotes, escapes":        {`K="\n\r\t\"\\\$` + "\\`\"\n", "\n\r\t\"\\$`"},
		"double quotes, other escapes":  {`K="C:\dir\'x"` + "\n", `C:\dir\'x`},
		"double quotes, escaped end":    {`K="dir\\" # c` + "\n", `dir\`},
		"double quotes, comment":        {"K=\"a # b\" # c \"d\"\n", "a # b"},
		"double quotes over lines":      {"K=\"a\n\n# b\n c\"\n", "a\n\n# b\n c"},
		"PEM over lines":                {"K='-----BEGIN K-----\nMI==\n-----END K-----\n'\n", "-----BEGIN K-----\nMI==\n-----END K-----\n"},
		"PEM with escapes":              {`K="-----BEGIN K-----\nMI==\n-----END K-----\n"` + "\n", "-----BEGIN K-----\nMI==\n-----END K-----\n"},
		"JSON, escaped":                 {`K="{\"key\":\"a\\nb\"}"` + "\n", `{"key":"a\nb"}`},
		"JSON, not escaped":             {`K="{"key":"a\nb"}"` + "\n", "{\"key\":\"a\nb\"}"},
		"lone quote at the end of line": {"K=\"\nx\"\n", "\nx"},
		"backslash before the quote":    {"K=\"it's C:\\\"\nL=\"x\"\n", `it's C:\`},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := Parse([]byte(c.file))
			if err != nil {
				t.Fatal(err)
			}
			if got := Values(entries)["K"]; got != c.want {
				t.Errorf("%q: %q, want %q", c.file, got, c.want)
			}
		})
	}
}

func TestParseNamesPlaceAndRemedy(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unclosed":              {"A=1\nKEY=\"hunter2\n#\n", "line 2, column 5: " + adviceUnclosed},
		"unclosed, wide text":   {"  é", "line 1, column 3: " + adviceNoEquals},
		"closed by a later one": {"A=\"hunter2\nB=\"x\"\n", "line 1, column 3: the quote opened here ends at line 2, column 3, and text follows there; close it before, or escape the quotes inside"},
		"text after the quote":  {"A='hunter2'x\n", "line 1, column 12: " + adviceTail},
		"glued for a shell":     {`A='hun'\''ter2'` + "\n", "line 1, column 8: " + adviceTail},
		"no equals":             {"A=-----BEGIN-----\nMIIhunter2\n", "line 2, column 1: " + adviceNoEquals},
		"no key":                {"A=1\n =hunter2\n", "line 2, column 2: " + adviceNoKey},
		"blank in the key":      {"hunter 2=x\n", "line 1, column 7: " + adviceKey},
		"digit first":           {"2hunter=x\n", "line 1, column 1: " + adviceKey},
		"not UTF-8":             {"A=1\nB=é\xff\n", "line 2, column 4: " + adviceUTF8},
		"NUL":                   {"A=\x00\n", "line 1, column 3: " + adviceNUL},
		"UTF-16":                {"\xff\xfeA\x00", "line 1, column 1: the file is UTF-16; save it as UTF-8"},
		"CR as line end":        {"A=hunter2\rB=2\n", "line 1, column 10: " + adviceCR},
		"CR as line end, quote": {"A=\"hunter2\"\rB=\"2\"\n", "line 1, column 13: " + adviceTail},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := Parse([]byte(c.file))
			if err == nil || err.Error() != c.want {
				t.Errorf("%q: %v, want %s", c.file, err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter") || entries != nil) {
				t.Errorf("%q: the error tells the file's text, or entries came with it", c.file)
			}
		})
	}
}

func TestParseReadsTheVectorsBack(t *testing.T) {
	for _, v := range vectors(t) {
		for _, file := range []string{"K=" + v.text, "K=" + v.text + "\n", "# kept by hand\nK=" + v.text + "\n"} {
			entries, err := Parse([]byte(file))
			if err != nil {
				t.Fatalf("%q: %v", file, err)
			}
			if got := Values(entries)["K"]; got != v.value || entries[0].Ambiguous {
				t.Errorf("%q: %q, want %q; ambiguous %v", file, got, v.value, entries[0].Ambiguous)
			}
		}
	}
}

func TestBackslashesMeanWhatTheWriterOfTheFileMeant(t *testing.T) {
	for _, c := range []struct {
		text, encoded, kept string
	}{
		{`"it's \"x\""`, `it's \"x\"`, `it's "x"`},
		{`"\\host\n"`, "\\\\host\n", "\\host\n"},
		{`"it's" # "x"`, `it's" # "x`, `it's`},
	} {
		for file, want := range map[string]string{"K=" + c.text: c.encoded, "K=" + c.text + "\n": c.kept} {
			entries, err := Parse([]byte(file))
			if err != nil {
				t.Fatalf("%q: %v", file, err)
			}
			if e := entries[0]; e.Value != want || !e.Ambiguous {
				t.Errorf("%q: %q, want %q; ambiguous %v", file, e.Value, want, e.Ambiguous)
			}
		}
	}
}

func TestStoredValueIsRecognisedWhereTwoShareAText(t *testing.T) {
	stored := "{\n \"private_key\": \"a\\nb\"\n}"
	entries, err := Parse([]byte(Encode(map[string]string{"K": stored})))
	if err != nil {
		t.Fatal(err)
	}
	if e := entries[0]; e.Value == stored || !e.Encodes(stored) || e.Encodes(stored+"x") {
		t.Errorf("value %q, encodes %v", e.Value, e.Encodes(stored))
	}
}

func TestEntriesKeepLinesAndReportDuplicates(t *testing.T) {
	entries, err := Parse([]byte("# c\nB='1\n2' # x\nA=1\n\nexport B=3\nA=4\nC=5\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Key: "B", Value: "1\n2", Line: 2, Text: "'1"},
		{Key: "A", Value: "1", Line: 4, Text: "1"},
		{Key: "B", Value: "3", Line: 6, Text: "3"},
		{Key: "A", Value: "4", Line: 7, Text: "4"},
		{Key: "C", Value: "5", Line: 8, Text: "5"},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Duplicate{{"B", []int{2, 6}}, {"A", []int{4, 7}}}, Duplicates(entries)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"A": "4", "B": "3", "C": "5"}, Values(entries)); diff != "" {
		t.Error(diff)
	}
}

func TestEntryPrintsWithoutItsValue(t *testing.T) {
	e := Entry{Key: "K", Value: "hunter2", Line: 3, Text: "'hunter2'"}
	data, err := json.Marshal([]Entry{e})
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %v %s", e, e, e, e, []Entry{e}, data) + e.LogValue().String()
	if strings.Contains(printed, "hunter2") || !strings.Contains(printed, "K (line 3)") {
		t.Error(printed)
	}
}

func TestWriteQuotesAsLittleAsItCan(t *testing.T) {
	for value, want := range map[string]string{
		"":             "K=\n",
		"0123":         "K=0123\n",
		"a/b:c=@%+,.":  "K=a/b:c=@%+,.\n",
		"two words":    "K='two words'\n",
		"~":            "K='~'\n",
		`a\nb"$c`:      "K='a\\nb\"$c'\n",
		"a\nb":         "K='a\nb'\n",
		"it's":         "K=\"it's\"\n",
		"it's $x\n`\\": "K=\"it's \\$x\n\\`\\\\\"\n",
		"a\r\nb":       "K=\"a\\r\\nb\"\n",
	} {
		if got := Write([]Entry{{Key: "K", Value: value}}); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	if got := Write(Entries(map[string]string{"B": "2", "A": "1"})); got != "A=1\nB=2\n" {
		t.Errorf("got %q", got)
	}
}
