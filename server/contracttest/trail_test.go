package contracttest

import (
	"fmt"
	"testing"
)

// recorded wants the newest record at a vault to be this action with exactly
// this metadata, beside what every record of a vault has.
func (c *caller) recorded(t testing.TB, v *sample, action, metadata string) *answer {
	t.Helper()
	a := c.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
	a.same(quoted(action), a.at("data.0.action"))
	common := fmt.Sprintf(`{"repoFullName":%q,"apiKeyId":"<id>"`, v.repo)
	if metadata != "" {
		common += ","
	}
	a.same(common+metadata+"}", a.at("data.0.metadata"))
	return a
}

// records is how many records a vault has.
func (c *caller) records(t testing.TB, v *sample) string {
	t.Helper()
	return c.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200).text("meta.pagination.total")
}

// environment wants revision and secretCount of an environment.
func (c *caller) environment(t testing.TB, v *sample, name string, revision, secrets int) {
	t.Helper()
	a := c.do(t, "GET "+v.at()+"/environments", "").ok(200)
	list, _ := a.at("data.environments").([]any)
	for i := range list {
		at := fmt.Sprintf("data.environments.%d.", i)
		if a.text(at+"name") == name {
			a.same(fmt.Sprintf(`[%d,%d]`, revision, secrets), []any{a.at(at + "revision"), a.at(at + "secretCount")})
			return
		}
	}
	t.Errorf("no environment %s: %s", name, a.raw)
}
