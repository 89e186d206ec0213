package httpd

import (
	"net/url"
	"testing"

	"coffer/server/access"
	"coffer/server/api"
)

// TestFormsAreTakenFromOurOwnPages, and from those who are signed in.
func TestFormsAreTakenFromOurOwnPages(t *testing.T) {
	done := 0
	forms := []route{
		{post, "/form", access.UserMe, inGeneral, act(func(x *exchange, _ url.Values) error {
			done++
			x.done("/", vaultCreated)
			return nil
		})},
		{post, vaultPath + "/form", access.UserMe, inGeneral, actInVault(func(*exchange, *api.Vault, url.Values) error {
			done++
			return nil
		})},
	}
	for _, path := range []string{"/form", "/vaults/acme/api/form"} {
		h := testFace(&doorman{}, forms...)
		for _, foreign := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		} {
			expectStatus(t, call(h, "POST", path, "a=1", foreign...), 403)
		}
		h = testFace(&doorman{identify: api.Errorf(api.Unauthorized, "No.")}, forms...)
		w := call(h, "POST", path, "", "Referer", "https://vault.example/keys")
		if expectStatus(t, w, 303); w.Header().Get("Location") != "/login?return=%2Fkeys" {
			t.Errorf("to %q", w.Header().Get("Location"))
		}
		expectStatus(t, call(testFace(&doorman{}, forms...), "POST", path, "a=1&a=2"), 400)
	}
	if done != 0 {
		t.Errorf("%d forms were taken", done)
	}
	w := call(testFace(&doorman{}, forms...), "POST", "/form", "a=1", "Origin", "https://vault.example")
	if expectStatus(t, w, 303); w.Header().Get("Location") != "/" || done != 1 {
		t.Errorf("to %q", w.Header().Get("Location"))
	}
}

func TestLetters(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "A", 26: "Z", 27: "AA", 52: "AZ", 53: "BA", 703: "AAA"} {
		if got := letter(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
