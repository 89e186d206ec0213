package crypto

import (
	"bytes"
	"crypto/cipher"
	"reflect"
	"runtime"
	"unsafe"
)

// wipeWhenUnused has the key inside aead cleared when nothing refers to aead
// any more, which is the first moment at which no call can be using it. The
// collector alone would leave the bytes in memory until something overwrites
// them.
//
// x/crypto has no way to clear a cipher, so this goes through its memory. It
// takes the memory for the key only if it is exactly that; otherwise it does
// nothing, and a test fails.
func wipeWhenUnused(aead cipher.AEAD, key *[KeySize]byte) bool {
	memory := cipherMemory(aead)
	if memory == nil || !bytes.Equal(memory, key[:]) {
		return false
	}
	runtime.SetFinalizer(aead, wipeCipher)
	return true
}

func wipeCipher(aead cipher.AEAD) { clear(cipherMemory(aead)) }

// cipherMemory returns the memory of the struct behind aead if it has the size
// of a key, else nil.
func cipherMemory(aead cipher.AEAD) []byte {
	v := reflect.ValueOf(aead)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() != KeySize {
		return nil
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), KeySize)
}
