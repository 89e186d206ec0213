package standin

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Described is a file in an npm package that holds what a provider says of its own
// API. The packages are none of ours: COFFER_DESCRIPTIONS names a folder with the
// node_modules that they were installed in, and without it the test is skipped.
func Described(t testing.TB, npm string, name ...string) string {
	t.Helper()
	dir := os.Getenv("COFFER_DESCRIPTIONS")
	if dir == "" {
		t.Skipf("COFFER_DESCRIPTIONS is not set to a folder with node_modules/%s", npm)
	}
	return filepath.Join(append([]string{dir, "node_modules", filepath.FromSlash(npm)}, name...)...)
}

// Template is the described path that a path of a request is one of, the one with
// the fewest variables first, or "".
func Template(described iter.Seq[string], path string) string {
	best, variables := "", 100
	parts := strings.Split(path, "/")
	for template := range described {
		names := strings.Split(template, "/")
		n := 0
		fits := len(names) == len(parts)
		for i := 0; fits && i < len(names); i++ {
			if strings.HasPrefix(names[i], "{") {
				n++
				continue
			}
			fits = names[i] == parts[i]
		}
		if fits && n < variables {
			best, variables = template, n
		}
	}
	return best
}
