package crypto

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"coffer/crypto/internal/cost"
)

// The files in testdata were written once. A file that stops opening means that
// data of running installations stopped opening: add a new format beside the
// old one, never replace a vector.
var update = flag.Bool("update", false, "write vectors that do not exist yet")

// vectors is testdata/vectors.json.
type vectors struct {
	RootKey   hexBytes
	DataKeyID hexBytes
	Subkeys   map[string]hexBytes
	Values    []valueVector
	APIKey    string
	APIHash   hexBytes
	SignKey   hexBytes
	JWT       string
	Password  string
	Argon     string
}

type valueVector struct {
	Name    string
	Key     hexBytes
	Nonce   hexBytes
	Context hexBytes
	Plain   string
	Sealed  hexBytes
}

type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

const (
	vectorPassphrase = "correct horse battery staple"
	vectorContent    = "an age stream\n"
)

func readVector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	if *update {
		writeVectors(t)
	}
	var v vectors
	if err := json.Unmarshal(readVector(t, "vectors.json"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOldKeyFilesStillOpen(t *testing.T) {
	v := loadVectors(t)
	i, err := ParseIdentity(readVector(t, "identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := UnwrapIdentity(readVector(t, "master-identity.age"), i)
	if err != nil {
		t.Fatal(err)
	}
	same, err := UnwrapPassphrase(readVector(t, "master-passphrase.age"), []byte(vectorPassphrase))
	if err != nil {
		t.Fatal(err)
	}
	if m.Recipient() != same.Recipient() {
		t.Error("the two methods open different masters")
	}
	if got := m.Fingerprint() + "\n"; got != string(readVector(t, "master-fingerprint.txt")) {
		t.Errorf("fingerprint %q", got)
	}
	r, err := m.OpenRoot(readVector(t, "root.age"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Destroy()
	if err := r.use(func(key []byte) {
		if !bytes.Equal(key, v.RootKey) {
			t.Errorf("root key %x", key)
		}
	}); err != nil {
		t.Error(err)
	}
	for purpose, want := range v.Subkeys {
		if got := r.Subkey(purpose); !bytes.Equal(got[:], want) {
			t.Errorf("subkey %s: %x", purpose, got)
		}
	}
	k, err := r.OpenDataKey(ID(v.DataKeyID), readVector(t, "datakey.age"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.Open(nil, readVector(t, "datakey.sealed"), []byte("context")); err != nil || string(got) != "plain" {
		t.Errorf("value under the data key: %q, %v", got, err)
	}
	content, err := i.Decrypt(bytes.NewReader(readVector(t, "stream.age")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(content); err != nil || string(got) != vectorContent {
		t.Errorf("stream: %q, %v", got, err)
	}
}

func TestOldSealedValuesStillOpen(t *testing.T) {
	for _, v := range loadVectors(t).Values {
		k := newDataKey((*[KeySize]byte)(v.Key))
		if got, err := k.Open(nil, v.Sealed, v.Context); err != nil || string(got) != v.Plain {
			t.Errorf("%s: %q, %v", v.Name, got, err)
		}
		// The format in other words: nonce, then XChaCha20-Poly1305.
		aead, err := chacha20poly1305.NewX(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		if want := aead.Seal(bytes.Clone(v.Nonce), v.Nonce, []byte(v.Plain), v.Context); !bytes.Equal(v.Sealed, want) {
			t.Errorf("%s: sealed %x, want %x", v.Name, v.Sealed, want)
		}
	}
}

func TestContextsOfOldSealedValuesAreUnchanged(t *testing.T) {
	got := map[string]hexBytes{}
	for _, v := range loadVectors(t).Values {
		got[v.Name] = v.Context
	}
	for name, want := range vectorContexts() {
		if !bytes.Equal(got[name], want) {
			t.Errorf("%s: %x, want %x", name, got[name], want)
		}
	}
}

func TestOldTokensAndHashesStillVerify(t *testing.T) {
	v := loadVectors(t)
	if hash := HashToken(v.APIKey); !ValidAPIKey(v.APIKey) || !bytes.Equal(hash[:], v.APIHash) {
		t.Errorf("API key hash %x", hash)
	}
	s, err := NewSigner("coffer-1", v.SignKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Verify(issuer, v.JWT, noon)
	if err != nil || c.ID != "session" || c.Subject != "user" || c.Username != "ada" || c.ForgeType != "local" || !c.IssuedAt.Equal(noon) {
		t.Errorf("JWT: %+v, %v", c, err)
	}
	if ok, err := VerifyPassword(v.Argon, []byte(v.Password)); !ok || err != nil {
		t.Errorf("argon2id: %v, %v", ok, err)
	}
}

func vectorContexts() map[string][]byte {
	return map[string][]byte{
		"version": VersionContext(id(0x11), id(0x22), 7),
		"newest":  NewestContext(id(0x11), id(0x33), id(0x22), 7, "DATABASE_URL"),
		"record":  RecordContext(id(0x44), "connection/access-token"),
		"empty":   nil,
	}
}

// writeVectors writes what is missing in testdata, at real cost.
func writeVectors(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("testdata/vectors.json"); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	cost.TestOnlyCheap(false)
	defer cost.TestOnlyCheap(true)
	var v vectors
	put := func(name string, data []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(filepath.Join("testdata", name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	writeKeyVectors(t, &v, put)
	writeValueVectors(&v)
	var err error
	if v.APIKey, err = NewAPIKey("test"); err != nil {
		t.Fatal(err)
	}
	hash := HashToken(v.APIKey)
	v.APIHash = hash[:]
	v.SignKey = bytes.Repeat([]byte{0x66}, KeySize)
	s := testSigner(t, "coffer-1", 0x66)
	if v.JWT, err = s.Sign(issuer, testClaims()); err != nil {
		t.Fatal(err)
	}
	v.Password = "hunter2"
	if v.Argon, err = HashPassword([]byte(v.Password)); err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(v, "", "\t")
	put("vectors.json", append(data, '\n'), err)
}

func writeKeyVectors(t testing.TB, v *vectors, put func(string, []byte, error)) {
	t.Helper()
	m, i := mustMaster(t), mustIdentity(t)
	put("identity.txt", i.File(), nil)
	put("master-fingerprint.txt", []byte(m.Fingerprint()+"\n"), nil)
	file, err := WrapPassphrase(m, []byte(vectorPassphrase), MinWorkFactor)
	put("master-passphrase.age", file, err)
	file, err = WrapIdentity(m, i.Recipient())
	put("master-identity.age", file, err)
	r, file, err := NewRoot(m)
	put("root.age", file, err)
	defer r.Destroy()
	if err := r.use(func(key []byte) { v.RootKey = bytes.Clone(key) }); err != nil {
		t.Fatal(err)
	}
	v.Subkeys = map[string]hexBytes{}
	for _, purpose := range []string{"", "audit-chain", "etag"} {
		key := r.Subkey(purpose)
		v.Subkeys[purpose] = key[:]
	}
	vault := id(0x11)
	v.DataKeyID = vault[:]
	k, file, err := r.NewDataKey(vault)
	put("datakey.age", file, err)
	put("datakey.sealed", k.Seal(nil, []byte("plain"), []byte("context")), nil)
	put("stream.age", encryptAll(t, []byte(vectorContent), i.Recipient()), nil)
}

func writeValueVectors(v *vectors) {
	key := bytes.Repeat([]byte{0x55}, KeySize)
	k := newDataKey((*[KeySize]byte)(key))
	for _, name := range []string{"version", "newest", "record", "empty"} {
		plain := "postgres://ada:s3cret@db/" + name
		if name == "empty" {
			plain = ""
		}
		context := vectorContexts()[name]
		sealed := k.Seal(nil, []byte(plain), context)
		v.Values = append(v.Values, valueVector{name, key, sealed[:24], context, plain, sealed})
	}
}
