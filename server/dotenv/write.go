package dotenv

import "strings"

// Write returns a file for people and other tools: one KEY=text per entry, in
// the order given, each line ended by LF. A text is bare if that is safe
// everywhere, else in single quotes, else in double quotes with \ " $ and `
// escaped. Parse reads it back exactly.
//
// Who reads which value as we do:
//
//	bash source   every one without CR (a shell knows no \r)
//	Node dotenv   all but those that hold ' or CR together with " \ $ or `:
//	              it resolves \n and \r, no other escape; --env-file not even \r
//	godotenv      all but those that end in a backslash and, if they hold ' or
//	              CR, those that end in " (it trims what it should keep)
//	compose       all but those that end in a backslash and those that hold '
//	              or CR together with ` (it keeps the backslash before it)
//	docker run    --env-file: bare ones only, it knows no quotes
//
// No text pleases all of them for the values named here. Existing clients
// read every value of one line but those that need escapes.
func Write(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Key)
		b.WriteByte('=')
		writeText(&b, e.Value)
		b.WriteByte('\n')
	}
	return b.String()
}

func writeText(b *strings.Builder, value string) {
	switch {
	case isBare(value):
		b.WriteString(value)
	case strings.ContainsRune(value, '\r'):
		// Readers turn a raw CR into LF or drop it, so it must be escaped;
		// shells are lost then, and LF may be escaped as well. The rest stays
		// escaped all the same: a shell must never run a piece of a value.
		writeDoubleQuoted(b, value, fullEscaper)
	case !strings.ContainsRune(value, '\''):
		b.WriteByte('\'')
		b.WriteString(value)
		b.WriteByte('\'')
	default:
		writeDoubleQuoted(b, value, shellEscaper)
	}
}

var (
	shellEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
	fullEscaper  = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`", "\r", `\r`, "\n", `\n`)
)

func writeDoubleQuoted(b *strings.Builder, value string, escaper *strings.Replacer) {
	b.WriteByte('"')
	b.WriteString(escaper.Replace(value))
	b.WriteByte('"')
}

// isBare keeps to ASCII that no shell, no library and no locale treats
// specially anywhere in a word.
func isBare(value string) bool {
	for i := range len(value) {
		b := value[i]
		switch {
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' && b <= '9':
		case strings.IndexByte("_-./:@%+,=", b) >= 0:
		default:
			return false
		}
	}
	return true
}
