package httpd

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"coffer/server/api"
)

// decoder reads the next JSON value into v. What is wrong with the value goes
// to wrong; an error means that the text is no JSON.
type decoder func(r *reader, v reflect.Value, wrong *api.Fields) error

// object decodes the members of a JSON object into the fields of a struct.
type object struct{ members []member }

type member struct {
	name   string
	at     string // dotted path for error messages
	index  []int
	need   bool
	null   bool // null says something other than absence
	decode decoder
}

const (
	noNUL    = "No U+0000 in here."
	aString  = "A string."
	aBoolean = "true or false."
	aNumber  = "A whole number."
	aList    = "A list of strings."
	anObject = "An object."
)

// decode reads the object that comes next. Members it does not know are passed
// over; null counts as absent.
func (o *object) decode(r *reader, v reflect.Value, wrong *api.Fields) error {
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	for r.PeekKind() != '}' {
		name, err := r.readString()
		if err != nil {
			return err
		}
		i := o.find(name)
		if i < 0 || r.PeekKind() == 'n' && !o.members[i].null {
			if err := r.SkipValue(); err != nil {
				return err
			}
			continue
		}
		seen |= 1 << i
		if err := o.members[i].decode(r, v.FieldByIndex(o.members[i].index), wrong); err != nil {
			return err
		}
	}
	for i := range o.members {
		if m := &o.members[i]; m.need && seen&(1<<i) == 0 {
			wrong.Add(m.at, api.Required, "This field is needed.")
		}
	}
	_, err := r.ReadToken()
	return err
}

func (o *object) find(name []byte) int {
	for i := range o.members {
		if o.members[i].name == string(name) {
			return i
		}
	}
	return -1
}

// decoderOf is the decoder of a type, for a field with the path at.
func decoderOf(t reflect.Type, at string) decoder {
	switch {
	case t == reflect.TypeFor[api.Secret]():
		return expect('"', at, aString, decodeSecret(at))
	case t == reflect.TypeFor[map[string]api.Secret]():
		return expect('{', at, "An object of strings.", decodeSecrets(at))
	case t == reflect.TypeFor[api.HostID]():
		return decodeHostID(at)
	case t == reflect.TypeFor[api.Nullable]():
		return decodeNullable(at)
	case t == reflect.TypeFor[[]string]():
		return expect('[', at, aList, decodeStrings(at))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return decodePointer(t.Elem(), decoderOf(t.Elem(), at))
	case reflect.String:
		return expect('"', at, aString, decodeString(at))
	case reflect.Bool:
		return decodeBool(at)
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return expect('0', at, aNumber, decodeInt(at))
	case reflect.Map:
		return expect('{', at, anObject, decodeMap(t, at))
	case reflect.Struct:
		inner := structOf(t, at)
		return expect('{', at, anObject, inner.decode)
	default:
		panic(fmt.Sprintf("httpd: internal error: a body cannot fill a %s", t))
	}
}

func structOf(t reflect.Type, at string) *object {
	o := &object{}
	for _, f := range reflect.VisibleFields(t) {
		if name, ok := f.Tag.Lookup("json"); ok {
			path := at + "." + name
			o.members = append(o.members, newMember(f, name, path))
		}
	}
	return o
}

func newMember(f reflect.StructField, name, path string) member {
	return member{name, path, f.Index, f.Tag.Get("need") == "true", f.Tag.Get("null") == "true", decoderOf(f.Type, path)}
}

// expect lets decode see values of one kind only.
func expect(kind jsontext.Kind, at, message string, decode decoder) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		if r.PeekKind() != kind {
			wrong.Add(at, api.InvalidType, "%s", message)
			return r.SkipValue()
		}
		return decode(r, v, wrong)
	}
}

func decodePointer(t reflect.Type, decode decoder) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		v.Set(reflect.New(t))
		return decode(r, v.Elem(), wrong)
	}
}

func decodeString(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		text, nul, err := r.text()
		if nul {
			wrong.Add(at, api.InvalidFormat, noNUL)
		}
		v.SetString(text)
		return err
	}
}

func decodeSecret(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		text, nul, err := r.text()
		if nul {
			wrong.Add(at, api.InvalidFormat, noNUL)
		}
		*v.Addr().Interface().(*api.Secret) = api.NewSecret(text)
		return err
	}
}

// aPair is a guess at the length of a key and its value, to make the map of a
// push in its final size.
const aPair = 64

// decodeSecrets reads the values of a push, without reflection for each.
func decodeSecrets(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
		secrets := make(map[string]api.Secret, min(r.size/aPair, api.MaxSecretsPerPush))
		for r.PeekKind() != '}' {
			raw, err := r.readString()
			if err != nil {
				return err
			}
			key := string(raw)
			if r.PeekKind() != '"' {
				wrong.Add(at+"."+key, api.InvalidType, aString)
				if err := r.SkipValue(); err != nil {
					return err
				}
				continue
			}
			text, nul, err := r.text()
			if err != nil {
				return err
			}
			if nul {
				wrong.Add(at+"."+key, api.InvalidFormat, noNUL)
			}
			secrets[key] = api.NewSecret(text)
		}
		*v.Addr().Interface().(*map[string]api.Secret) = secrets
		_, err := r.ReadToken()
		return err
	}
}

func decodeStrings(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
		list := []string{}
		for r.PeekKind() != ']' {
			item := at + "." + strconv.Itoa(len(list))
			if r.PeekKind() != '"' {
				wrong.Add(item, api.InvalidType, aString)
				if err := r.SkipValue(); err != nil {
					return err
				}
				list = append(list, "")
				continue
			}
			text, nul, err := r.text()
			if err != nil {
				return err
			}
			if nul {
				wrong.Add(item, api.InvalidFormat, noNUL)
			}
			list = append(list, text)
		}
		v.Set(reflect.ValueOf(list))
		_, err := r.ReadToken()
		return err
	}
}

func decodeBool(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		if kind := r.PeekKind(); kind == 't' || kind == 'f' {
			v.SetBool(kind == 't')
		} else {
			wrong.Add(at, api.InvalidType, aBoolean)
		}
		return r.SkipValue()
	}
}

// decodeHostID reads a number, or a string of digits: who has no integers of 64
// bits sends their ids as text.
func decodeHostID(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		switch r.PeekKind() {
		case '0':
			return decodeInt(at)(r, v, wrong)
		case '"':
			text, _, err := r.text()
			if err == nil {
				setInt(v, text, at, wrong)
			}
			return err
		default:
			wrong.Add(at, api.InvalidType, "A whole number, or a string of digits.")
			return r.SkipValue()
		}
	}
}

func decodeInt(at string) decoder {
	return func(r *reader, v reflect.Value, wrong *api.Fields) error {
		digits, err := r.ReadValue()
		if err != nil {
			return err
		}
		setInt(v, string(digits), at, wrong)
		return nil
	}
}
