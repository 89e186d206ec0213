package dotenv

import (
	"strings"
	"unicode"
)

// ClientDecode returns the value that existing clients read from a text: one
// pair of equal quotes around it is dropped, nothing else changes.
func ClientDecode(text string) string {
	if n := len(text); n >= 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return text[1 : n-1]
	}
	return text
}

// ClientParse reads content as existing clients do before they push it. A line
// without "=" is skipped, and of two lines with one key the later one counts.
func ClientParse(content string) map[string]string {
	values := make(map[string]string)
	for line := range strings.SplitSeq(content, "\n") {
		line = strings.TrimFunc(line, isClientBlank)
		if line == "" || line[0] == '#' {
			continue
		}
		key, text, found := strings.Cut(line, "=")
		key = strings.TrimFunc(key, isClientBlank)
		if found && key != "" {
			values[key] = ClientDecode(text)
		}
	}
	return values
}

// isClientBlank is the blank of JavaScript's trim, in which those clients are
// written: it knows U+FEFF and does not know U+0085.
func isClientBlank(r rune) bool {
	return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
}

// SameAfterRoundTrip reports whether incoming is the stored value, or what an
// existing client makes of the stored value that it pulled. Only values with
// line ends come back changed, so nothing else is looked at twice, and nothing
// is allocated.
func SameAfterRoundTrip(stored, incoming string) bool {
	if len(incoming) <= len(stored) {
		return incoming == stored
	}
	// Each CR or LF comes back as two characters.
	if len(incoming) != len(stored)+strings.Count(stored, "\n")+strings.Count(stored, "\r") {
		return false
	}
	for i := 0; i < len(stored); i++ {
		want := stored[i : i+1]
		switch stored[i] {
		case '\n':
			want = `\n`
		case '\r':
			want = `\r`
		}
		if incoming[:len(want)] != want {
			return false
		}
		incoming = incoming[len(want):]
	}
	return true
}
