package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"

	"golang.org/x/term"

	"coffer/server/api"
)

// console is where a command prints and asks. Data goes to out; notes, questions
// and errors go to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	json     bool // print JSON
	yes      bool // every question is answered with yes
}

func newConsole(p Process) *console {
	return &console{in: p.Stdin, out: p.Stdout, err: p.Stderr}
}

// terminal is the file descriptor behind a stream if that is a terminal.
func terminal(stream any) (fd int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// canAsk reports whether somebody is there to answer.
func (c *console) canAsk() bool {
	_, ok := terminal(c.in)
	return ok
}

// canShow reports whether somebody is there to read.
func (c *console) canShow() bool {
	_, ok := terminal(c.err)
	return ok
}

// print shows an answer: v with --json, else the text that write makes of it.
func (c *console) print(v any, write func(w io.Writer)) error {
	if c.json {
		return c.printJSON(c.out, v)
	}
	var text strings.Builder
	write(&text)
	_, err := io.WriteString(c.out, printable(text.String()))
	return err
}

// done reports what was done: v with --json, else a sentence on stderr.
func (c *console) done(v any, format string, args ...any) error {
	if c.json {
		return c.printJSON(c.out, v)
	}
	c.note(format, args...)
	return nil
}

// table shows rows in columns: v with --json.
func (c *console) table(v any, rows [][]string) error {
	return c.print(v, func(w io.Writer) { writeTable(w, rows) })
}

// noteTable shows rows in columns, for people.
func (c *console) noteTable(rows [][]string) {
	var text strings.Builder
	writeTable(&text, rows)
	fmt.Fprint(c.err, printable(text.String()))
}

func writeTable(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		// A cell must not open another column or line.
		for i, cell := range row {
			row[i] = strings.Join(strings.FieldsFunc(cell, unicode.IsControl), " ")
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}

// note writes a line for people.
func (c *console) note(format string, args ...any) {
	fmt.Fprintln(c.err, printable(fmt.Sprintf(format, args...)))
}

func (c *console) printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// fail shows an error with its next step and returns the exit code.
func (c *console) fail(err error) int {
	code := exitCode(err)
	if _, ok := errors.AsType[childExit](err); ok {
		return code
	}
	if _, ok := errors.AsType[quietExit](err); ok {
		return code
	}
	next := advice(err)
	if !c.json {
		c.note("coffer: %s", describe(err))
		if next != "" {
			c.note("%s", next)
		}
		return code
	}
	var e *api.Error
	if !errors.As(err, &e) {
		e = &api.Error{}
	}
	conflicts := conflictsOf(err)
	if conflicts != nil {
		e = &api.Error{Code: api.Conflict}
	}
	_ = c.printJSON(c.err, map[string]errorReport{"error": {
		Code: string(e.Code), Message: describe(err), Advice: next, ExitCode: code,
		RequestID: e.RequestID, Errors: e.Fields, Conflicts: conflicts,
	}})
	return code
}

// describe is the text of an error. A server that complains about one field only
// says so in the message already.
func describe(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*api.Error](err); ok && len(e.Fields) == 1 {
		text = strings.Replace(text, e.Error(), e.Message, 1)
	}
	return strings.ReplaceAll(text, operatorURL, "the server's socket")
}

// errorReport is an error as --json shows it.
type errorReport struct {
	Code      string           `json:"code,omitempty"`
	Message   string           `json:"message"`
	Advice    string           `json:"advice,omitempty"`
	ExitCode  int              `json:"exitCode"`
	RequestID string           `json:"requestId,omitempty"`
	Errors    []api.FieldError `json:"errors,omitempty"`
	Conflicts []conflict       `json:"conflicts,omitempty"`
}

// printable drops control characters but line breaks and tabs, so that a name
// from elsewhere cannot drive the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
