package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answer is what came back.
type answer struct {
	t      testing.TB
	s      *site
	call   string
	sent   *http.Request
	status int
	header http.Header
	raw    []byte
}

var (
	anyID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	ourID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	ourNow = regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// is wants this status and exactly this JSON. "<id>" stands for an id of ours,
// "<time>" for an instant as the contract writes it, "<text>" for any text that
// is not empty.
func (a *answer) is(status int, want string) *answer {
	a.t.Helper()
	a.ok(status)
	a.same(want, a.at(""))
	return a
}

// holds is is for the data of the envelope alone.
func (a *answer) holds(status int, want string) *answer {
	a.t.Helper()
	a.ok(status)
	a.same(want, a.at("data"))
	return a
}

func (a *answer) same(want string, got any) {
	a.t.Helper()
	wanted := parse(a.t, []byte(want))
	if diff := cmp.Diff(wanted, a.blurred(wanted, got)); diff != "" {
		a.t.Errorf("%s: (-want +got)\n%s", a.call, diff)
	}
}

// blurred is got with placeholders where want has them and got deserves them.
func (a *answer) blurred(want, got any) any {
	switch g := got.(type) {
	case map[string]any:
		w, _ := want.(map[string]any)
		out := make(map[string]any, len(g))
		for k, v := range g {
			out[k] = a.blurred(w[k], v)
		}
		return out
	case []any:
		w, _ := want.([]any)
		out := make([]any, len(g))
		for i, v := range g {
			var wi any
			if i < len(w) {
				wi = w[i]
			}
			out[i] = a.blurred(wi, v)
		}
		return out
	case string:
		switch w, _ := want.(string); {
		case w == "<id>" && ourID.MatchString(g), w == "<time>" && ourNow.MatchString(g), w == "<text>" && g != "":
			return want
		}
		return a.s.plain(g)
	}
	return got
}

// ok wants this status.
func (a *answer) ok(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: got %d, want %d: %s", a.call, a.status, status, a.raw)
	}
	return a
}

// fails wants this status and slug and exactly these fields, "field:code".
func (a *answer) fails(status int, slug string, fields ...string) *answer {
	a.t.Helper()
	if got := a.slug(); a.status != status || got != slug {
		a.t.Errorf("%s: got %d %s, want %d %s: %s", a.call, a.status, got, status, slug, a.raw)
		return a
	}
	got := a.fields()
	slices.Sort(got)
	slices.Sort(fields)
	if !slices.Equal(got, fields) {
		a.t.Errorf("%s: got fields %q, want %q", a.call, got, fields)
	}
	return a
}

func (a *answer) slug() string {
	if a.status < 400 || len(a.raw) == 0 {
		return ""
	}
	_, slug, _ := strings.Cut(a.text("type"), "/errors/")
	return slug
}

// fields are what the error says about fields, "field:code".
func (a *answer) fields() []string {
	var body struct {
		Errors []struct{ Field, Code, Message string }
	}
	if err := json.Unmarshal(a.raw, &body); err != nil {
		a.t.Errorf("%s: %v", a.call, err)
	}
	var all []string
	for _, e := range body.Errors {
		all = append(all, e.Field+":"+e.Code)
		if e.Message == "" {
			a.t.Errorf("%s: field %s has no message", a.call, e.Field)
		}
	}
	return all
}

// at is the value at a dotted path of the body, or nil; "" is the whole body.
func (a *answer) at(path string) any {
	a.t.Helper()
	v := parse(a.t, a.raw)
	if path == "" {
		return v
	}
	for _, step := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text is the value at a path, as text, with the names of this site as @names.
func (a *answer) text(path string) string {
	a.t.Helper()
	switch v := a.at(path).(type) {
	case nil:
		return ""
	case string:
		return a.s.plain(v)
	default:
		return fmt.Sprint(v)
	}
}

// each is a member of every item of the data.
func (a *answer) each(member string) []any {
	a.t.Helper()
	items, _ := a.at("data").([]any)
	all := make([]any, len(items))
	for i := range items {
		all[i] = a.at(fmt.Sprintf("data.%d.%s", i, member))
	}
	return all
}

func parse(t testing.TB, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// quoted is text as JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
