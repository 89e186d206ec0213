package crypto

import (
	"strings"
	"testing"
)

func TestAPIKeysHaveTheirForm(t *testing.T) {
	for _, environment := range []string{"live", "test"} {
		token, err := NewAPIKey(environment)
		if err != nil {
			t.Fatal(err)
		}
		if !ValidAPIKey(token) || len(token) != 52 || !strings.HasPrefix(token, "coffer_"+environment+"_") {
			t.Errorf("%s: a token of %d characters", environment, len(token))
		}
	}
	for _, environment := range []string{"", "Live", "prod"} {
		if _, err := NewAPIKey(environment); err == nil {
			t.Errorf("%q was taken", environment)
		}
	}
}

func TestOnlyTheExactFormIsAnAPIKey(t *testing.T) {
	forty := strings.Repeat("aZ09", 10)
	for token, want := range map[string]bool{
		"coffer_live_" + forty:              true,
		"coffer_test_" + forty:              true,
		"":                                  false,
		"coffer_live_":                      false,
		"coffer_live_" + forty[1:]:          false,
		"coffer_live_" + forty + "a":        false,
		"coffer_prod_" + forty:              false,
		"Coffer_live_" + forty:              false,
		" coffer_live_" + forty:             false,
		"coffer_live_" + forty + "\n":       false,
		"coffer_live_" + forty[1:] + "_":    false,
		"coffer_live_" + forty[1:] + "-":    false,
		"coffer_live_" + forty[2:] + "é":    false,
		"coffer_live_" + forty[1:] + "\x00": false,
	} {
		if ValidAPIKey(token) != want {
			t.Errorf("%q: %v", token, !want)
		}
	}
}

func TestTokensHaveTheAskedLengthAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := 1; n < 200; n++ {
		token, err := NewToken(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(token) != n || strings.Trim(token, base62) != "" {
			t.Errorf("NewToken(%d) has %d characters", n, len(token))
		}
		if n > 20 && seen[token[:20]] {
			t.Error("a token came twice")
		}
		seen[token[:min(n, 20)]] = n > 20
	}
	for _, n := range []int{0, -1} {
		if _, err := NewToken(n); err == nil {
			t.Errorf("NewToken(%d) was taken", n)
		}
	}
}

func TestTokenCharactersAreUniform(t *testing.T) {
	const each = 10000
	token, err := NewToken(62 * each)
	if err != nil {
		t.Fatal(err)
	}
	var count [256]int
	for i := range len(token) {
		count[token[i]]++
	}
	// The sum has 61 degrees of freedom: mean 61, standard deviation 11. 150 is
	// eight deviations away, and a plain modulo of a byte gives over 10,000.
	sum := 0.0
	for i := range len(base62) {
		d := float64(count[base62[i]] - each)
		sum += d * d / each
	}
	if sum > 150 {
		t.Errorf("chi squared is %.0f", sum)
	}
}

func FuzzRecogniseToken(f *testing.F) {
	f.Add("coffer_live_" + strings.Repeat("a", 40))
	f.Add("eyJhbGciOiJIUzI1NiIsImtpZCI6ImNvZmZlci0xIn0.e30.x")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if ValidAPIKey(token) && LooksLikeJWT(token) {
			t.Errorf("%q is both", token)
		}
		if ValidAPIKey(token) && (len(token) != 52 || !strings.HasPrefix(token, "coffer_")) {
			t.Errorf("%q is an API key", token)
		}
		if LooksLikeJWT(token) && strings.Count(token, ".") != 2 {
			t.Errorf("%q is a JWT", token)
		}
	})
}
