package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"coffer/server"
	"coffer/server/servertest"
)

// TestOperationsNamesTheMetrics holds docs/operations.md against what is measured: it
// names all of ours, and none that there is not.
func TestOperationsNamesTheMetrics(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1) {
		if err := yaml.Unmarshal(block[1], new(map[string]any)); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
	in := servertest.New(t, func(c *server.Config) {
		c.Audit.Stream = "file:" + filepath.Join(t.TempDir(), "stream")
		// Nobody answers there; that is counted, too.
		c.Forge = server.ForgeConfig{Kind: "gitea", URL: "http://127.0.0.1:1"}
	})
	if _, err := in.Operator.CheckForge(t.Context()); err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, name := range regexp.MustCompile(`coffer_[a-z_]+`).FindAllString(string(doc), -1) {
		named[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
	}
	// Some come into sight when what they measure first goes on.
	var unmeasured, unnamed []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		there := measured(t, in)
		unmeasured, unnamed = without(named, there), without(there, named)
		if len(unmeasured) == 0 {
			break
		}
	}
	if len(unmeasured) > 0 || len(unnamed) > 0 {
		t.Errorf("not measured: %v; not named: %v", unmeasured, unnamed)
	}
}

// measured are the names of all metrics of ours.
func measured(t *testing.T, in *servertest.Instance) map[string]bool {
	t.Helper()
	_, page := scrape(t, "http://operator", "", in.Operator.Transport)
	there := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (coffer_[a-z_]+) `).FindAllStringSubmatch(page, -1) {
		there[m[1]] = true
	}
	return there
}

// without are those names of the first that the second has not.
func without(these, those map[string]bool) (left []string) {
	for name := range these {
		if !those[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}
