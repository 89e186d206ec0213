package crypto

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

func TestSealedValueOpensInItsPlace(t *testing.T) {
	k := testDataKey(1)
	for _, plain := range [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte("long"), 10000)} {
		sealed := k.Seal(nil, plain, []byte("here"))
		if len(sealed) != len(plain)+Overhead {
			t.Errorf("%d bytes became %d", len(plain), len(sealed))
		}
		got, err := k.Open(nil, sealed, []byte("here"))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %v", len(plain), err)
		}
		if _, err := k.Open(nil, sealed, []byte("there")); !errors.Is(err, ErrOpen) {
			t.Errorf("another place: %v", err)
		}
		if _, err := testDataKey(2).Open(nil, sealed, []byte("here")); !errors.Is(err, ErrOpen) {
			t.Errorf("another key: %v", err)
		}
	}
}

func TestSealAndOpenAppend(t *testing.T) {
	k := testDataKey(1)
	sealed := k.Seal([]byte("head"), []byte("value"), nil)
	if !bytes.HasPrefix(sealed, []byte("head")) {
		t.Errorf("%q", sealed)
	}
	got, err := k.Open([]byte("head"), sealed[4:], nil)
	if err != nil || string(got) != "headvalue" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSealAndOpenDoNotAllocateWithRoom(t *testing.T) {
	k := testDataKey(1)
	plain, context := make([]byte, 100), make([]byte, 60)
	dst := make([]byte, 0, 200)
	sealed := k.Seal(nil, plain, context)
	if n := testing.AllocsPerRun(100, func() { k.Seal(dst, plain, context) }); n != 0 {
		t.Errorf("Seal allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = k.Open(dst, sealed, context) }); n != 0 {
		t.Errorf("Open allocates %v times", n)
	}
}

func TestDamagedValueNeverOpens(t *testing.T) {
	k := testDataKey(1)
	sealed := k.Seal(nil, []byte("a value"), []byte("here"))
	for i := range sealed {
		for bit := range 8 {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << bit
			if _, err := k.Open(nil, bad, []byte("here")); !errors.Is(err, ErrOpen) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
		if _, err := k.Open(nil, sealed[:i], []byte("here")); !errors.Is(err, ErrOpen) {
			t.Errorf("cut to %d: %v", i, err)
		}
	}
	if _, err := k.Open(nil, append(sealed, 0), []byte("here")); !errors.Is(err, ErrOpen) {
		t.Errorf("appended: %v", err)
	}
}

func TestNoncesDiffer(t *testing.T) {
	k := testDataKey(1)
	seen := map[string]bool{}
	for range 1000 {
		nonce := string(k.Seal(nil, nil, nil)[:24])
		if seen[nonce] {
			t.Fatal("a nonce came twice")
		}
		seen[nonce] = true
	}
}

func TestValueOpensOnlyInTheVeryPlaceItWasSealedFor(t *testing.T) {
	k := testDataKey(1)
	contexts := map[string][]byte{
		"newest":             NewestContext(id(1), id(2), id(3), 4, "KEY"),
		"newest vault":       NewestContext(id(9), id(2), id(3), 4, "KEY"),
		"newest environment": NewestContext(id(1), id(9), id(3), 4, "KEY"),
		"newest secret":      NewestContext(id(1), id(2), id(9), 4, "KEY"),
		"newest version":     NewestContext(id(1), id(2), id(3), 9, "KEY"),
		"newest key":         NewestContext(id(1), id(2), id(3), 4, "KEY2"),
		"newest no key":      NewestContext(id(1), id(2), id(3), 4, ""),
		"newest swapped":     NewestContext(id(2), id(1), id(3), 4, "KEY"),
		"version":            VersionContext(id(1), id(3), 4),
		"version vault":      VersionContext(id(9), id(3), 4),
		"version secret":     VersionContext(id(1), id(9), 4),
		"version version":    VersionContext(id(1), id(3), 9),
		"version high":       VersionContext(id(1), id(3), 4<<24),
		"record":             RecordContext(id(1), "connection/token"),
		"record id":          RecordContext(id(9), "connection/token"),
		"record field":       RecordContext(id(1), "connection/refresh"),
		// A record whose field imitates the rest of a version's context.
		"record imitation": RecordContext(id(1), string(VersionContext(id(1), id(3), 4)[17:])),
		"none":             nil,
	}
	for from, sealedIn := range contexts {
		sealed := k.Seal(nil, []byte("v"), sealedIn)
		for to, openedIn := range contexts {
			_, err := k.Open(nil, sealed, openedIn)
			if (from == to) != (err == nil) {
				t.Errorf("sealed for %s, opened in %s: %v", from, to, err)
			}
		}
	}
}

func TestContextsHaveTheirDocumentedLayout(t *testing.T) {
	v := VersionContext(id(0x11), id(0x22), 0x01020304)
	want := append([]byte{1}, strings.Repeat("\x11", 16)+strings.Repeat("\x22", 16)+"\x01\x02\x03\x04"...)
	if !bytes.Equal(v, want) {
		t.Errorf("version %x", v)
	}
	n := NewestContext(id(0x11), id(0x33), id(0x22), 5, "KEY")
	want = append([]byte{2}, strings.Repeat("\x11", 16)+strings.Repeat("\x33", 16)+strings.Repeat("\x22", 16)+"\x00\x00\x00\x05KEY"...)
	if !bytes.Equal(n, want) {
		t.Errorf("newest %x", n)
	}
	r := RecordContext(id(0x11), "a/b")
	want = append([]byte{3}, strings.Repeat("\x11", 16)+"a/b"...)
	if !bytes.Equal(r, want) {
		t.Errorf("record %x", r)
	}
}

func TestDestroyedDataKeyDoesNothing(t *testing.T) {
	k := testDataKey(1)
	sealed := k.Seal(nil, []byte("v"), nil)
	k.Destroy()
	k.Destroy()
	if _, err := k.Open(nil, sealed, nil); !errors.Is(err, ErrDestroyed) {
		t.Error(err)
	}
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "crypto: ") {
			t.Errorf("Seal: recovered %q", text)
		}
	}()
	k.Seal(nil, nil, nil)
}

func TestDataKeyMayBeDestroyedWhileInUse(t *testing.T) {
	k := testDataKey(1)
	sealed := k.Seal(nil, []byte("v"), nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				_, err := k.Open(nil, sealed, nil)
				if errors.Is(err, ErrDestroyed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	time.Sleep(time.Millisecond)
	k.Destroy()
	wg.Wait()
}

func TestKeyBytesAreClearedAfterDestroy(t *testing.T) {
	key := (*[KeySize]byte)(bytes.Repeat([]byte{0x5a}, KeySize))
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		t.Fatal(err)
	}
	if !wipeWhenUnused(aead, key) {
		t.Fatal("the cipher does not hold its key where wipeWhenUnused looks for it")
	}
	memory := cipherMemory(aead)
	runtime.SetFinalizer(aead, nil)
	wipeCipher(aead)
	if !bytes.Equal(memory, make([]byte, KeySize)) {
		t.Errorf("after wiping: %x", memory)
	}
}
