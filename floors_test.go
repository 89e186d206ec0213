package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says what of ours each package may import. Imports go downward only; a
// new package has no place until it stands here.
var rooms = map[string][]string{
	"coffer":                      {"server/cli"},
	"coffer/server/cli":           {"server", "server/client", "server/api", "server/dotenv", "server/offline"},
	"coffer/server":               {"server/datadir", "server/depot", "server/httpd", "server/jobs", "server/listen", "server/logging", "server/metrics", "server/stream", "server/warden", "server/forge", "server/hosting", "server/billing", "server/api", "store", "store/kv", "store/kv/bolt"},
	"coffer/server/client":        {"server/api"},
	"coffer/server/httpd":         {"server/httpd/openapi", "server/warden", "server/access", "server/api", "server/logging", "server/metrics", "web"},
	"coffer/server/httpd/openapi": {},
	"coffer/server/jobs":          {"server/warden", "server/api", "server/metrics"},
	"coffer/server/warden":        {"server/access", "server/api", "server/audit", "server/backup", "server/billing", "server/depot", "server/dotenv", "server/forge", "server/hosting", "server/stream", "server/syncplan", "crypto", "store", "store/kv"},
	"coffer/server/access":        {},
	"coffer/server/audit":         {"server/api"},
	"coffer/server/backup":        {},
	"coffer/server/datadir":       {},
	"coffer/server/api":           {},
	"coffer/server/billing":       {"server/api"},
	"coffer/server/dotenv":        {},
	"coffer/server/offline":       {},
	"coffer/server/forge":         {},
	"coffer/server/hosting":       {"server/api"},
	"coffer/server/syncplan":      {"server/hosting", "server/api"},
	"coffer/server/metrics":       {},
	"coffer/server/logging":       {},
	"coffer/server/stream":        {},
	"coffer/server/listen":        {},
	"coffer/server/depot":         {},
	"coffer/web":                  {},
	"coffer/store":                {"store/kv"},
	"coffer/store/kv":             {},
	"coffer/store/kv/bolt":        {"store/kv"},
	"coffer/crypto":               {"crypto/internal/cost"},
	"coffer/crypto/internal/cost": {},

	// What only tests use.
	"coffer/crypto/cryptotest":          {"crypto/internal/cost"},
	"coffer/store/kv/kvtest":            {"store/kv"},
	"coffer/server/httpd/openapitest":   {"server/httpd/openapi"},
	"coffer/server/servertest":          {"server", "server/httpd/openapitest", "server/client", "server/api", "crypto/cryptotest", "store/kv/kvtest"},
	"coffer/server/forge/forgetest":     {"server/forge", "server/standin"},
	"coffer/server/hosting/hostingtest": {"server/hosting", "server/api", "server/standin"},
	"coffer/server/billing/stripetest":  {"server/standin"},
	"coffer/server/depot/depottest":     {"server/depot", "server/standin"},
	"coffer/server/standin":             {},
	"coffer/server/bench":               {},
}

// libraries says in which rooms a third-party library may be used.
var libraries = map[string][]string{
	"github.com/gin-gonic/gin":     {"coffer/server/httpd"},
	"github.com/spf13/cobra":       {"coffer/server/cli"},
	"github.com/spf13/viper":       {"coffer/server/cli"},
	"go.etcd.io/bbolt":             {"coffer/store/kv/bolt"},
	"filippo.io/age":               {"coffer/crypto", "coffer/crypto/cryptotest"},
	"github.com/cloudflare/circl":  {"coffer/crypto"},
	"github.com/golang-jwt/jwt/v5": {"coffer/crypto"},
	"github.com/coreos/go-systemd": {"coffer/server/listen"},
	"github.com/prometheus":        {"coffer/server/metrics"},
	"github.com/minio/minio-go/v7": {"coffer/server/depot"},

	// What only tests use.
	"github.com/chromedp/chromedp":             {},
	"github.com/chromedp/cdproto":              {},
	"github.com/getkin/kin-openapi":            {},
	"github.com/santhosh-tekuri/jsonschema/v6": {"coffer/server/httpd/openapitest"},
	"github.com/stripe/stripe-go":              {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDownward(t *testing.T) {
	for _, p := range packages(t) {
		allowed, ok := rooms[p.ImportPath]
		if !ok {
			t.Errorf("%s has no place in the house: give it one in rooms", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			short, ours := strings.CutPrefix(i, "coffer/")
			if ours && !slices.Contains(allowed, short) {
				t.Errorf("%s must not import %s", p.ImportPath, i)
			}
			for library, places := range libraries {
				if (i == library || strings.HasPrefix(i, library+"/")) && !slices.Contains(places, p.ImportPath) {
					t.Errorf("%s must not import %s: that is for %s", p.ImportPath, i, strings.Join(places, ", "))
				}
			}
		}
	}
}

// TestWardenKnowsNoHTTP guards what the table of rooms cannot: the standard
// library's own.
func TestWardenKnowsNoHTTP(t *testing.T) {
	below := []string{"coffer/server/warden", "coffer/server/access", "coffer/server/dotenv", "coffer/server/api", "coffer/server/audit", "coffer/store", "coffer/crypto"}
	for _, p := range packages(t) {
		if slices.Contains(below, p.ImportPath) && slices.Contains(p.Imports, "net/http") {
			t.Errorf("%s must not import net/http", p.ImportPath)
		}
	}
}

// packages lists our packages that have code outside of tests.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			listed
			GoFiles []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p.listed)
		}
	}
}
