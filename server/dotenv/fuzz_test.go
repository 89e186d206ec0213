package dotenv

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzClientReadsBackWhatEncodeWrote(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.value, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !SameAfterRoundTrip(a, ClientDecode(EncodeValue(a))) {
			t.Fatalf("guard does not know %q", a)
		}
		if want := b == a || b == ClientDecode(EncodeValue(a)); SameAfterRoundTrip(a, b) != want {
			t.Fatalf("guard for %q and %q: want %v", a, b, want)
		}
		values := map[string]string{"A": a, "B": b}
		content := Encode(values)
		for key, value := range values {
			if strings.ContainsAny(value, "\r\n") {
				delete(values, key)
			}
		}
		got := ClientParse(content)
		for key, value := range values {
			if got[key] != value {
				t.Fatalf("%q came back as %q", value, got[key])
			}
		}
	})
}

func FuzzParseReadsBackEncode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.value, v.text)
	}
	f.Add(`it's \"x\"`, "\\\n")
	f.Add("{\n \"key\": \"a\\nb\"\n}", `'\r`)
	f.Fuzz(func(t *testing.T, a, b string) {
		values := map[string]string{"A": a, "B_2": b, "C": a + b}
		if !storable(values) {
			t.Skip()
		}
		content := Encode(values)
		entries, err := Parse([]byte(content))
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		got := Values(entries)
		for key, value := range values {
			if got[key] != value && !sharesText(value) {
				t.Fatalf("%q: %s = %q, want %q", content, key, got[key], value)
			}
		}
		if again := Encode(got); again != content {
			t.Fatalf("%q became %q", content, again)
		}
		for _, e := range entries {
			if !e.Encodes(values[e.Key]) {
				t.Fatalf("%q: stored value of %s not recognised", content, e.Key)
			}
		}
	})
}

func FuzzParseReadsBackWrite(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.value, v.text)
	}
	f.Add("'\r\n\\n", "'\\\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		values := map[string]string{"A": a, "B_2": b, "C": a + b}
		if !storable(values) {
			t.Skip()
		}
		file := Write(Entries(values))
		entries, err := Parse([]byte(file))
		if err != nil {
			t.Fatalf("%q: %v", file, err)
		}
		if got := Values(entries); len(entries) != 3 || !maps.Equal(got, values) {
			t.Fatalf("%q: %q, want %q", file, got, values)
		}
	})
}

func FuzzParseNamesAPlaceOrReadsAFixedPoint(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte("K=" + v.text + "\n"))
	}
	f.Add([]byte("\ufeffexport A = 'x' # c\r\nB=\"a\nb\" \n#\nC=`x\ny`\nD='it's'\n"))
	f.Add([]byte("A=\"x\nB=\"y\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Parse(data)
		if err != nil {
			var syntax *SyntaxError
			lines := 1 + strings.Count(string(data), "\n")
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > lines || syntax.Column < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		if !slices.IsSortedFunc(entries, func(a, b Entry) int { return a.Line - b.Line }) {
			t.Fatalf("lines out of order: %v", entries)
		}
		again, err := Parse([]byte(Write(entries)))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("written again: %v", err)
		}
		for i, e := range entries {
			if again[i].Key != e.Key || again[i].Value != e.Value {
				t.Fatalf("written again: %v changed", e)
			}
		}
	})
}

// storable reports whether a server would hold the values: text without NUL.
func storable(values map[string]string) bool {
	for _, v := range values {
		if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			return false
		}
	}
	return true
}

// sharesText reports whether Encode may write another value in the same way:
// it holds \n or \r as two characters where Encode also writes line ends so.
func sharesText(value string) bool {
	text := EncodeValue(value)
	return text[:min(1, len(text))] == `"` && (strings.Contains(value, `\n`) || strings.Contains(value, `\r`))
}
