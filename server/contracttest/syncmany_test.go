package contracttest

import (
	"fmt"
	"strings"
	"testing"

	"coffer/server/standin"
)

// TestFiveHundredSecretsTakeFewCalls counts the calls of whole syncs, reads
// included. GitHub holds no more than 100 secrets in one place.
func TestFiveHundredSecretsTakeFewCalls(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	h.netlify.Rate = 5000 // with the real 500 in a minute, changing 500 takes more than one
	secrets := func(n int, value string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`"KEY_%03d":"%s %d"`, i, value, i)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for _, at := range []struct {
		provider, project string
		fake              *standin.Fake
		secrets           int
		created, same     int // calls
		changed, deleted  int // at Netlify each key is looked at before it goes with all its contexts
	}{
		{"vercel", h.project, h.vercel.Fake, 500, 7, 6, 506, 7},
		{"netlify", h.place, h.netlify.Fake, 500, 5, 3, 504, 1004},
		{"railway", h.stack, h.railway.Fake, 500, 3, 2, 3, 502},
		{"github-actions", h.repository, h.github.Fake, 100, 105, 3, 105, 103},
	} {
		g := target{connection: h.connect(t, h.ann, at.provider), project: at.project, environment: "production"}
		sync := func(what string, want int, created, updated, deleted int) {
			t.Helper()
			at.fake.Forget()
			job := h.ann.sync(t, v, g.at("allowDelete=true")).text("data.jobId")
			a := h.ann.ends(t, "/v1/integrations/jobs/"+job)
			a.same(fmt.Sprintf(`["success",%d,%d,%d]`, created, updated, deleted),
				[]any{a.at("data.status"), a.at("data.result.created"), a.at("data.result.updated"), a.at("data.result.deleted")})
			if n := len(at.fake.Log()); n != want {
				t.Errorf("%s: %d secrets %s with %d calls, want %d", at.provider, at.secrets, what, n, want)
			}
		}
		h.ann.push(t, v, "production", secrets(at.secrets, "one"), `,"mode":"replace"`).ok(200)
		sync("created", at.created, at.secrets, 0, 0)
		sync("left as they are", at.same, 0, 0, 0)
		h.ann.push(t, v, "production", secrets(at.secrets, "two"), `,"mode":"replace"`).ok(200)
		sync("changed", at.changed, 0, at.secrets, 0)
		h.ann.push(t, v, "production", `{}`, `,"mode":"replace"`).ok(200)
		sync("deleted", at.deleted, 0, 0, at.secrets)
	}
}
