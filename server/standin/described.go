package standin

import (
	"os"
	"path/filepath"
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
