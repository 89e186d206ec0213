package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pushed wants exact counts and revision, and the record that says so.
func (c *caller) pushed(t testing.TB, v *sample, a *answer, mode string, revision int, counts ...int) {
	t.Helper()
	stats := fmt.Sprintf(`"created":%d,"updated":%d,"deleted":%d,"unchanged":%d`, counts[0], counts[1], counts[2], counts[3])
	a.holds(200, fmt.Sprintf(`{"success":true,"message":"<text>","stats":{%s},"revision":%d}`, stats, revision))
	c.recorded(t, v, "secrets_pushed", fmt.Sprintf(`"environment":"staging","mode":%q,"revision":%d,%s`, mode, revision, stats))
}

func TestAPushReplacesOrMerges(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	const merge, replace = `,"mode":"merge"`, `,"mode":"replace"`
	steps := []struct {
		secrets, more, mode string
		revision            int
		counts              [4]int
		after               string
	}{
		{`{}`, "", "replace", 0, [4]int{0, 0, 0, 0}, `{}`},
		{`{"A":"1","B":"","C":"3"}`, "", "replace", 1, [4]int{3, 0, 0, 0}, `{"A":"1","B":"","C":"3"}`},
		{`{"A":"1","B":"","C":"3"}`, "", "replace", 1, [4]int{0, 0, 0, 3}, `{"A":"1","B":"","C":"3"}`},
		{`{"A":"1","B":"2","D":"4"}`, replace, "replace", 2, [4]int{1, 1, 1, 1}, `{"A":"1","B":"2","D":"4"}`},
		{`{"B":"2","E":"5"}`, merge, "merge", 3, [4]int{1, 0, 0, 1}, `{"A":"1","B":"2","D":"4","E":"5"}`},
		{`{}`, merge, "merge", 3, [4]int{0, 0, 0, 0}, `{"A":"1","B":"2","D":"4","E":"5"}`},
		{`{"E":"6"}`, `,"mode":null`, "replace", 4, [4]int{0, 1, 3, 0}, `{"E":"6"}`},
		{`{"C":"new"}`, merge, "merge", 5, [4]int{1, 0, 0, 0}, `{"C":"new","E":"6"}`},
		{`{}`, replace, "replace", 6, [4]int{0, 0, 2, 0}, `{}`},
	}
	for _, step := range steps {
		a := ann.push(t, v, "staging", step.secrets, step.more)
		ann.pushed(t, v, a, step.mode, step.revision, step.counts[:]...)
		got := ann.pull(t, v, "staging", "&format=json").ok(200)
		got.same(step.after, got.at("data.secrets"))
		got.same(fmt.Sprint(step.revision), got.at("data.revision"))
	}
	a := ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
	a.same(`6`, a.at("meta.pagination.total"))
}

func TestAPushMentionsWhatItMovedToTheTrash(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1","B":"2","C":"3"}`, "").ok(200)
	a := ann.push(t, v, "staging", `{"A":"1"}`, "").ok(200)
	if message := a.text("data.message"); message != "staging: 0 created, 0 updated, 2 moved to trash, 1 unchanged" {
		t.Errorf("message %q", message)
	}
}

func TestAPushChangesOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	v := s.shared(t, who["ann"], "@ann/api", "bob=write")
	who["ann"].push(t, v, "staging", `{"A":"1","B":"2"}`, "").ok(200)
	before := who["ann"].do(t, "GET "+v.at()+"/secrets", "").ok(200)
	time.Sleep(2 * time.Millisecond)
	who["bob"].push(t, v, "staging", `{"A":"1","B":"changed"}`, "").ok(200)
	after := who["ann"].do(t, "GET "+v.at()+"/secrets", "").ok(200)
	after.same(`["B","A","@bob","@ann"]`, []any{after.at("data.0.key"), after.at("data.1.key"),
		after.at("data.0.lastModifiedBy.username"), after.at("data.1.lastModifiedBy.username")})
	if before.text("data.0.updatedAt") != after.text("data.1.updatedAt") || after.text("data.0.updatedAt") <= before.text("data.0.updatedAt") {
		t.Errorf("before %s\nafter %s", before.raw, after.raw)
	}
}

