package httpd

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"coffer/server/api"
)

// queryField is a field that a query parameter fills.
type queryField struct {
	name  string
	index []int
	need  bool
	set   func(v reflect.Value, text string, wrong *api.Fields)
}

// fillQuery reads the raw query. Only & separates parameters, an empty value
// counts as none, and a parameter that comes twice makes the query ambiguous,
// whether we know it or not.
func (b *binder) fillQuery(v reflect.Value, raw string, wrong *api.Fields) error {
	seen := make(map[string]string)
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, text, err := unescapePair(pair)
		if err != nil {
			return err
		}
		if _, twice := seen[name]; twice {
			return api.Errorf(api.BadRequest, "The query names a parameter more than once; send each of them once.")
		}
		seen[name] = text
	}
	for i := range b.query {
		q := &b.query[i]
		switch text := seen[q.name]; {
		case text == "" && q.need:
			wrong.Add(q.name, api.Required, "This parameter is needed.")
		case text == "":
		case strings.Contains(text, "\x00"):
			wrong.Add(q.name, api.InvalidFormat, noNUL)
		default:
			q.set(v.FieldByIndex(q.index), text, wrong)
		}
	}
	return nil
}

func unescapePair(pair string) (name, text string, err error) {
	name, text, _ = strings.Cut(pair, "=")
	if name, err = url.QueryUnescape(name); err == nil {
		text, err = url.QueryUnescape(text)
	}
	if err != nil {
		return "", "", api.Errorf(api.BadRequest, "The query has a %% that two hexadecimal digits do not follow.")
	}
	if !utf8.ValidString(name) || !utf8.ValidString(text) {
		return "", "", api.Errorf(api.BadRequest, "The query is not valid UTF-8.")
	}
	return name, text, nil
}

func querySetter(t reflect.Type, name string) func(reflect.Value, string, *api.Fields) {
	switch t.Kind() {
	case reflect.Pointer:
		set := querySetter(t.Elem(), name)
		return func(v reflect.Value, text string, wrong *api.Fields) {
			v.Set(reflect.New(t.Elem()))
			set(v.Elem(), text, wrong)
		}
	case reflect.String:
		return func(v reflect.Value, text string, _ *api.Fields) { v.SetString(text) }
	case reflect.Bool:
		return func(v reflect.Value, text string, wrong *api.Fields) {
			if text != "true" && text != "false" {
				wrong.Add(name, api.InvalidType, "true or false.")
			}
			v.SetBool(text == "true")
		}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return func(v reflect.Value, text string, wrong *api.Fields) { setInt(v, text, name, wrong) }
	default:
		panic(fmt.Sprintf("httpd: internal error: a query cannot fill a %s", t))
	}
}

// setInt takes decimal digits after an optional minus, the integers of JSON.
func setInt(v reflect.Value, text, at string, wrong *api.Fields) {
	var err error
	if digits := strings.TrimPrefix(text, "-"); digits == "" || strings.Trim(digits, "0123456789") != "" {
		err = strconv.ErrSyntax
	} else if v.CanInt() {
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	} else if digits != text {
		err = strconv.ErrRange
	} else {
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	}
	switch {
	case err == nil:
	case !errors.Is(err, strconv.ErrRange):
		wrong.Add(at, api.InvalidType, "A whole number.")
	case text[0] == '-':
		wrong.Add(at, api.TooSmall, "The number is too small.")
	default:
		wrong.Add(at, api.FieldTooLarge, "The number is too large.")
	}
}
