package dotenv

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a file cannot be read and what to do about it. It
// never holds a piece of the file: any piece may be a secret.
type SyntaxError struct {
	Line   int    // from 1
	Column int    // from 1, in code points
	Advice string // what is wrong, and what to do
}

// Error returns place and advice.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Advice)
}

func errorAt(src string, offset int, advice string) error {
	line, column := position(src, offset)
	return &SyntaxError{Line: line, Column: column, Advice: advice}
}

func position(src string, offset int) (line, column int) {
	before := src[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}
