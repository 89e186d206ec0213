package cli

import "testing"

func TestOneOfAThingHasNoS(t *testing.T) {
	for n, want := range map[int]string{0: "0 secrets", 1: "1 secret", 2: "2 secrets"} {
		if got := counted(n, "secret"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
