package hostingtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// slow are rules under which nothing new is asked or answered.
var slow = []string{
	"an answer that makes no sense is no success", "a provider that hangs is unavailable in time", "who gives up is not kept waiting",
	"a change whose answer was lost is done once, and told of as done", "a change that was lost on the way is done",
}

// TestGitHubActionsIsAsDescribed holds every request and answer that the rules
// get to see against GitHub's own description, of github.com and of Enterprise
// Server.
func TestGitHubActionsIsAsDescribed(t *testing.T) {
	for _, name := range []string{"api.github.com", "ghes-3.19"} {
		t.Run(name, func(t *testing.T) {
			doc, err := openapi3.NewLoader().LoadFromFile(standin.Described(t, "@octokit/openapi", "generated", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := newDescribed(doc)
			d.rewrite = func(path string) string { // GitHub redirects old names to where a repository has its id
				if rest, ok := strings.CutPrefix(path, "/repositories/"); ok {
					return "/repos/o/" + rest
				}
				return path
			}
			observed := func(t *testing.T) *hostingtest.Host {
				h, g := githubActions(t, nil)
				g.Observe = d.observe
				return h
			}
			var rules []string
			for _, rule := range hostingtest.Rules() {
				if !slices.Contains(slow, rule.Name) {
					rules = append(rules, rule.Name)
				}
			}
			environments := hostingtest.Broken(t, observed, rules...)
			repository := hostingtest.Broken(t, func(t *testing.T) *hostingtest.Host {
				h := observed(t)
				h.Here, h.There = "repository", "production"
				return h
			}, rules...)
			if len(environments)+len(repository) > 0 {
				t.Errorf("broken are %q and %q", environments, repository)
			}
			const repo = "/repos/{owner}/{repo}"
			d.report(t, "GET /user 200", "GET /user/repos 200", "GET "+repo+" 200", "GET "+repo+"/environments 200",
				"GET "+repo+"/actions/secrets 200", "GET "+repo+"/actions/secrets/public-key 200",
				"PUT "+repo+"/actions/secrets/{secret_name} 201", "PUT "+repo+"/actions/secrets/{secret_name} 204", "DELETE "+repo+"/actions/secrets/{secret_name} 204",
				"GET "+repo+"/environments/{environment_name}/secrets 200", "GET "+repo+"/environments/{environment_name}/secrets/public-key 200",
				"PUT "+repo+"/environments/{environment_name}/secrets/{secret_name} 201", "DELETE "+repo+"/environments/{environment_name}/secrets/{secret_name} 204")
		})
	}
}
