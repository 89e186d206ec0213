package crypto

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"
)

func testChain(fill byte) *Chain { return newChain(bytes.Repeat([]byte{fill}, KeySize)) }

func mustLink(t testing.TB, c *Chain, previous Link, number uint64, record string) Link {
	t.Helper()
	l, err := c.Link(previous, number, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustEnd(t testing.TB, c *Chain, link Link, number uint64) Link {
	t.Helper()
	l, err := c.End(link, number)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestALinkDependsOnEverything also holds that the end of a log is never a link.
func TestALinkDependsOnEverything(t *testing.T) {
	c := testChain(1)
	seen := make(map[Link]string)
	for name, l := range map[string]Link{
		"link":           mustLink(t, c, Link{}, 1, "record"),
		"other record":   mustLink(t, c, Link{}, 1, "recorD"),
		"longer record":  mustLink(t, c, Link{}, 1, "record\x00"),
		"no record":      mustLink(t, c, Link{}, 1, ""),
		"other number":   mustLink(t, c, Link{}, 2, "record"),
		"other previous": mustLink(t, c, Link{31: 1}, 1, "record"),
		"other key":      mustLink(t, testChain(2), Link{}, 1, "record"),
		"end":            mustEnd(t, c, Link{}, 1),
		"end, other key": mustEnd(t, testChain(2), Link{}, 1),
	} {
		if other, ok := seen[l]; ok {
			t.Errorf("%s and %s are equal", name, other)
		}
		seen[l] = name
	}
	if again := mustLink(t, c, Link{}, 1, "record"); seen[again] != "link" {
		t.Error("a link does not repeat")
	}
}

// TestALinkIsWhatTheDocumentSays says the format in other words.
func TestALinkIsWhatTheDocumentSays(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, KeySize)
	for label, got := range map[string]Link{
		"coffer/audit-link/v1\x00": mustLink(t, testChain(7), Link{1, 2, 3}, 258, ""),
		"coffer/audit-end/v1\x00":  mustEnd(t, testChain(7), Link{1, 2, 3}, 258),
	} {
		key, err := hkdf.Key(sha256.New, secret, nil, label, 32)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(append([]byte{1, 2, 3}, make([]byte, 29)...))
		mac.Write(binary.BigEndian.AppendUint64(nil, 258))
		if want := mac.Sum(nil); !bytes.Equal(got[:], want) {
			t.Errorf("%q: %x, want %x", label, got, want)
		}
	}
}

func TestAChainOpensInItsPlaceOnly(t *testing.T) {
	k := testDataKey(1)
	place := RecordContext(id(1), "audit/chain")
	c, sealed := k.NewChain(place)
	again, err := k.OpenChain(sealed, place)
	if err != nil {
		t.Fatal(err)
	}
	if mustLink(t, c, Link{}, 1, "r") != mustLink(t, again, Link{}, 1, "r") {
		t.Error("it opened to another key")
	}
	if other, _ := k.NewChain(place); mustLink(t, c, Link{}, 1, "r") == mustLink(t, other, Link{}, 1, "r") {
		t.Error("two chains have one key")
	}
	if _, err := k.OpenChain(sealed, RecordContext(id(2), "audit/chain")); !errors.Is(err, ErrOpen) {
		t.Errorf("in another place: %v", err)
	}
	if _, err := k.OpenChain(k.Seal(nil, make([]byte, 31), place), place); !errors.Is(err, ErrDamaged) {
		t.Errorf("a short key: %v", err)
	}
	c.Destroy()
	if _, err := c.Link(Link{}, 1, nil); !errors.Is(err, ErrDestroyed) {
		t.Errorf("Link after Destroy: %v", err)
	}
	if _, err := c.End(Link{}, 1); !errors.Is(err, ErrDestroyed) {
		t.Errorf("End after Destroy: %v", err)
	}
	c.Destroy()
}

func BenchmarkLink(b *testing.B) {
	c := testChain(1)
	record := make([]byte, 300)
	var l Link
	b.ReportAllocs()
	for b.Loop() {
		l, _ = c.Link(l, 7, record)
	}
}

func BenchmarkEnd(b *testing.B) {
	c := testChain(1)
	var l Link
	b.ReportAllocs()
	for b.Loop() {
		l, _ = c.End(l, 7)
	}
}
