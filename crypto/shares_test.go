package crypto

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustShares(t testing.TB, threshold, total int) (*Identity, []*Share) {
	t.Helper()
	i, all, err := NewShares(threshold, total)
	if err != nil {
		t.Fatal(err)
	}
	return i, all
}

func reparsed(t testing.TB, s *Share) *Share {
	t.Helper()
	again, err := ParseShare([]byte(s.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestAnyThresholdOfSharesGivesTheKey(t *testing.T) {
	i, all := mustShares(t, 3, 5)
	for mask := range 1 << 5 {
		var some []*Share
		for n, s := range all {
			if mask>>n&1 == 1 {
				some = append([]*Share{reparsed(t, s)}, some...)
			}
		}
		got, err := CombineShares(some)
		switch {
		case len(some) < 3:
			if !errors.Is(err, ErrTooFewShares) {
				t.Errorf("%05b: %v", mask, err)
			}
		case err != nil:
			t.Errorf("%05b: %v", mask, err)
		case got.Reveal() != i.Reveal():
			t.Errorf("%05b: another key", mask)
		}
	}
	if all[0].Set() != i.Fingerprint()[:9] || all[4].Index() != 5 || all[4].Total() != 5 || all[4].Threshold() != 3 {
		t.Errorf("%s %d", all[0].Set(), all[4].Index())
	}
}

func TestTheMostSharesWork(t *testing.T) {
	i, all := mustShares(t, MaxShares, MaxShares)
	if got, err := CombineShares(all); err != nil || got.Reveal() != i.Reveal() {
		t.Error(err)
	}
	for _, bad := range [][2]int{{1, 1}, {1, 5}, {0, 0}, {4, 3}, {2, MaxShares + 1}, {-1, 2}} {
		if _, _, err := NewShares(bad[0], bad[1]); err == nil {
			t.Errorf("%v went through", bad)
		}
	}
}

func TestWrongSharesAreToldApart(t *testing.T) {
	_, all := mustShares(t, 2, 3)
	_, others := mustShares(t, 2, 3)
	if _, err := CombineShares([]*Share{all[0], all[0]}); !errors.Is(err, ErrRepeatedShare) {
		t.Error(err)
	}
	if _, err := CombineShares([]*Share{all[0], others[1]}); !errors.Is(err, ErrForeignShare) {
		t.Error(err)
	}
	forged := *others[1]
	forged.set = all[0].set
	if _, err := CombineShares([]*Share{all[0], reparsed(t, &forged)}); !errors.Is(err, ErrWrongShare) {
		t.Error(err)
	}
	if _, err := CombineShares(nil); !errors.Is(err, ErrTooFewShares) {
		t.Error(err)
	}
}

func TestASharesTextIsForgiving(t *testing.T) {
	_, all := mustShares(t, 2, 3)
	text := all[1].Reveal()
	if len(text) != len(sharePrefix)+shareGroups*7 {
		t.Errorf("%d characters", len(text))
	}
	for name, typed := range map[string]string{
		"lower":    strings.ToLower(text),
		"spaces":   strings.ReplaceAll(text, "-", " "),
		"nothing":  strings.ReplaceAll(text, "-", ""),
		"lines":    strings.ReplaceAll(text, "-", "\r\n  "),
		"comments": "# share 2\n" + text + "\n",
		"letters":  strings.NewReplacer("0", "O", "1", "l").Replace(text),
		"digits":   strings.Replace(text, "COFFER", "C0FFER", 1),
	} {
		got, err := ParseShare([]byte(typed))
		if err != nil || got.Reveal() != text {
			t.Errorf("%s: %v", name, err)
		}
		if !LooksLikeShare(typed) {
			t.Errorf("%s does not look like a share", name)
		}
	}
}

func TestMistakesInASharesTextAreLocated(t *testing.T) {
	_, all := mustShares(t, 2, 3)
	text := all[0].Reveal()
	groups := strings.Split(text[len(sharePrefix)+1:], "-")
	with := func(n int, group string) string {
		changed := append([]string(nil), groups...)
		changed[n-1] = group
		return sharePrefix + "-" + strings.Join(changed, "-")
	}
	other := func(c byte) string { return string(shareDigits[(strings.IndexByte(shareDigits, c)+1)%32]) }
	for at := range 6 {
		g := groups[6]
		if _, err := ParseShare([]byte(with(7, g[:at]+other(g[at])+g[at+1:]))); err == nil || !strings.Contains(err.Error(), "group 7 is mistyped") {
			t.Errorf("character %d: %v", at+1, err)
		}
	}
	_, mixed := mustShares(t, 2, 3)
	theirs := strings.Split(mixed[0].Reveal()[len(sharePrefix)+1:], "-")
	for name, test := range map[string]struct{ text, want string }{
		"two groups":      {with(3, "UUUUUU")[:len(text)-7] + "-UUUUUU", "groups 3, 14 are mistyped"},
		"swapped groups":  {strings.Replace(strings.Replace(text, groups[3], "X", 1), groups[4], groups[3], 1), "mistake is in group 4"},
		"a group missing": {strings.Replace(text, groups[5]+"-", "", 1), "instead of 84; the first mistake is in group 6"},
		"a character":     {with(9, groups[8][:5]), "the first mistake is in group 9"},
		"too long":        {text + "-ABC", "goes on behind its 14 groups"},
		"of two":          {with(8, theirs[7]), "checksum"},
		"another version": {strings.Replace(text, "SHARE-1", "SHARE-2", 1), "another version"},
		"a key":           {mustIdentity(t).Reveal(), "does not begin with COFFER-SHARE-1"},
		"nothing":         {"", "does not begin"},
		"endless":         {strings.Repeat("A", 5000), "too long"},
	} {
		_, err := ParseShare([]byte(test.text))
		if !errors.Is(err, ErrShare) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), groups[2]) {
			t.Errorf("%s: the error quotes the share: %v", name, err)
		}
	}
}

// TestSharesOfTheFirstReleaseOpen holds the form of shares against what was
// written once: they lie in drawers, and nobody can convert them.
func TestSharesOfTheFirstReleaseOpen(t *testing.T) {
	path := filepath.Join("testdata", "shares.json")
	var v struct {
		Identity string
		Shares   []string
	}
	if _, err := os.Stat(path); *update && errors.Is(err, os.ErrNotExist) {
		i, all := mustShares(t, 3, 4)
		v.Identity = i.Reveal()
		for _, s := range all {
			v.Shares = append(v.Shares, s.Reveal())
		}
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var some []*Share
	for _, text := range v.Shares[1:] {
		s, err := ParseShare([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Reveal() != text {
			t.Errorf("share %d is written otherwise now", s.Index())
		}
		some = append(some, s)
	}
	i, err := CombineShares(some)
	if err != nil || i.Reveal() != v.Identity {
		t.Errorf("another key: %v", err)
	}
}

func TestAgeReadsTheIdentityOfASeed(t *testing.T) {
	for range 20 {
		i := mustIdentity(t)
		seed, err := seedOf(i)
		if err != nil {
			t.Fatal(err)
		}
		again, err := identityOf(seed)
		if err != nil || again.Reveal() != i.Reveal() {
			t.Errorf("another identity: %v", err)
		}
	}
}

func TestASharePrintsNothing(t *testing.T) {
	_, all := mustShares(t, 2, 2)
	s := all[0]
	plain := s.Reveal()[len(sharePrefix):]
	for _, v := range []any{s, *s, struct{ v *Share }{s}, struct{ v Share }{*s}} {
		for form, out := range printForms(t, v) {
			checkSilent(t, form, out, plain)
			checkSilent(t, form, out, string(s.value.Reveal()))
		}
	}
}

func TestSeveralSharesInOneText(t *testing.T) {
	_, all := mustShares(t, 2, 3)
	text := "# both\n" + all[0].Reveal() + "\n# next\n" + strings.ToLower(all[2].Reveal()) + " " + all[1].Reveal()
	got, err := ParseShares([]byte(text))
	if err != nil || len(got) != 3 || got[1].Index() != 3 {
		t.Errorf("%d %v", len(got), err)
	}
	if _, err := ParseShares([]byte(text + "-X")); err == nil || !strings.Contains(err.Error(), "share 3 of the text") {
		t.Error(err)
	}
	if _, err := ParseShares([]byte("x " + text)); !errors.Is(err, ErrShare) {
		t.Error(err)
	}
	if got, err := ParseShares([]byte(all[0].Reveal())); err != nil || len(got) != 1 {
		t.Error(err)
	}
}

func FuzzParseShare(f *testing.F) {
	_, all := mustShares(f, 2, 3)
	for _, s := range all {
		f.Add([]byte(s.Reveal()))
	}
	f.Add([]byte("COFFER-SHARE-1-"))
	f.Add([]byte("# x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseShare(text)
		if err != nil {
			if !errors.Is(err, ErrShare) {
				t.Error(err)
			}
			return
		}
		again, err := ParseShare([]byte(s.Reveal()))
		if err != nil || !bytes.Equal(again.shareBytes(), s.shareBytes()) {
			t.Errorf("it does not survive its text: %v", err)
		}
		_, _ = CombineShares([]*Share{s, all[0], all[1]})
		_, _ = ParseShares(append(text, all[0].Reveal()...))
	})
}
