package httpd

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

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
