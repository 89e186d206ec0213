package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

func TestAPullIsSortedCountedAndRecorded(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"B_":"two words","A":"https://h.example","B":"","B1":"x"}`, "").ok(200)
	lines := []string{"A=https://h.example", "B=", "B1=x", `B_="two words"`}
	keys := []string{`"A"`, `"B"`, `"B1"`, `"B_"`}
	tests := []struct {
		query    string
		from, to int
	}{
		{"", 0, 4}, {"&format=env", 0, 4}, {"&limit=4", 0, 4}, {"&limit=1000", 0, 4}, {"&limit=2", 0, 2}, {"&limit=2&offset=2", 2, 4},
		{"&limit=2&offset=3", 3, 4}, {"&offset=1", 1, 4}, {"&offset=4", 4, 4}, {"&offset=2147483647", 4, 4}, {"&limit=&offset=&format=", 0, 4},
	}
	for _, tt := range tests {
		a := ann.pull(t, v, "staging", tt.query).holds(200, fmt.Sprintf(`{"content":%s,"count":%d,"total":4,"revision":1}`,
			quoted(strings.Join(lines[tt.from:tt.to], "\n")), tt.to-tt.from))
		if got := a.header.Get("Cache-Control"); got != "private, no-cache" {
			t.Errorf("Cache-Control %q", got)
		}
		ann.recorded(t, v, "secrets_pulled", fmt.Sprintf(`"environment":"staging","secretCount":%d,"secretKeys":[%s],"revision":1,"format":"env"`,
			tt.to-tt.from, strings.Join(keys[tt.from:tt.to], ",")))
	}
	ann.pull(t, v, "staging", "&format=json&offset=1&limit=2").
		holds(200, `{"secrets":{"B":"","B1":"x"},"count":2,"total":4,"revision":1}`)
	ann.recorded(t, v, "secrets_pulled", `"environment":"staging","secretCount":2,"secretKeys":["B","B1"],"revision":1,"format":"json"`)
	ann.pull(t, v, "production", "").holds(200, `{"content":"","count":0,"total":0,"revision":0}`)
	ann.pull(t, v, "production", "&format=json").holds(200, `{"secrets":{},"count":0,"total":0,"revision":0}`)
}

func TestAPullOfNothingSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	v := s.shared(t, who["ann"], "@ann/api", "bob=read")
	for _, query := range []string{"", "&environment=", "&environment=default", "&environment=nowhere"} {
		detail := who["bob"].do(t, "GET /v1/secrets/pull?repo="+v.repo+query, "").fails(404, "not-found").text("detail")
		if !strings.Contains(detail, "development") || !strings.Contains(detail, "staging") || strings.Contains(detail, "production") {
			t.Errorf("detail %q", detail)
		}
	}
	who["bob"].pull(t, v, "production", "").fails(403, "forbidden")
	who["ann"].do(t, "POST "+v.at()+"/environments", `{"name":"default"}`).ok(201)
	who["ann"].set(t, v, "default", "A", "1")
	a := who["bob"].do(t, "GET /v1/secrets/pull?repo="+v.repo, "").ok(200)
	a.same(`"A=1"`, a.at("data.content"))
	who["ann"].pull(t, &sample{repo: "@ann/none"}, "staging", "").fails(404, "not-found")
}

// TestTheDialect holds pull against the contract's own vectors.
func TestTheDialect(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	values := make(map[string]string, len(vectors))
	var lines []string
	for i, row := range vectors {
		key := fmt.Sprintf("K%03d", i)
		values[key] = row[0]
		lines = append(lines, key+"="+row[1])
	}
	a := ann.push(t, v, "staging", object(values), "").ok(200)
	a.same(fmt.Sprint(len(vectors)), a.at("data.stats.created"))
	a = ann.pull(t, v, "staging", "").ok(200)
	a.same(quoted(strings.Join(lines, "\n")), a.at("data.content"))
	a = ann.pull(t, v, "staging", "&format=json").ok(200)
	a.same(object(values), a.at("data.secrets"))
}

// vectors are values, and their text after "KEY=".
var vectors = [][2]string{
	{"", ""}, {"plain", "plain"}, {"https://h.example:8443/p?x=1", "https://h.example:8443/p?x=1"}, {"a=b==", "a=b=="}, {"日本🔑", "日本🔑"},
	{"postgres://u:p@h/d?a=1&b=2", `"postgres://u:p@h/d?a=1&b=2"`}, {"two words", `"two words"`}, {" lead", `" lead"`}, {"trail ", `"trail "`},
	{"\t", "\"\t\""}, {"a#b", `"a#b"`}, {"#lead", `"#lead"`}, {"it's", `"it's"`}, {"'", `"'"`}, {"'quoted'", `"'quoted'"`}, {"a;b|c", `"a;b|c"`},
	{"~/x", `"~/x"`}, {"naïve 日本", `"naïve 日本"`}, {"\u00a0nbsp\u00a0", "\"\u00a0nbsp\u00a0\""}, {"a\ufeff", "\"a\ufeff\""},
	{`"`, `'"'`}, {`"quoted"`, `'"quoted"'`}, {`say "hi"`, `'say "hi"'`}, {`{"a":1,"b":"x y"}`, `'{"a":1,"b":"x y"}'`}, {"$HOME", "'$HOME'"},
	{"pa$$w0rd", "'pa$$w0rd'"}, {"$(id)", "'$(id)'"}, {"a b$c", "'a b$c'"}, {"`id`", "'`id`'"}, {`C:\dir\new`, `'C:\dir\new'`},
	{`lit\nline`, `'lit\nline'`}, {`{"k":"it's"}`, `"{"k":"it's"}"`}, {`both ' and "`, `"both ' and ""`}, {"a'b$c", `"a'b$c"`},
	{"-----BEGIN K-----\nMIIB/ag==\n-----END K-----\n", `"-----BEGIN K-----\nMIIB/ag==\n-----END K-----\n"`},
	{"crlf\r\nend", `"crlf\r\nend"`}, {"\n", `"\n"`}, {"{\n \"k\": \"#1\"\n}", `"{\n "k": "#1"\n}"`},
}
