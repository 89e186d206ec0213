package crypto

import (
	"regexp"
	"strings"
	"testing"
)

func TestUserCodesAreFairAndReadable(t *testing.T) {
	form := regexp.MustCompile(`^[A-HJKMNP-Z2-9]{5}-[A-HJKMNP-Z2-9]{5}$`)
	count := make(map[rune]int)
	const codes = 20_000
	for range codes {
		code := NewUserCode()
		if !form.MatchString(code) {
			t.Fatalf("code %q", code)
		}
		if got, ok := ParseUserCode(code); !ok || got != code {
			t.Fatalf("%q is read as %q, %t", code, got, ok)
		}
		for _, c := range strings.ReplaceAll(code, "-", "") {
			count[c]++
		}
	}
	if len(count) != 31 {
		t.Errorf("%d characters occur, want 31", len(count))
	}
	// A rest taken by modulo would make eight characters likelier by an eighth; the
	// deviation that chance gives is 80.
	const want = codes * 10 / 31
	for c, n := range count {
		if n < want-480 || n > want+480 {
			t.Errorf("%c occurs %d times, want about %d", c, n, want)
		}
	}
}

func TestUserCodesAreReadAsPeopleTypeThem(t *testing.T) {
	for text, want := range map[string]string{
		"BCDFG-HJK23":      "BCDFG-HJK23",
		"bcdfghjk23":       "BCDFG-HJK23",
		"  bCdFg hjk23\n":  "BCDFG-HJK23",
		"BCDF-GHJK-23":     "BCDFG-HJK23",
		"":                 "",
		"BCDFG-HJK2":       "",
		"BCDFG-HJK234":     "",
		"BCDFG-HJK10":      "",
		"BCDFG-HJKIO":      "",
		"BCDFG_HJK23":      "",
		"BCDFG-HJKß":       "",
		"BCDFG-HJ\u212a23": "",
	} {
		got, ok := ParseUserCode(text)
		if got != want || ok != (want != "") {
			t.Errorf("%q is read as %q, %t; want %q", text, got, ok, want)
		}
	}
	if _, ok := ParseUserCode(strings.Repeat(" ", 1<<20) + "BCDFG-HJK23"); ok {
		t.Error("a megabyte is a code")
	}
}

func TestDeviceCodesAreHexAndDiffer(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{64}$`)
	seen := make(map[string]bool)
	for range 100 {
		code := NewDeviceCode()
		if !form.MatchString(code) || seen[code] {
			t.Errorf("code %q", code)
		}
		seen[code] = true
	}
}
