package dotenv

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	adviceUTF8     = "not UTF-8 text; save the file as UTF-8"
	adviceNUL      = "a NUL byte; a value is text, encode binary data as base64 and save the file as UTF-8"
	adviceNoEquals = `no "=" on this line; write KEY=value, or put quotes around a value that runs over several lines`
	adviceNoKey    = `nothing stands before "="; write KEY=value`
	adviceKey      = `a key starts with a letter or "_" and goes on with letters, digits, "_", "." and "-"; rename it, or quote the value above if this line belongs to it`
	adviceCR       = "a carriage return in the middle of a line; save the file with LF or CRLF line ends, or put double quotes around the value and write \\r"
)

// Parse reads a .env file as people and tools write it; how each text is read
// is told at the functions in quoted.go. Keys are not held to the server's
// form, so that the server can name all that it refuses. Entries come in file
// order, duplicates included. Errors are of type *SyntaxError.
func Parse(data []byte) ([]Entry, error) {
	src, err := textOf(data)
	if err != nil {
		return nil, err
	}
	if entries, ok := parseContent(src); ok {
		return entries, nil
	}
	p := parser{src: strings.ReplaceAll(src, "\r\n", "\n"), line: 1}
	var entries []Entry
	for p.pos < len(p.src) {
		e, found, err := p.next()
		if err != nil {
			return nil, err
		}
		if found {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func textOf(data []byte) (string, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return "", &SyntaxError{Line: 1, Column: 1, Advice: "the file is UTF-16; save it as UTF-8"}
	}
	src := strings.TrimPrefix(string(data), "\ufeff")
	for i, r := range src {
		if r == 0 {
			return "", errorAt(src, i, adviceNUL)
		}
		if r == utf8.RuneError && !strings.HasPrefix(src[i:], "\ufffd") {
			return "", errorAt(src, i, adviceUTF8)
		}
	}
	return src, nil
}

// parser walks over src, whose lines end in LF.
type parser struct {
	src  string
	pos  int // start of a line
	line int // its number
}

// next reads the line at pos, with those that its value continues on. Blank
// lines and comments give no entry.
func (p *parser) next() (e Entry, found bool, err error) {
	end := p.lineEnd(p.pos)
	at := p.skipBlanks(p.pos, end)
	if at == end || p.src[at] == '#' {
		p.moveTo(end)
		return Entry{}, false, nil
	}
	e.Line = p.line
	e.Key, at, err = p.key(at, end)
	if err != nil {
		return Entry{}, false, err
	}
	at = p.skipBlanks(at, end)
	e.Text = strings.TrimRight(p.src[at:end], blanks)
	if at < end && strings.IndexByte(quotes, p.src[at]) >= 0 {
		e.Value, end, err = p.quoted(at, end)
	} else {
		e.Value, err = p.bare(at, end)
	}
	if err != nil {
		return Entry{}, false, err
	}
	if strings.HasPrefix(e.Text, `"`) {
		encoded, ok := encodedValue(e.Text)
		e.Ambiguous = ok && encoded != e.Value
	}
	p.moveTo(end)
	return e, true, nil
}

// key reads the key from at, and returns where its value may begin.
func (p *parser) key(at, end int) (key string, after int, err error) {
	const export = "export"
	if strings.HasPrefix(p.src[at:end], export) {
		// A blank must follow, and something other than "=": export=1 sets a
		// variable of that name.
		next := p.skipBlanks(at+len(export), end)
		if next > at+len(export) && next < end && p.src[next] != '=' {
			at = next
		}
	}
	key, _, found := strings.Cut(p.src[at:end], "=")
	if !found {
		return "", 0, errorAt(p.src, at, adviceNoEquals)
	}
	after = at + len(key) + len("=")
	key = strings.TrimRight(key, blanks)
	if key == "" {
		return "", 0, errorAt(p.src, at, adviceNoKey)
	}
	for i := range len(key) {
		if !isKeyByte(key[i], i == 0) {
			return "", 0, errorAt(p.src, at+i, adviceKey)
		}
	}
	return key, after, nil
}

func isKeyByte(b byte, first bool) bool {
	switch {
	case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '_':
		return true
	case b >= '0' && b <= '9', b == '.', b == '-':
		return !first
	}
	return false
}

// blanks separate things on a line. A carriage return is one only at the end
// of the last line; elsewhere in an unquoted value it is refused.
const blanks = " \t\v\f\r"

func (p *parser) skipBlanks(at, end int) int {
	for at < end && strings.IndexByte(blanks, p.src[at]) >= 0 {
		at++
	}
	return at
}

// lineEnd returns where the line that holds at ends, its LF excluded.
func (p *parser) lineEnd(at int) int {
	if n := strings.IndexByte(p.src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(p.src)
}

// moveTo goes to the line after the one that ends at end.
func (p *parser) moveTo(end int) {
	next := min(end+1, len(p.src))
	p.line += strings.Count(p.src[p.pos:next], "\n")
	p.pos = next
}
