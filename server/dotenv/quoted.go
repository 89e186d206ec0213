package dotenv

import (
	"fmt"
	"strings"
)

const quotes = "\"'`"

const (
	adviceUnclosed = "the quote opened here is never closed; close it or escape it"
	adviceTail     = `text follows the closing quote; put double quotes around the whole value and write \" for those inside, or start a comment with #`
)

// bare reads a value without quotes. It goes to the end of the line or to a
// "#" after a blank, as shells and most libraries have it, so that a "#"
// within a password or an address stays. Backslashes and "$" are literal.
func (p *parser) bare(at, end int) (string, error) {
	for i := at; i < end; i++ {
		if p.src[i] == '#' && strings.IndexByte(blanks, p.src[i-1]) >= 0 {
			end = i
		}
	}
	value := strings.TrimRight(p.src[at:end], blanks)
	if cr := strings.IndexByte(value, '\r'); cr >= 0 {
		return "", errorAt(p.src, at+cr, adviceCR)
	}
	return value, nil
}

// quoted reads a value whose quote opens at at, on a line that ends at end,
// and returns where the value's last line ends. It tries in this order:
//
//  1. up to the next such quote that no backslash escapes (only double quotes
//     know escapes), maybe lines below, if nothing but a comment follows;
//  2. the whole line, if it ends in the same quote: quotes inside were written
//     unescaped, as Encode does, hence backslashes are literal but for \n and
//     \r. Node's dotenv and existing clients drop the same pair.
//
// 1 comes first because a file that fits it is what the libraries agree on.
func (p *parser) quoted(at, end int) (value string, last int, err error) {
	quote := p.src[at]
	closing := p.closing(at+1, quote)
	if closing >= 0 {
		last = p.lineEnd(closing)
		tail := p.skipBlanks(closing+1, last)
		if tail == last || p.src[tail] == '#' {
			value = p.src[at+1 : closing]
			if quote == '"' {
				value = unescape(value)
			}
			return value, last, nil
		}
	}
	text := strings.TrimRight(p.src[at:end], blanks)
	if n := len(text); n >= 2 && text[n-1] == quote && !glued(text) {
		value = text[1 : n-1]
		if quote == '"' {
			value = expandLineEnds(value)
		}
		return value, end, nil
	}
	return "", 0, p.quoteError(at, closing, end)
}

// closing returns where the quote that opened before at closes, or -1.
func (p *parser) closing(at int, quote byte) int {
	for ; at < len(p.src); at++ {
		switch b := p.src[at]; {
		case b == quote:
			return at
		case b == '\\' && quote == '"':
			at++
		}
	}
	return -1
}

// glued reports whether a text is several things in one: pieces joined around
// a quote, which only a shell reads as meant, or lines that end in CR alone.
// Reading it as one value would store something nobody wrote.
func glued(text string) bool {
	joined := strings.Contains(text, `'\''`) || strings.Contains(text, `'"'"'`)
	return text[0] == '\'' && joined || strings.ContainsRune(text, '\r')
}

func (p *parser) quoteError(at, closing, end int) error {
	switch {
	case closing < 0:
		return errorAt(p.src, at, adviceUnclosed)
	case closing < end:
		return errorAt(p.src, p.skipBlanks(closing+1, end), adviceTail)
	}
	line, column := position(p.src, closing)
	return errorAt(p.src, at, fmt.Sprintf(
		"the quote opened here ends at line %d, column %d, and text follows there; close it before, or escape the quotes inside", line, column))
}

// unescape resolves what double quotes escape. A backslash before anything
// else stays, as in shells and in Node's dotenv: a Windows path survives.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if n := strings.IndexByte(escaped, s[i+1]); n >= 0 {
				b.WriteByte(meant[n])
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

const (
	escaped = "nrt\"\\$`"
	meant   = "\n\r\t\"\\$`"
)
