package crypto

import (
	"bytes"
	"testing"
)

func TestEveryKindOfMemoryHoldsAKey(t *testing.T) {
	for name, take := range map[string]func() *keyMemory{"secret": secretMemory, "locked": lockedMemory} {
		m := take()
		if m == nil {
			t.Logf("%s: this system has none", name)
			continue
		}
		key := bytes.Repeat([]byte{7}, KeySize)
		copy(m.bytes, key)
		if !bytes.HasPrefix(m.bytes, key) {
			t.Errorf("%s: it does not keep a key", name)
		}
		m.wipe()
		if m.bytes != nil {
			t.Errorf("%s: it is still within reach after wiping", name)
		}
	}
}
