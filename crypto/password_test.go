package crypto

import (
	"errors"
	"strings"
	"testing"

	"coffer/crypto/internal/cost"
)

func TestPasswordVerifiesAgainstItsHash(t *testing.T) {
	hash, err := HashPassword([]byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := VerifyPassword(hash, []byte("hunter2")); !ok || err != nil {
		t.Errorf("right password: %v, %v", ok, err)
	}
	for _, wrong := range []string{"", "hunter", "hunter22", "Hunter2"} {
		if ok, err := VerifyPassword(hash, []byte(wrong)); ok || err != nil {
			t.Errorf("%q: %v, %v", wrong, ok, err)
		}
	}
	again, err := HashPassword([]byte("hunter2"))
	if err != nil || again == hash {
		t.Errorf("the salt is not random: %v", err)
	}
}

func TestPasswordHashHasItsCostOutsideTests(t *testing.T) {
	cost.TestOnlyCheap(false)
	defer cost.TestOnlyCheap(true)
	if got := newArgon().String(); !strings.HasPrefix(got, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Error(got)
	}
}

func TestUnusablePasswordHashIsRefused(t *testing.T) {
	const salt, sum = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	good := "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + sum
	if _, err := VerifyPassword(good, nil); err != nil {
		t.Fatal(err)
	}
	for name, hash := range map[string]string{
		"empty":           "",
		"bcrypt":          "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"argon2i":         strings.Replace(good, "argon2id", "argon2i", 1),
		"old version":     strings.Replace(good, "v=19", "v=16", 1),
		"much memory":     strings.Replace(good, "m=8", "m=262145", 1),
		"huge memory":     strings.Replace(good, "m=8", "m=4294967295", 1),
		"overflow":        strings.Replace(good, "m=8", "m=4294967304", 1),
		"many passes":     strings.Replace(good, "t=1", "t=11", 1),
		"no pass":         strings.Replace(good, "t=1", "t=0", 1),
		"many lanes":      strings.Replace(good, "m=8,t=1,p=1", "m=1024,t=1,p=17", 1),
		"no lane":         strings.Replace(good, "p=1", "p=0", 1),
		"little memory":   strings.Replace(good, "m=8", "m=7", 1),
		"sign":            strings.Replace(good, "m=8", "m=+8", 1),
		"leading zero":    strings.Replace(good, "m=8", "m=08", 1),
		"order":           strings.Replace(good, "m=8,t=1", "t=1,m=8", 1),
		"more parameters": strings.Replace(good, "p=1", "p=1,data=AA", 1),
		"short salt":      strings.Replace(good, "$"+salt, "$"+salt[2:], 1),
		"short sum":       good[:len(good)-4],
		"no sum":          strings.TrimSuffix(good, sum),
		"padding":         good + "=",
		"line break":      good + "\n",
		"idle bits":       good[:len(good)-1] + "B",
		"more fields":     good + "$x",
		"long":            good + strings.Repeat("A", 300),
	} {
		if _, err := VerifyPassword(hash, nil); !errors.Is(err, ErrPasswordHash) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerifyPassword(f *testing.F) {
	hash, err := HashPassword([]byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(hash)
	f.Add("$argon2id$v=19$m=262144,t=10,p=16$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, in string) {
		p, err := parseArgon(in)
		if err != nil {
			if !errors.Is(err, ErrPasswordHash) {
				t.Error(err)
			}
			return
		}
		if p.String() != in || !p.affordable() {
			t.Errorf("parsed %q", in)
		}
		// Costly ones are as valid, and would only slow the search down.
		if p.memory*p.passes > 64 {
			return
		}
		if _, err := VerifyPassword(in, []byte("x")); err != nil {
			t.Error(err)
		}
	})
}
