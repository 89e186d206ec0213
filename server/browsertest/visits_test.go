package browsertest

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lookedAt are the addresses of pages that were looked at in this run.
var lookedAt visits

// visits gathers addresses that stories come by, at the same time.
type visits struct {
	mu  sync.Mutex
	all []string
}

func (v *visits) add(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	path, _, _ := strings.Cut(address, "?")
	v.all = append(v.all, path)
}

// without lists the pages, by their routes, that were not come by.
func (v *visits) without(pages []string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	routes, left := http.NewServeMux(), make(map[string]string)
	for _, p := range pages {
		pattern := parameter.ReplaceAllString(p, "{$1}")
		if p == "/" {
			pattern = "/{$}"
		}
		routes.Handle(pattern, http.NotFoundHandler())
		left[pattern] = p
	}
	for _, path := range v.all {
		if r, err := http.NewRequest(http.MethodGet, path, nil); err == nil && r.URL.Host == "" {
			_, pattern := routes.Handler(r)
			delete(left, pattern)
		}
	}
	return slices.Sorted(maps.Values(left))
}

var parameter = regexp.MustCompile(`:(\w+)`)

// everyPageSeen wants every page to have been looked at, when all stories ran.
func everyPageSeen() error {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return nil
		}
	}
	list, err := os.ReadFile("../httpd/testdata/pages.golden")
	if err != nil {
		return err
	}
	pages := slices.DeleteFunc(strings.Fields(string(list)), func(p string) bool { return p == "/login/forge" }) // leads to the code host
	if forgotten := lookedAt.without(pages); len(forgotten) > 0 {
		return fmt.Errorf("no story looks at %s: have one call looksGood there", strings.Join(forgotten, ", "))
	}
	return nil
}

func TestAForgottenPageIsSeen(t *testing.T) {
	var v visits
	for _, address := range []string{"/vaults/ann/app/secrets/set?key=A", "/login?return=%2F", "/elsewhere", "http://other.example/orgs", "/vaults/a%20b/c"} {
		v.add(address)
	}
	got := v.without([]string{"/", "/login", "/orgs", "/vaults/:owner/:repo", "/vaults/:owner/:repo/secrets/:secretId", "/vaults/:owner/:repo/secrets/set"})
	if want := []string{"/", "/orgs", "/vaults/:owner/:repo/secrets/:secretId"}; !slices.Equal(got, want) {
		t.Errorf("not looked at: %q, want %q", got, want)
	}
}
