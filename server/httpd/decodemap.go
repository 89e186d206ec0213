package httpd

import (
	"reflect"

	"coffer/server/api"
)

// decodeMap reads an object whose member names are data. Its values are maps or
// booleans.
func decodeMap(t reflect.Type, at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
		m := reflect.MakeMap(t)
		for r.PeekKind() != '}' {
			raw, err := r.readString()
			if err != nil {
				return err
			}
			key := string(raw)
			elem := reflect.New(t.Elem()).Elem()
			if err := decoderOf(t.Elem(), at+"."+key)(r, elem, wrong); err != nil {
				return err
			}
			m.SetMapIndex(reflect.ValueOf(key), elem)
		}
		v.Set(m)
		_, err := r.ReadToken()
		return err
	}
}

// decodeNullable reads a string or null, and tells both from absence.
func decodeNullable(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		n := v.Addr().Interface().(*api.Nullable)
		n.Given = true
		switch r.PeekKind() {
		case 'n':
			return r.SkipValue()
		case '"':
			text, nul, err := r.text()
			if nul {
				wrong.Add(at, api.InvalidFormat, noNUL)
			}
			n.Text = &text
			return err
		default:
			wrong.Add(at, api.InvalidType, "A string or null.")
			return r.SkipValue()
		}
	}
}
