package crypto

import (
	"bytes"
	"runtime"
	"testing"
)

func TestKeyMemoryHoldsAKeyAndIsGivenBack(t *testing.T) {
	for range 1000 {
		m := newKeyMemory()
		if len(m.bytes) != KeySize || cap(m.bytes) != KeySize {
			t.Fatalf("%d bytes of %d", len(m.bytes), cap(m.bytes))
		}
		copy(m.bytes, bytes.Repeat([]byte{7}, KeySize))
		if m.bytes[KeySize-1] != 7 {
			t.Fatal("it does not keep a key")
		}
		m.wipe()
	}
	r := newRoot(make([]byte, KeySize))
	defer r.Destroy()
	t.Logf("root keys live in %s memory", r.Memory())
}

func TestHardenReportsWhatItReached(t *testing.T) {
	h := Harden()
	t.Logf("%+v", h)
	if runtime.GOOS == "linux" && (!h.NotDumpable || !h.NoCore) {
		t.Errorf("%+v", h)
	}
	if h.KeyMemory == "" {
		t.Error("the kind of memory is missing")
	}
}
