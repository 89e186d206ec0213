package dotenv

import (
	"regexp"
	"strings"
)

var validKey = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,255}$`)

// parseContent reads src if it is, to the last byte, something Encode writes:
// no final line end, keys valid and in order, each text the one Encode chooses.
// Only in such a text may backslashes be taken as Encode means them; a file
// kept by people has at least a comment, a blank line or a final line end.
func parseContent(src string) ([]Entry, bool) {
	var entries []Entry
	last := ""
	for line := range strings.SplitSeq(src, "\n") {
		key, text, _ := strings.Cut(line, "=")
		if key <= last || !validKey.MatchString(key) {
			return nil, false
		}
		value, ok := encodedValue(text)
		if !ok || len(key)+len("=")+len(text) != len(line) {
			return nil, false
		}
		last = key
		entries = append(entries, Entry{
			Key: key, Value: value, Line: len(entries) + 1, Text: text,
			Ambiguous: readsOtherwise(line, value),
		})
	}
	return entries, true
}

// encodedValue returns the value for which Encode writes text, if there is
// one. Where there are several it takes the one with most line breaks: a line
// break is what people store, the two characters are the rarity.
func encodedValue(text string) (string, bool) {
	value := ClientDecode(text)
	if len(value) != len(text) && text[0] == '"' {
		value = expandLineEnds(value)
	}
	return value, EncodeValue(value) == text
}

var lineEndExpander = strings.NewReplacer(`\n`, "\n", `\r`, "\r")

func expandLineEnds(s string) string { return lineEndExpander.Replace(s) }

// readsOtherwise reports whether a line alone, read as any .env file, is
// complete and has another value.
func readsOtherwise(line, value string) bool {
	p := parser{src: line, line: 1}
	e, _, err := p.next()
	return err == nil && e.Value != value
}
