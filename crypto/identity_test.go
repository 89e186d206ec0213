package crypto

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
)

func TestIdentitySurvivesItsFile(t *testing.T) {
	i := mustIdentity(t)
	key := i.Reveal()
	for name, text := range map[string]string{
		"file":       string(i.File()),
		"bare":       key,
		"crlf":       "# c\r\n\r\n" + key + "\r\n",
		"spaces":     "\n  " + key + "  \n\n",
		"bom":        "\ufeff" + key,
		"lower case": strings.ToLower(key),
	} {
		got, err := ParseIdentity([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Reveal() != key || got.Fingerprint() != i.Fingerprint() {
			t.Errorf("%s: another key", name)
		}
	}
	if !regexp.MustCompile(`^([0-9a-f]{4}-){4}[0-9a-f]{4}$`).MatchString(i.Fingerprint()) {
		t.Errorf("fingerprint %q", i.Fingerprint())
	}
	if !strings.HasPrefix(i.Recipient(), "age1pq1") {
		t.Errorf("recipient %.20q", i.Recipient())
	}
	if _, err := age.ParseIdentities(strings.NewReader(string(i.File()))); err != nil {
		t.Errorf("age does not read the key file: %v", err)
	}
}

func TestUnusableIdentitySaysWhy(t *testing.T) {
	classic, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	i := mustIdentity(t)
	key := i.Reveal()
	for _, test := range []struct{ text, why string }{
		{"", "no line begins"},
		{"# only comments\n\n", "no line begins"},
		{classic.String(), "classic X25519"},
		{"AGE-PLUGIN-YUBIKEY-1QQQQ", "plugin"},
		{i.Recipient(), "public recipient"},
		{"age-encryption.org/v1\n-> x", "encrypted age file"},
		{"hello", "line 1: not an age key"},
		{"# x\n" + key[:len(key)-1], "line 2: the key is incomplete"},
		{key[:40] + flipLetter(key[40:41]) + key[41:], "incomplete or mistyped"},
		{key[:40] + strings.ToLower(key[40:]), "mixed"},
		{key + "\n" + key, "second key"},
		{strings.Repeat("#\n", maxIdentityText), "too long"},
	} {
		_, err := ParseIdentity([]byte(test.text))
		if !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%.20q: %v, want %q", test.text, err, test.why)
		}
		if err != nil && strings.Contains(strings.ToUpper(err.Error()), key[25:35]) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}

func flipLetter(s string) string {
	if s == "Q" {
		return "P"
	}
	return "Q"
}

func FuzzParseIdentity(f *testing.F) {
	i := mustIdentity(f)
	f.Add(i.File())
	f.Add([]byte("age1pq1"))
	f.Add([]byte("AGE-SECRET-KEY-1\r\n#"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseIdentity(text)
		if err != nil {
			if !errors.Is(err, ErrIdentity) {
				t.Error(err)
			}
			return
		}
		if again, err := ParseIdentity(got.File()); err != nil || again.Reveal() != got.Reveal() {
			t.Errorf("does not survive its own file: %v", err)
		}
	})
}
