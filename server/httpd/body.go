package httpd

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"coffer/server/api"
)

var errBodyNeeded = &api.Error{Code: api.BadRequest, Message: "This request needs a JSON object as its body."}

// fillBody reads one JSON object, whatever the Content-Type said.
func (b *binder) fillBody(v reflect.Value, body []byte, wrong *api.Fields) error {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		if b.needs {
			return errBodyNeeded
		}
		return nil
	}
	r := readers.Get().(*reader)
	defer r.release()
	r.reset(body)
	if r.PeekKind() != '{' {
		if err := r.SkipValue(); err != nil {
			return unparsable(err)
		}
		return api.Errorf(api.BadRequest, "The body is JSON, but not an object.")
	}
	if err := b.body.decode(r, v, wrong); err != nil {
		return unparsable(err)
	}
	if _, err := r.ReadToken(); err != io.EOF {
		return api.Errorf(api.BadRequest, "The body goes on after its JSON object.")
	}
	return nil
}

// unparsable says what is wrong with a body. It shows no byte of it: the body
// may hold values.
func unparsable(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return api.Errorf(api.BadRequest, "The body names a member of an object more than once; send each of them once.")
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return api.Errorf(api.BadRequest, "The body is not valid JSON in UTF-8: see byte %d.", s.ByteOffset)
	}
	return api.Errorf(api.BadRequest, "The body is not valid JSON in UTF-8.")
}

// reader is a JSON decoder that is used again and again. jsontext refuses
// duplicate names, invalid UTF-8 and unpaired surrogates by default.
type reader struct {
	jsontext.Decoder
	source  bytes.Buffer
	size    int // of the whole body
	scratch []byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// maxScratch is how much of the memory for unescaping is kept.
const maxScratch = 64 << 10

func (r *reader) reset(body []byte) {
	r.source, r.size = *bytes.NewBuffer(body), len(body)
	r.Decoder.Reset(&r.source)
}

func (r *reader) release() {
	r.reset(nil)
	clear(r.scratch[:cap(r.scratch)])
	if cap(r.scratch) > maxScratch {
		r.scratch = nil
	}
	readers.Put(r)
}

// text reads a string, and reports whether it holds U+0000.
func (r *reader) text() (s string, nul bool, err error) {
	raw, err := r.readString()
	if err != nil {
		return "", false, err
	}
	// A bare U+0000 is no JSON, so only an unescaped text can hold one.
	return string(raw), bytes.IndexByte(raw, 0) >= 0, nil
}

// readString reads a string; its bytes are good until the next call.
func (r *reader) readString() ([]byte, error) {
	quoted, err := r.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	r.scratch, err = jsontext.AppendUnquote(r.scratch[:0], quoted)
	return r.scratch, err
}
