package httpd

import (
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"coffer/server/api"
)

// pathField is a field that a segment of the path fills. A segment that cannot
// name anything is answered like one that names nothing.
type pathField struct {
	name  string
	index []int
	clean func(*input, string) (string, bool)
}

func newPathField(name string, f reflect.StructField) pathField {
	p := pathField{name: name, index: f.Index}
	switch {
	case f.Tag.Get("id") == "true":
		p.clean = func(_ *input, s string) (string, bool) { return cleanID(s) }
	case name == "owner":
		p.clean = func(in *input, s string) (string, bool) { return s, in.owner(s) }
	case name == "repo":
		p.clean = func(_ *input, s string) (string, bool) { return s, api.ValidRepo(s) }
	default:
		p.clean = func(_ *input, s string) (string, bool) { return s, s != "" }
	}
	return p
}

func (p *pathField) set(v reflect.Value, in *input) error {
	text, ok := in.params.Get(p.name)
	if !ok {
		panic("httpd: internal error: no segment :" + p.name)
	}
	if in.escaped {
		decoded, err := url.PathUnescape(text)
		if err != nil {
			return errNoSuchAddress
		}
		text = decoded
	}
	if strings.ContainsAny(text, "/\x00") || !utf8.ValidString(text) {
		return errNoSuchAddress
	}
	if text, ok = p.clean(in, text); !ok {
		return errNoSuchAddress
	}
	v.FieldByIndex(p.index).SetString(text)
	return nil
}

// owner reports whether the owner of a repository may be named s.
func (in *input) owner(s string) bool {
	return api.ValidOwner(s) || in.subgroups && api.ValidGroups(s)
}

var errNoSuchAddress = &api.Error{Code: api.NotFound, Message: "There is nothing at this address. Check the spelling of the path."}

const uuidLength = 36

// cleanID takes a UUID in its usual form, in either case.
func cleanID(s string) (string, bool) {
	if len(s) != uuidLength || uuid.Validate(s) != nil {
		return "", false
	}
	return strings.ToLower(s), true
}

// canonicalID reports whether s is a UUID exactly as we would write it.
func canonicalID(s string) bool {
	clean, ok := cleanID(s)
	return ok && clean == s
}
