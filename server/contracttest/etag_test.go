package contracttest

import (
	"fmt"
	"regexp"
	"testing"
)

var strongTag = regexp.MustCompile(`^"[!#-~]{16,}"$`)

func (c *caller) tag(t testing.TB, v *sample, environment, query string) string {
	t.Helper()
	tag := c.pull(t, v, environment, query).ok(200).header.Get("ETag")
	if !strongTag.MatchString(tag) {
		t.Errorf("ETag %q of %s is not strong", tag, query)
	}
	return tag
}

func TestATagChangesWithEnvironmentRevisionAndQuery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	ann := who["ann"]
	v := s.shared(t, ann, "@ann/api", "bob=read")
	for _, environment := range []string{"staging", "production"} {
		ann.push(t, v, environment, `{"A":"1","B":"2"}`, "").ok(200)
	}
	seen := make(map[string]string)
	fresh := func(what, tag string) {
		t.Helper()
		if before, ok := seen[tag]; ok {
			t.Errorf("%s has the tag of %s", what, before)
		}
		seen[tag] = what
	}
	first := ann.tag(t, v, "staging", "")
	fresh("staging", first)
	fresh("production", ann.tag(t, v, "production", ""))
	for _, query := range []string{"&format=json", "&limit=1", "&limit=2", "&offset=1", "&limit=1&offset=1", "&limit=1&format=json", "&revision=0"} {
		fresh(query, ann.tag(t, v, "staging", query))
	}
	other := ann.vault(t, "@ann/other")
	ann.push(t, other, "staging", `{"A":"1","B":"2"}`, "").ok(200)
	fresh("another vault", ann.tag(t, other, "staging", ""))

	same := func(what, tag string) {
		t.Helper()
		if tag != first {
			t.Errorf("%s has the tag %s, not %s", what, tag, first)
		}
	}
	same("a second time", ann.tag(t, v, "staging", ""))
	same("the default said aloud", ann.tag(t, v, "staging", "&format=env&limit=&offset="))
	same("another reader", who["bob"].tag(t, v, "staging", ""))
	ann.push(t, v, "staging", `{"A":"1","B":"2"}`, "").ok(200)
	same("after a push of nothing new", ann.tag(t, v, "staging", ""))
	ann.push(t, v, "production", `{"A":"3"}`, "").ok(200)
	same("after a change elsewhere", ann.tag(t, v, "staging", ""))
	ann.do(t, "PATCH "+v.at()+"/environments/staging", `{"newName":"qa"}`).ok(200)
	same("after the environment was renamed", ann.tag(t, v, "qa", ""))

	ann.push(t, v, "qa", `{"A":"2","B":"2"}`, "").ok(200)
	fresh("after a change", ann.tag(t, v, "qa", ""))
	ann.push(t, v, "qa", `{"A":"1","B":"2"}`, "").ok(200)
	fresh("after the change was undone", ann.tag(t, v, "qa", ""))
	ann.do(t, "DELETE "+v.at()+"/environments/qa", "").ok(200)
	ann.do(t, "POST "+v.at()+"/environments", `{"name":"staging"}`).ok(201)
	ann.push(t, v, "staging", `{"A":"1","B":"2"}`, "").ok(200)
	fresh("another environment of that name", ann.tag(t, v, "staging", ""))
}

func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1"}`, "").ok(200)
	tag := ann.tag(t, v, "staging", "")
	for _, row := range []struct {
		name, header string
		status       int
	}{
		{"the tag", tag, 304},
		{"the tag, weak", "W/" + tag, 304},
		{"in a list", `"other", ` + tag, 304},
		{"in a list without blanks", `W/"x",` + tag + `,"y"`, 304},
		{"anything", "*", 304},
		{"nothing", "", 200},
		{"another", `"other"`, 200},
		{"without quotes", tag[1 : len(tag)-1], 200},
		{"the beginning", tag[:len(tag)-3] + `"`, 200},
		{"nonsense", `"` + tag, 200},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(method+" "+row.name, func(t *testing.T) {
				a := ann.do(t, method+" /v1/secrets/pull?repo=@ann/api&environment=staging", "", "If-None-Match", row.header).ok(row.status)
				if a.header.Get("ETag") != tag || a.header.Get("Cache-Control") != "private, no-cache" {
					t.Errorf("%d with ETag %q, Cache-Control %q", a.status, a.header.Get("ETag"), a.header.Get("Cache-Control"))
				}
				meta := `"environment":"staging","secretCount":1,"secretKeys":["A"],"revision":1,"format":"env"`
				if row.status == 304 {
					meta += `,"notModified":true`
					if len(a.raw) > 0 || a.header.Get("Content-Type") != "" || a.header.Get("Content-Length") != "" {
						t.Errorf("a body: %q, type %q, length %q", a.raw, a.header.Get("Content-Type"), a.header.Get("Content-Length"))
					}
				}
				ann.recorded(t, v, "secrets_pulled", meta)
			})
		}
	}
	ann.do(t, "HEAD /v1/secrets/pull?repo=@ann/api&environment=nowhere", "", "If-None-Match", "*").ok(404)
	before := ann.records(t, v)
	if a := ann.do(t, "GET "+v.at(), "", "If-None-Match", "*").ok(200); a.header.Get("ETag") != "" || ann.records(t, v) != before {
		t.Errorf("only a pull has a tag: %v", a.header)
	}
}

// TestATagOpensNothing: it is compared after all checks.
func TestATagOpensNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	v := s.shared(t, who["ann"], "@ann/api", "bob=read")
	who["ann"].push(t, v, "production", `{"A":"1"}`, "").ok(200)
	for _, tag := range []string{who["ann"].tag(t, v, "production", ""), "*"} {
		for _, row := range []struct {
			c      *caller
			status int
			slug   string
		}{
			{who["bob"], 403, "forbidden"}, {who["eve"], 404, "not-found"}, {s.nobody(), 401, "unauthorized"},
			{s.key(t, "ann", "live", "write:secrets"), 403, "forbidden"}, {s.key(t, "ann", "test", "read:secrets"), 403, "forbidden"},
		} {
			a := row.c.pull(t, v, "production", "", "If-None-Match", tag).fails(row.status, row.slug)
			if got := a.header.Get("ETag"); got != "" {
				t.Errorf("%s: %d with ETag %q", fmt.Sprint(row.c.name), a.status, got)
			}
		}
	}
}
