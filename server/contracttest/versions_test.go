package contracttest

import (
	"fmt"
	"testing"
)

func TestEveryChangeOfAValueIsAVersion(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	id := ann.set(t, v, "staging", "A", "one")
	one := v.at() + "/secrets/" + id
	steps := []struct {
		name     string
		do       func()
		versions int
		revision int
	}{
		{"creation", func() {}, 1, 1},
		{"the same value again", func() { ann.set(t, v, "staging", "A", "one") }, 1, 1},
		{"another value", func() { ann.set(t, v, "staging", "A", "two") }, 2, 2},
		{"a patched value", func() { ann.do(t, "PATCH "+one, `{"value":"three"}`).ok(200) }, 3, 3},
		{"the same patched value", func() { ann.do(t, "PATCH "+one, `{"value":"three"}`).ok(200) }, 3, 3},
		{"a rename", func() { ann.do(t, "PATCH "+one, `{"name":"B"}`).ok(200) }, 3, 4},
		{"a rename back with a value", func() { ann.do(t, "PATCH "+one, `{"name":"A","value":"four"}`).ok(200) }, 4, 5},
		{"a push that changes it", func() { ann.push(t, v, "staging", `{"A":"five"}`, "").ok(200) }, 5, 6},
		{"a push that does not", func() { ann.push(t, v, "staging", `{"A":"five"}`, "").ok(200) }, 5, 6},
		{"the trash", func() { ann.do(t, "DELETE "+one, "").ok(204) }, 0, 7},
		{"and back", func() { ann.do(t, "POST "+v.at()+"/trash/"+id+"/restore", "").ok(200) }, 5, 8},
		{"restoring an old version", func() { ann.restoreVersion(t, v, id, 2) }, 6, 9},
		{"restoring the same value", func() { ann.restoreVersion(t, v, id, 6) }, 7, 9},
	}
	for _, step := range steps {
		step.do()
		ann.environment(t, v, "staging", step.revision, min(1, step.versions))
		if step.versions == 0 {
			continue
		}
		want := ""
		for n := step.versions; n > 0; n-- {
			want += fmt.Sprintf(`,{"id":"<id>","versionNumber":%d,"createdAt":"<time>","createdBy":"<id>","createdByUser":{"username":"@ann","avatarUrl":null}}`, n)
		}
		ann.do(t, "GET "+one+"/versions", "").holds(200, "["+want[1:]+"]")
		if t.Failed() {
			t.Fatalf("after %s", step.name)
		}
	}
	for n, value := range map[int]string{1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "two", 7: "two"} {
		version := ann.version(t, v, id, n)
		ann.do(t, "GET "+one+"/versions/"+version+"/value", "").
			holds(200, fmt.Sprintf(`{"value":%q,"preview":"••••••••","versionNumber":%d}`, value, n))
		ann.recorded(t, v, "secret_version_value_accessed",
			fmt.Sprintf(`"secretId":%q,"versionId":%q,"versionNumber":%d,"key":"A","environment":"staging"`, id, version, n))
	}
}

// version is the id of a secret's nth version.
func (c *caller) version(t testing.TB, v *sample, secret string, n int) string {
	t.Helper()
	a := c.do(t, "GET "+v.at()+"/secrets/"+secret+"/versions", "").ok(200)
	return a.text(fmt.Sprintf("data.%d.id", len(a.each("id"))-n))
}

// restoreVersion brings the nth version back, as the one after the last.
func (c *caller) restoreVersion(t testing.TB, v *sample, secret string, n int) {
	t.Helper()
	version := c.version(t, v, secret, n)
	last := len(c.do(t, "GET "+v.at()+"/secrets/"+secret+"/versions", "").each("id"))
	c.do(t, "POST "+v.at()+"/secrets/"+secret+"/versions/"+version+"/restore", "").
		holds(200, fmt.Sprintf(`{"message":"<text>","key":"A","versionNumber":%d,"newVersionNumber":%d}`, n, last+1))
	c.recorded(t, v, "secret_version_restored",
		fmt.Sprintf(`"secretId":%q,"key":"A","environment":"staging","versionNumber":%d,"newVersionNumber":%d`, secret, n, last+1))
}

func TestIdsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	here, there := ann.sample(t), ann.sample(t)
	other := ann.set(t, here, "development", "OTHER", "x")
	ids := func(v *sample, secret, version string) []string {
		one := v.at() + "/secrets/" + secret
		return []string{"GET " + one + "/value", "GET " + one + "/versions", "PATCH " + one, "DELETE " + one,
			"GET " + one + "/versions/" + version + "/value", "POST " + one + "/versions/" + version + "/restore"}
	}
	trash := func(v *sample, secret string) []string {
		return []string{"POST " + v.at() + "/trash/" + secret + "/restore", "DELETE " + v.at() + "/trash/" + secret}
	}
	var calls []string
	for _, secret := range []string{here.secret, here.trashed, here.version, someID} {
		calls = append(calls, ids(there, secret, here.version)...)
		calls = append(calls, trash(there, secret)...)
	}
	calls = append(calls, ids(here, here.trashed, here.version)...)
	calls = append(calls, trash(here, here.secret)...)
	for _, version := range []string{there.version, here.secret, someID} {
		calls = append(calls, ids(here, here.secret, version)[4:]...)
	}
	calls = append(calls, ids(here, other, here.version)[4:]...)
	for _, call := range calls {
		ann.do(t, call, `{"value":"stolen"}`).fails(404, "not-found")
	}
	for _, v := range []*sample{here, there} {
		a := ann.pull(t, v, "development", "&format=json").ok(200)
		a.same(`"second"`, a.at("data.secrets.A"))
		a = ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
		a.same(`["B"]`, a.each("key"))
	}
}
