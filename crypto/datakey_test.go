package crypto

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

func TestDataKeyOpensUnderItsRootAndID(t *testing.T) {
	r := testRoot(t, 1)
	k, file, err := r.NewDataKey(id(7))
	if err != nil {
		t.Fatal(err)
	}
	if len(file) != 249 {
		t.Errorf("the file has %d bytes", len(file))
	}
	got, err := r.OpenDataKey(id(7), file)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := got.Open(nil, k.Seal(nil, []byte("v"), nil), nil); err != nil || string(plain) != "v" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := r.OpenDataKey(id(8), file); !errors.Is(err, ErrDamaged) {
		t.Errorf("another id: %v", err)
	}
	if _, err := testRoot(t, 2).OpenDataKey(id(7), file); !errors.Is(err, ErrWrongKey) {
		t.Errorf("another root: %v", err)
	}
	moved := bytes.Replace(file, []byte(hex.EncodeToString(bytes.Repeat([]byte{7}, 16))), []byte(hex.EncodeToString(bytes.Repeat([]byte{8}, 16))), 1)
	if _, err := r.OpenDataKey(id(8), moved); !errors.Is(err, ErrWrongKey) {
		t.Errorf("moved to another id: %v", err)
	}
}

func TestDamagedDataKeyFileNeverOpens(t *testing.T) {
	r := testRoot(t, 1)
	_, file, err := r.NewDataKey(id(7))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 {
		for i := range file {
			bad := bytes.Clone(file)
			bad[i] ^= 1 << bit
			if _, err := r.OpenDataKey(id(7), bad); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrWrongKey) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	everyDamage(file, func(what string, bad []byte) {
		if _, err := r.OpenDataKey(id(7), bad); err == nil {
			t.Errorf("%s: opened", what)
		}
	})
}

func TestRewrappedDataKeyIsTheSameKeyUnderTheNewRoot(t *testing.T) {
	old, next := testRoot(t, 1), testRoot(t, 2)
	k, file, err := old.NewDataKey(id(7))
	if err != nil {
		t.Fatal(err)
	}
	sealed := k.Seal(nil, []byte("v"), nil)
	moved, err := next.RewrapDataKey(old, id(7), file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := next.OpenDataKey(id(7), moved)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := got.Open(nil, sealed, nil); err != nil || string(plain) != "v" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := old.OpenDataKey(id(7), moved); !errors.Is(err, ErrWrongKey) {
		t.Errorf("old root: %v", err)
	}
	if _, err := next.RewrapDataKey(old, id(8), file); !errors.Is(err, ErrDamaged) {
		t.Errorf("another id: %v", err)
	}
}

func TestDataKeyFileIsNeverForTwo(t *testing.T) {
	r, i := testRoot(t, 1), mustIdentity(t)
	hybrid, err := parseRecipient(i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	classic, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	us := &rootStanza{root: r, id: id(1)}
	for name, to := range map[string]age.Recipient{"hybrid": hybrid, "classic": classic.Recipient(), "itself": us} {
		if _, err := age.Encrypt(new(bytes.Buffer), us, to); err == nil {
			t.Errorf("%s: mixed", name)
		}
	}
}

func TestUnwrapTakesOnlyWhatWrapMakes(t *testing.T) {
	s := &rootStanza{root: testRoot(t, 1), id: id(0xab)}
	fileKey := bytes.Repeat([]byte{5}, fileKeySize)
	stanzas, err := s.Wrap(fileKey)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Unwrap(stanzas); err != nil || !bytes.Equal(got, fileKey) {
		t.Fatalf("%x, %v", got, err)
	}
	good := *stanzas[0]
	change := func(f func(*age.Stanza)) []*age.Stanza {
		c := age.Stanza{Type: good.Type, Args: slices.Clone(good.Args), Body: bytes.Clone(good.Body)}
		f(&c)
		return []*age.Stanza{&c}
	}
	for name, bad := range map[string][]*age.Stanza{
		"none":            nil,
		"twice":           {&good, &good},
		"grease":          {&good, {Type: "x"}},
		"type":            change(func(s *age.Stanza) { s.Type = "coffer-Root" }),
		"no args":         change(func(s *age.Stanza) { s.Args = nil }),
		"more args":       change(func(s *age.Stanza) { s.Args = append(s.Args, "x") }),
		"upper case id":   change(func(s *age.Stanza) { s.Args[0] = strings.ToUpper(s.Args[0]) }),
		"short id":        change(func(s *age.Stanza) { s.Args[0] = s.Args[0][2:] }),
		"padded salt":     change(func(s *age.Stanza) { s.Args[1] += "==" }),
		"broken salt":     change(func(s *age.Stanza) { s.Args[1] = s.Args[1][:5] + "\n" + s.Args[1][5:] }),
		"short salt":      change(func(s *age.Stanza) { s.Args[1] = s.Args[1][4:] }),
		"empty salt":      change(func(s *age.Stanza) { s.Args[1] = "" }),
		"short body":      change(func(s *age.Stanza) { s.Body = s.Body[1:] }),
		"long body":       change(func(s *age.Stanza) { s.Body = append(s.Body, 0) }),
		"empty body":      change(func(s *age.Stanza) { s.Body = nil }),
		"other file key":  change(func(s *age.Stanza) { s.Body[0] ^= 1 }),
		"salt's idle bit": change(func(s *age.Stanza) { s.Args[1] = s.Args[1][:21] + string(nextLetter(s.Args[1][21])) }),
	} {
		if _, err := s.Unwrap(bad); err == nil {
			t.Errorf("%s: unwrapped", name)
		}
	}
}

// nextLetter returns the base64 letter after one whose low bits are zero: it
// stands for the same byte in a decoder that is not strict.
func nextLetter(c byte) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return letters[strings.IndexByte(letters, c)+1]
}

func FuzzUnwrap(f *testing.F) {
	s := &rootStanza{root: testRoot(f, 1), id: id(7)}
	fileKey := bytes.Repeat([]byte{5}, fileKeySize)
	stanzas, err := s.Wrap(fileKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stanzas[0].Type, strings.Join(stanzas[0].Args, " "), stanzas[0].Body)
	f.Add("coffer-root", "", []byte{})
	f.Fuzz(func(t *testing.T, kind, args string, body []byte) {
		in := &age.Stanza{Type: kind, Args: strings.Split(args, " "), Body: body}
		got, err := s.Unwrap([]*age.Stanza{in})
		if err != nil {
			return
		}
		again, err := s.wrapWith(got, mustSalt(t, in.Args[1]))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again[0].Body, body) || !slices.Equal(again[0].Args, in.Args) || again[0].Type != kind {
			t.Errorf("unwrapped what wrapping does not make: %q %q %x", kind, args, body)
		}
	})
}

func FuzzOpenDataKey(f *testing.F) {
	// A stored file, because every process of the fuzzer must know the same one.
	v := loadVectors(f)
	file := readVector(f, "datakey.age")
	r := newRoot(v.RootKey)
	f.Cleanup(r.Destroy)
	f.Add(file)
	f.Add(file[:200])
	if _, err := r.OpenDataKey(ID(v.DataKeyID), file); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := r.OpenDataKey(ID(v.DataKeyID), in); err == nil && !bytes.Equal(in, file) {
			t.Errorf("opened %q", in)
		}
	})
}

func mustSalt(t *testing.T, text string) []byte {
	t.Helper()
	salt, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return salt
}
