package contracttest

import (
	"fmt"
	"testing"
)

// atBase is a push's member for the revision that it starts from.
func atBase(revision any) string { return fmt.Sprintf(`,"baseRevision":%v`, revision) }

// staging is what staging holds, and its revision.
func (c *caller) staging(t testing.TB, v *sample, values string, revision int) {
	t.Helper()
	a := c.pull(t, v, "staging", "&format=json").ok(200)
	a.same(values, a.at("data.secrets"))
	a.same(fmt.Sprint(revision), a.at("data.revision"))
}

func TestABaseRevisionMustBeTheNewest(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1","B":"1","Z":"1"}`, atBase(0)).ok(200)
	ann.push(t, v, "staging", `{"A":"2","B":"1","C":"1","Z":"1"}`, atBase(1)).ok(200)
	ann.push(t, v, "staging", `{"A":"2","C":"1","Z":"1"}`, atBase(2)).ok(200)
	const payload = `{"A":"2","C":"mine","N":"mine"}`
	for _, row := range []struct{ name, base, keys string }{
		{"one behind", "2", `["B"]`},
		{"two behind", "1", `["A","B","C"]`},
		{"from the beginning", "0", `["A","B","C","Z"]`},
		{"one ahead", "4", `["C","N","Z"]`}, // of that there is no history: all that differs
		{"far ahead", "9007199254740992", `["C","N","Z"]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, mode := range []string{"", `,"mode":"merge"`, `,"dryRun":true`} {
				a := ann.push(t, v, "staging", payload, atBase(row.base)+mode).fails(409, "conflict")
				a.same(`["3",`+row.keys+`]`, []any{a.text("currentRevision"), a.at("conflictKeys")})
			}
		})
	}
	for _, member := range []string{atBase(3), atBase("null"), ""} {
		ann.push(t, v, "staging", `{"A":"2","C":"1","Z":"1"}`, member).ok(200)
	}
	ann.staging(t, v, `{"A":"2","C":"1","Z":"1"}`, 3)
	a := ann.do(t, "GET "+v.at()+"/activity?action=secrets_pushed", "").ok(200)
	a.same(`6`, a.at("meta.pagination.total"))
}

func TestABaseRevisionIsOfOneEnvironment(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	id := ann.set(t, v, "staging", "A", "1")
	ann.set(t, v, "production", "A", "1")
	ann.set(t, v, "production", "B", "1")
	ann.push(t, v, "staging", `{"A":"1"}`, atBase(1)).ok(200)
	for i, change := range []struct{ call, body, keys string }{ // by whatever endpoint
		{"PATCH {V}/secrets/" + id, `{"value":"2"}`, `["A"]`},
		{"PATCH {V}/secrets/" + id, `{"name":"B"}`, `["A","B"]`},
		{"DELETE {V}/secrets/" + id, "", `["B"]`},
		{"POST {V}/trash/" + id + "/restore", "", `["B"]`},
		{"POST {V}/secrets/" + id + "/versions/" + ann.version(t, v, id, 1) + "/restore", "", `["B"]`},
	} {
		method := change.call
		if a := ann.do(t, v.fill(change.call), v.fill(change.body)); a.status >= 400 {
			t.Fatalf("%s: %s", method, a.raw)
		}
		a := ann.push(t, v, "staging", `{}`, atBase(i+1)).fails(409, "conflict")
		a.same(fmt.Sprintf(`[%d,%s]`, i+2, change.keys), []any{a.at("currentRevision"), a.at("conflictKeys")})
	}
}

func TestPushMembersAreHeldAgainstTheirRules(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for _, row := range []struct{ member, errors string }{
		{`"baseRevision":-1`, "baseRevision:too_small"},
		{`"baseRevision":1.5`, "baseRevision:invalid_type"},
		{`"baseRevision":1e0`, "baseRevision:invalid_type"},
		{`"baseRevision":"0"`, "baseRevision:invalid_type"},
		{`"baseRevision":true`, "baseRevision:invalid_type"},
		{`"baseRevision":99999999999999999999`, "baseRevision:too_large"},
		{`"dryRun":"true"`, "dryRun:invalid_type"},
		{`"dryRun":1`, "dryRun:invalid_type"},
		{`"mode":""`, "mode:unknown_value"},
		{`"mode":"Replace"`, "mode:unknown_value"},
		{`"mode":["merge"]`, "mode:invalid_type"},
	} {
		t.Run(row.member, func(t *testing.T) {
			ann.do(t, postPush, v.fill(pushWith(row.member))).fails(422, "validation-error", row.errors)
		})
	}
	ann.push(t, v, "staging", `{"a":"x"}`, `,"baseRevision":-1,"mode":"x","dryRun":0`).fails(422, "validation-error",
		"baseRevision:too_small", "dryRun:invalid_type", "mode:unknown_value", "secrets.a:invalid_format")
	ann.push(t, v, "staging", `{"A":"1"}`, `,"dryRun":null,"mode":null,"baseRevision":null`).ok(200)
	ann.staging(t, v, `{"A":"1"}`, 1)
}

// TestWhoMayWriteButNotReadLearnsNoNames: neither from a conflict nor from a dry
// run.
func TestWhoMayWriteButNotReadLearnsNoNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	bob := who["bob"]
	v := s.shared(t, who["ann"], "@ann/api", "bob=write")
	who["ann"].push(t, v, "staging", `{"KNOWN_TO_ANN":"1"}`, "").ok(200)
	s.signIn(t, "ann").override(t, v, "staging", "user", bob.id(t), false, true)
	for _, base := range []int{0, 2} {
		a := bob.push(t, v, "staging", `{"B":"1"}`, atBase(base)).fails(409, "conflict")
		a.same(`[1,null]`, []any{a.at("currentRevision"), a.at("conflictKeys")})
		if _, there := a.at("").(map[string]any)["conflictKeys"]; there {
			t.Errorf("conflictKeys are there: %s", a.raw)
		}
	}
	bob.push(t, v, "staging", `{"B":"1"}`, `,"dryRun":true`).fails(403, "forbidden")
	bob.push(t, v, "staging", `{"B":"1"}`, `,"dryRun":true,"baseRevision":0`).fails(403, "forbidden")
	a := who["ann"].do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
	a.same(`["access_denied","environment"]`, []any{a.at("data.0.action"), a.at("data.0.metadata.reason")})
	bob.push(t, v, "staging", `{"B":"1"}`, `,"mode":"merge"`).ok(200)
	who["ann"].staging(t, v, `{"B":"1","KNOWN_TO_ANN":"1"}`, 2)
}

func TestADryRunTellsAllAndWritesNothing(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1","B":"1","C":"x\ny","D":"1"}`, "").ok(200)
	before := ann.do(t, "GET "+v.at()+"/secrets", "").ok(200)
	const next = `{"A":"1","B":"2","C":"x\\ny","Z":"1","E":""}`
	for _, row := range []struct {
		mode, recorded, deleted string
		stats                   [4]int
	}{
		{"", "replace", `["D"]`, [4]int{2, 1, 1, 2}},
		{`,"mode":"replace"`, "replace", `["D"]`, [4]int{2, 1, 1, 2}},
		{`,"mode":"merge"`, "merge", `[]`, [4]int{2, 1, 0, 2}},
	} {
		stats := fmt.Sprintf(`"created":%d,"updated":%d,"deleted":%d,"unchanged":%d`, row.stats[0], row.stats[1], row.stats[2], row.stats[3])
		ann.push(t, v, "staging", next, row.mode+`,"dryRun":true,"baseRevision":1`).
			holds(200, `{"success":true,"message":"<text>","stats":{`+stats+`},"revision":1,"dryRun":true,
				"changes":{"created":["E","Z"],"updated":["B"],"deleted":`+row.deleted+`}}`)
		ann.recorded(t, v, "secrets_pushed", fmt.Sprintf(`"environment":"staging","mode":%q,"revision":1,%s,"dryRun":true`, row.recorded, stats))
	}
	ann.push(t, v, "staging", `{"A":"1"}`, `,"dryRun":true,"mode":"merge"`).holds(200, `{"success":true,"message":"<text>",
		"stats":{"created":0,"updated":0,"deleted":0,"unchanged":1},"revision":1,"dryRun":true,"changes":{"created":[],"updated":[],"deleted":[]}}`)
	ann.push(t, v, "nowhere", next, `,"dryRun":true`).fails(422, "validation-error", "environment:unknown_value")
	ann.push(t, v, "staging", `{"a":""}`, `,"dryRun":true`).fails(422, "validation-error", "secrets.a:invalid_format")

	ann.staging(t, v, `{"A":"1","B":"1","C":"x\ny","D":"1"}`, 1)
	after := ann.do(t, "GET "+v.at()+"/secrets", "").ok(200)
	if before.text("data") != after.text("data") {
		t.Errorf("before %s\nafter %s", before.raw, after.raw)
	}
	a := ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
	a.same(`0`, a.at("meta.pagination.total"))
	ann.push(t, v, "staging", next, `,"dryRun":false`).holds(200, `{"success":true,"message":"<text>",
		"stats":{"created":2,"updated":1,"deleted":1,"unchanged":2},"revision":2}`)
}