func TestAPushIsAllOrNothing(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1"}`, "").ok(200)
	before := ann.records(t, v)
	ann.push(t, v, "staging", `{"A":"2","B":"3","bad":"4"}`, "").fails(422, "validation-error", "secrets.bad:invalid_format")
	ann.push(t, v, "nowhere", `{"A":"2"}`, "").fails(422, "validation-error", "environment:unknown_value")
	ann.push(t, &sample{repo: "@ann/none"}, "staging", `{"A":"2"}`, "").fails(404, "not-found")
	a := ann.pull(t, v, "staging", "&format=json").ok(200)
	a.same(`{"secrets":{"A":"1"},"count":1,"total":1,"revision":1}`, a.at("data"))
	a = ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`["development","staging","production"]`, a.at("data.environments"))
	a = ann.do(t, "GET "+v.at()+"/activity?action=secrets_pushed", "")
	a.same(`1`, a.at("meta.pagination.total"))
	if before != "2" {
		t.Errorf("%s records before", before)
	}
}

func TestWhatAnExistingClientPulledIsUnchangedWhenPushed(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	values := map[string]string{
		"PEM": "-----BEGIN K-----\nMIIB/ag==\n-----END K-----\n", "CRLF": "crlf\r\nend", "LF": "\n", "EMPTY": "", "BLANKS": "  two  ",
		"QUOTES": `"it's"`, "BOTH": `a'b$c "d"`, "HASH": "#x", "ESCAPED": `lit\nline`, "JSON": "{\n \"k\": \"#1\"\n}", "DOLLAR": "$HOME",
	}
	for key, value := range values {
		ann.set(t, v, "staging", key, value)
	}
	content, _ := ann.pull(t, v, "staging", "").ok(200).at("data.content").(string)
	back := make([]string, 0, len(values))
	for _, line := range strings.Split(content, "\n") { // what existing clients do
		key, text, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n := len(text); n >= 2 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
			text = text[1 : n-1]
		}
		back = append(back, quoted(key)+":"+quoted(text))
	}
	a := ann.push(t, v, "staging", "{"+strings.Join(back, ",")+"}", "").ok(200)
	a.same(fmt.Sprintf(`{"created":0,"updated":0,"deleted":0,"unchanged":%d}`, len(values)), a.at("data.stats"))
	want := object(values)
	got := ann.pull(t, v, "staging", "&format=json").ok(200)
	got.same(want, got.at("data.secrets"))

	a = ann.push(t, v, "staging", `{"CRLF":"crlf\\r\\nend","LF":"\\n ","PEM":"-----BEGIN K-----"}`, `,"mode":"merge"`)
	a.same(`{"created":0,"updated":2,"deleted":0,"unchanged":1}`, a.at("data.stats"))
	crlf := ann.set(t, v, "production", "CRLF", "crlf\r\nend")
	ann.do(t, "PATCH "+v.at()+"/secrets/"+crlf, `{"value":"crlf\\r\\nend"}`).ok(200)
	got = ann.pull(t, v, "production", "&format=json")
	got.same(`{"CRLF":"crlf\\r\\nend"}`, got.at("data.secrets"))
}

// object is values as JSON.
func object(values map[string]string) string {
	text := ""
	for key, value := range values {
		text += "," + quoted(key) + ":" + quoted(value)
	}
	return "{" + text[1:] + "}"
}

func TestAdditiveClientsMergeUnlessTheySayOtherwise(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1"}`, "").ok(200)
	steps := []struct {
		agent, more, mode string
		deleted           int
	}{
		{"keyway-mcp/1.2.3", "", "merge", 0},
		{"my-keyway-mcp/1", `,"mode":"merge"`, "merge", 0},
		{"keyway-mcp/", `,"mode":"replace"`, "replace", 3},
		{"keyway-cli/1.0", "", "replace", 1},
		{"my keyway-mcp/1", "", "replace", 1},
	}
	for i, step := range steps {
		a := ann.push(t, v, "staging", fmt.Sprintf(`{"K%d":"x"}`, i), step.more, "User-Agent", step.agent).ok(200)
		a.same(fmt.Sprint(step.deleted), a.at("data.stats.deleted"))
		last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
		last.same(quoted(step.mode), last.at("data.0.metadata.mode"))
	}
}
