package kv_test

import (
	"bytes"
	"testing"

	"coffer/store/kv"
)

func TestPrefixEndsBehindTheLastKeyOfThePrefix(t *testing.T) {
	for _, test := range []struct{ prefix, end []byte }{
		{nil, nil},
		{[]byte("a"), []byte("b")},
		{[]byte("a\xff"), []byte("b")},
		{[]byte("\xff\xff"), nil},
		{[]byte("a\x00"), []byte("a\x01")},
	} {
		given := bytes.Clone(test.prefix)
		r := kv.Prefix(test.prefix)
		if !bytes.Equal(r.End, test.end) || (r.End == nil) != (test.end == nil) {
			t.Errorf("prefix %q ends at %q, want %q", test.prefix, r.End, test.end)
		}
		if !bytes.Equal(given, test.prefix) {
			t.Errorf("prefix %q was changed to %q", given, test.prefix)
		}
		for _, tail := range []string{"", "\x00", "\xff\xff\xff"} {
			if key := append(bytes.Clone(test.prefix), tail...); !r.Contains(key) {
				t.Errorf("prefix %q does not contain %q", test.prefix, key)
			}
		}
	}
}

func TestEmptyRangeContainsNothing(t *testing.T) {
	for _, r := range []kv.Range{
		{Start: []byte("b"), End: []byte("a")},
		{Start: []byte("a"), End: []byte("a")},
		{End: []byte{}},
	} {
		if !r.Empty() || r.Contains([]byte("a")) {
			t.Errorf("%+v is not empty", r)
		}
	}
	for _, r := range []kv.Range{{}, {Start: []byte("a")}, {Start: []byte("a"), End: []byte("b")}} {
		if r.Empty() {
			t.Errorf("%+v is empty", r)
		}
	}
}
