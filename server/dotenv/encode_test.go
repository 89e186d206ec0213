package dotenv

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// vector is a row of the contract's table: value, text, rule.
type vector struct {
	value, text string
	rule        int
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 38 {
		t.Fatalf("%d vectors, the contract has 38", len(rows))
	}
	var vs []vector
	for _, row := range rows {
		vs = append(vs, vector{row[0].(string), row[1].(string), int(row[2].(float64))})
	}
	return vs
}

func TestEncoderWritesTheContractsVectors(t *testing.T) {
	for _, v := range vectors(t) {
		if got := EncodeValue(v.value); got != v.text {
			t.Errorf("rule %d: EncodeValue(%q) = %q, want %q", v.rule, v.value, got, v.text)
		}
		if got := string(Append([]byte("X\n"), "K", v.value)); got != "X\nK="+v.text {
			t.Errorf("rule %d: Append of %q gave %q", v.rule, v.value, got)
		}
		if got := string(Append(nil, "K", []byte(v.value))); got != "K="+v.text {
			t.Errorf("rule %d: Append of the bytes of %q gave %q", v.rule, v.value, got)
		}
		if v.rule == 1 {
			continue
		}
		if got := ClientDecode(v.text); got != v.value {
			t.Errorf("rule %d: ClientDecode(%q) = %q, want %q", v.rule, v.text, got, v.value)
		}
	}
}

func TestEncodeSortsByKeyBytesAndJoinsWithLF(t *testing.T) {
	got := Encode(map[string]string{"B": "2", "A_1": "two words", "AB": "", "A": "x"})
	if want := "A=x\nAB=\nA_1=\"two words\"\nB=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Encode(nil); got != "" {
		t.Errorf("no values gave %q", got)
	}
}

func TestEncoderQuotesEveryCodePointThatIsNotPlain(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == '\r' || r == '\n' || r >= 0xd800 && r < 0xe000 {
			continue
		}
		plain := !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) && !strings.ContainsRune("\"'`\\#$&;|<>()~", r)
		if got := EncodeValue(string(r)) == string(r); got != plain {
			t.Fatalf("U+%04X: written bare %v, plain %v", r, got, plain)
		}
	}
}

func TestGuardKnowsWhatClientsPushBack(t *testing.T) {
	for _, v := range vectors(t) {
		if !SameAfterRoundTrip(v.value, v.value) {
			t.Errorf("%q is not the same as itself", v.value)
		}
		if back := ClientDecode(v.text); !SameAfterRoundTrip(v.value, back) {
			t.Errorf("%q came back as %q and is not the same", v.value, back)
		}
	}
	for _, c := range []struct{ stored, incoming string }{
		{"", "x"}, {"x", ""}, {"a\nb", `a\rb`}, {"a\nb", `a\nc`}, {"a\nb", `a\nb `}, {`a\nb`, "a\nb"},
		{"a\n\nb", "a\n" + `\nb`}, {"a\nb", `a\\nb`}, {"\n", `\`}, {"\n", `\nx`}, {"a b", `"a b"`},
	} {
		if SameAfterRoundTrip(c.stored, c.incoming) {
			t.Errorf("stored %q, incoming %q: taken for the same", c.stored, c.incoming)
		}
	}
}

func TestGuardAllocatesNothing(t *testing.T) {
	stored := strings.Repeat("line of a key\n", 20)
	back := ClientDecode(EncodeValue(stored))
	other := back[1:] + "x"
	if n := testing.AllocsPerRun(100, func() {
		if !SameAfterRoundTrip(stored, back) || SameAfterRoundTrip(stored, other) {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClientParseReadsAsExistingClientsDo(t *testing.T) {
	content := "\ufeff  # comment\n\nA=1\r\n B = x # y \nC='it's'\nD=\"a\\nb\"\nE=\"\nno equals\n=x\nF=`q`\nexport G=1\nA=2"
	want := map[string]string{
		"A": "2", "B": " x # y", "C": "it's", "D": `a\nb`, "E": `"`, "F": "`q`", "export G": "1",
	}
	if diff := cmp.Diff(want, ClientParse(content)); diff != "" {
		t.Error(diff)
	}
}
