package server_test

import (
	"os"
	"path/filepath"
	"regexp"
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
	var page string
	for range 50 {
		if _, page = scrape(t, "http://operator", "", in.Operator.Transport); strings.Contains(page, "coffer_audit_stream_failing") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	there := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (coffer_[a-z_]+) `).FindAllStringSubmatch(page, -1) {
		there[m[1]] = true
	}
	named := make(map[string]bool)
	for _, name := range regexp.MustCompile(`coffer_[a-z_]+`).FindAllString(string(doc), -1) {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if named[name] = true; !there[name] {
			t.Errorf("%s is not measured", name)
		}
	}
	for name := range there {
		if !named[name] {
			t.Errorf("%s is not named", name)
		}
	}
}
