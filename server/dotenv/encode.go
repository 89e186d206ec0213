package dotenv

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// class says what a byte of a value means to the encoder. The classes of all
// bytes of a value, or-ed together, decide its rule.
type class uint8

const (
	special  class = 1 << iota // needs quotes, any will do
	single                     // the single quote
	hard                       // means something inside double quotes
	lineEnd                    // CR and LF
	nonASCII                   // part of a longer code point
)

var classes = classTable()

func classTable() (t [256]class) {
	for b := range t {
		switch {
		case b >= utf8.RuneSelf:
			t[b] = nonASCII
		case b == '\r' || b == '\n':
			t[b] = lineEnd
		case b <= ' ' || b == 0x7f || strings.IndexByte("#&;|<>()~", byte(b)) >= 0:
			t[b] = special
		case b == '\'':
			t[b] = single
		case strings.IndexByte("\"\\$`", byte(b)) >= 0:
			t[b] = hard
		}
	}
	return t
}

// Encode writes values as the content of a pull: one KEY=text per key, sorted
// by key bytes, joined by LF, without a final one.
func Encode(values map[string]string) string {
	size := 0
	for key, value := range values {
		size += len(key) + len(value) + len("=\"\"\n")
	}
	dst := make([]byte, 0, size)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(dst) > 0 {
			dst = append(dst, '\n')
		}
		dst = Append(dst, key, values[key])
	}
	return string(dst)
}

// EncodeValue returns the text that stands after KEY= for a value.
func EncodeValue(value string) string {
	if classify(value) == 0 {
		return value
	}
	return string(appendText(make([]byte, 0, len(value)+len(`""`)), value))
}

// Append adds one KEY=text to dst, without a line end. A value may be bytes
// that were just decrypted, so that they need not be copied into a string.
func Append[V string | []byte](dst []byte, key string, value V) []byte {
	dst = append(dst, key...)
	dst = append(dst, '=')
	return appendText(dst, value)
}

func appendText[V string | []byte](dst []byte, value V) []byte {
	switch c := classify(value); {
	case c&lineEnd != 0:
		dst = append(dst, '"')
		dst = appendLineEndsEscaped(dst, value)
		return append(dst, '"')
	case c == 0:
		return append(dst, value...)
	case c&hard != 0 && c&single == 0:
		dst = append(dst, '\'')
		dst = append(dst, value...)
		return append(dst, '\'')
	default:
		dst = append(dst, '"')
		dst = append(dst, value...)
		return append(dst, '"')
	}
}

// classify returns the classes found in value; 0 means that it needs no quotes.
func classify[V string | []byte](value V) class {
	var c class
	for i := 0; i < len(value); i++ {
		c |= classes[value[i]]
	}
	if c != nonASCII {
		return c
	}
	for _, r := range string(value) {
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) {
			return special
		}
	}
	return 0
}

func appendLineEndsEscaped[V string | []byte](dst []byte, value V) []byte {
	from := 0
	for i := 0; i < len(value); i++ {
		var escape string
		switch value[i] {
		case '\r':
			escape = `\r`
		case '\n':
			escape = `\n`
		default:
			continue
		}
		dst = append(dst, value[from:i]...)
		dst = append(dst, escape...)
		from = i + 1
	}
	return append(dst, value[from:]...)
}
