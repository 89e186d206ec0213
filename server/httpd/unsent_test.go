package httpd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coffer/server/api"
)

// TestEveryFormIsGivenBack, but for those of people who are signed in by nothing yet,
// or do not need to be, and the device login, which leads back to its code.
func TestEveryFormIsGivenBack(t *testing.T) {
	own := []string{signInPath, "/logout", devicePath, devicePath + "/approve", devicePath + "/deny", unsealPath,
		setupPath + "/claim", setupPath + "/method", setupPath + "/another", setupPath + "/check", setupPath + "/user", setupPath + "/leave", setupPath + "/recovery-key", restorePath, unsealMethodsPath + "/file"}
	h := testFace(&doorman{identify: api.Errorf(api.Unauthorized, "No.")})
	for _, r := range pages() {
		if r.method != post || slices.Contains(own, r.path) {
			continue
		}
		w := call(h, "POST", r.address(), "typed=%3Cb%3E", "Authorization", "")
		if expectStatus(t, w, 401); !strings.Contains(w.Body.String(), `name="typed" value="&lt;b&gt;"`) {
			t.Errorf("%s: %s", r.path, w.Body)
		}
		expectPage(t, w.Header())
	}
}

// TestNoPasswordComesBack of any that a page asks for.
func TestNoPasswordComesBack(t *testing.T) {
	all, err := filepath.Glob("../../web/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* type="password"`)
	found := 0
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllSubmatch(text, -1) {
			found++
			if !neverBack[string(m[1])] {
				t.Errorf("%s asks for %s, which would be given back", name, m[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("found only %d passwords", found)
	}
}
