package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const by = `"lastModifiedBy":{"id":"<id>","username":"@ann","avatarUrl":null}`

func TestASecretIsSetListedPatchedAndTrashed(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	secrets := v.at() + "/secrets"
	saved := `{"id":"<id>","key":"A_1","environment":"staging","createdAt":"<time>","updatedAt":"<time>","status":%q}`
	body := `{"key":"A_1","value":%s,"environment":"staging"}`

	a := ann.do(t, "POST "+secrets, fmt.Sprintf(body, `""`)).holds(201, fmt.Sprintf(saved, "created"))
	id := a.text("data.id")
	ann.recorded(t, v, "secret_created", fmt.Sprintf(`"secretId":%q,"key":"A_1","environment":"staging"`, id))
	created := a.text("data.createdAt")
	time.Sleep(2 * time.Millisecond)
	a = ann.do(t, "POST "+secrets, fmt.Sprintf(body, `"x"`)).holds(200, fmt.Sprintf(saved, "updated"))
	ann.recorded(t, v, "secret_updated", fmt.Sprintf(`"secretId":%q,"key":"A_1","environment":"staging"`, id))
	if a.text("data.id") != id || a.text("data.createdAt") != created || a.text("data.updatedAt") <= created {
		t.Errorf("updated: %s", a.raw)
	}
	updated := a.text("data.updatedAt")
	time.Sleep(2 * time.Millisecond)
	if a = ann.do(t, "POST "+secrets, fmt.Sprintf(body, `"x"`)).holds(200, fmt.Sprintf(saved, "updated")); a.text("data.updatedAt") != updated {
		t.Error("an unchanged value changed updatedAt")
	}

	record := `{"id":"<id>","key":%q,"environment":"staging","createdAt":"<time>","updatedAt":"<time>",` + by + `}`
	ann.do(t, "GET "+secrets, "").holds(200, `[`+fmt.Sprintf(record, "A_1")+`]`)
	one := secrets + "/" + id
	changes := []struct{ body, key, metadata string }{
		{`{"name":"B_1"}`, "B_1", `"key":"B_1","oldKey":"A_1","changed":["name"]`},
		{`{"key":"C_1"}`, "C_1", `"key":"C_1","oldKey":"B_1","changed":["name"]`},
		{`{"name":"D_1","key":"D_1","value":"y"}`, "D_1", `"key":"D_1","oldKey":"C_1","changed":["name","value"]`},
		{`{"value":""}`, "D_1", `"key":"D_1","changed":["value"]`},
		{`{"value":""}`, "D_1", `"key":"D_1","changed":[]`},
		{`{"name":"D_1"}`, "D_1", `"key":"D_1","changed":[]`},
	}
	for _, c := range changes {
		ann.do(t, "PATCH "+one, c.body).holds(200, fmt.Sprintf(record, c.key))
		ann.recorded(t, v, "secret_updated", fmt.Sprintf(`"secretId":%q,"environment":"staging",`, id)+c.metadata)
	}
	ann.environment(t, v, "staging", 6, 1)

	ann.do(t, "DELETE "+one, "").ok(204)
	a = ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
	ann.recorded(t, v, "secret_trashed", fmt.Sprintf(`"secretId":%q,"key":"D_1","environment":"staging","expiresAt":%q`, id, a.text("data.0.expiresAt")))
	ann.environment(t, v, "staging", 7, 0)
	for _, call := range []string{"DELETE " + one, "GET " + one + "/value", "GET " + one + "/versions"} {
		ann.do(t, call, "").fails(404, "not-found")
	}
	ann.do(t, "PATCH "+one, `{"value":"z"}`).fails(404, "not-found")
}

func TestARenameOntoAnActiveKeyIsAConflict(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	a, b := ann.set(t, v, "staging", "A", "1"), ann.set(t, v, "staging", "B", "2")
	ann.set(t, v, "production", "C", "3")
	one := "PATCH " + v.at() + "/secrets/" + a
	ann.do(t, one, `{"name":"B","value":"lost?"}`).fails(409, "conflict")
	ann.environment(t, v, "staging", 2, 2)
	ann.do(t, one, `{"name":"C"}`).ok(200)
	ann.do(t, "DELETE "+v.at()+"/secrets/"+b, "").ok(204)
	ann.do(t, one, `{"name":"B"}`).ok(200)
	got := ann.pull(t, v, "staging", "&format=json").ok(200)
	got.same(`{"B":"1"}`, got.at("data.secrets"))
}

func TestSecretsAreListedLatestChangeFirstToTheLastPage(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", numbered(30), "").ok(200)
	time.Sleep(2 * time.Millisecond)
	ann.set(t, v, "production", "LATER", "x")
	time.Sleep(2 * time.Millisecond)
	ann.set(t, v, "staging", "KEY_0017", "changed")
	first := ann.do(t, "GET "+v.at()+"/secrets", "").ok(200)
	first.same(`{"limit":25,"offset":0,"total":31,"hasMore":true}`, first.at("meta.pagination"))
	if got := first.each("key"); got[0] != "KEY_0017" || got[1] != "LATER" || len(got) != 25 {
		t.Errorf("got %v", got)
	}
	seen := make(map[any]bool)
	for offset := 0; offset < 31; offset += 10 {
		a := ann.do(t, fmt.Sprintf("GET %s/secrets?limit=10&offset=%d", v.at(), offset), "").ok(200)
		a.same(fmt.Sprintf(`{"limit":10,"offset":%d,"total":31,"hasMore":%t}`, offset, offset < 30), a.at("meta.pagination"))
		for _, key := range a.each("key") {
			seen[key] = true
		}
	}
	if len(seen) != 31 {
		t.Errorf("all pages have %d secrets", len(seen))
	}
	past := ann.do(t, "GET "+v.at()+"/secrets?offset=31", "").holds(200, `[]`)
	past.same(`{"limit":25,"offset":31,"total":31,"hasMore":false}`, past.at("meta.pagination"))
	one := ann.do(t, "GET "+v.at()+"/secrets?environment=production", "").ok(200)
	one.same(`["LATER"]`, one.each("key"))
	one.same(`1`, one.at("meta.pagination.total"))
}

func TestValuesAreRevealedExactlyAndRecorded(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	const dots = "••••"
	for value, preview := range map[string]string{
		"": dots + dots, "12345678": dots + dots, "éééééééé": dots + dots, "123456789": "12" + dots + "89",
		"日本🔑456789ab語": "日本" + dots + "b語", "1234567890123": "1234" + dots + "0123", "🔑🔑🔑🔑-----語語語語": "🔑🔑🔑🔑" + dots + "語語語語",
		"-----BEGIN\r\nx\t\\n\"'$`<&>\u2028\n": "----" + dots + "&>\u2028\n",
	} {
		id := ann.set(t, v, "production", "A", value)
		record := fmt.Sprintf(`"secretId":%q,"key":"A","environment":"production"`, id)
		ann.do(t, "GET "+v.at()+"/secrets/"+id+"/value", "").holds(200, fmt.Sprintf(`{"value":%s,"preview":%s}`, quoted(value), quoted(preview)))
		ann.recorded(t, v, "secret_value_accessed", record+`,"via":"value"`)
		ann.do(t, "GET /v1/secrets/view?repo="+v.repo+"&environment=production&key=A", "").
			holds(200, fmt.Sprintf(`{"key":"A","environment":"production","value":%s,"preview":%s}`, quoted(value), quoted(preview)))
		ann.recorded(t, v, "secret_value_accessed", record+`,"via":"view"`)
	}
}

func TestViewFindsNothingElse(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.set(t, v, "production", "OTHER_KEY", "x")
	before := ann.records(t, v)
	for _, query := range []string{"repo=@ann/api&environment=production&key=NONE", "repo=@ann/api&environment=staging&key=OTHER_KEY",
		"repo=@ann/api&environment=nowhere&key=OTHER_KEY", "repo=@ann/none&environment=production&key=OTHER_KEY"} {
		a := ann.do(t, "GET /v1/secrets/view?"+query, "").fails(404, "not-found")
		if !strings.Contains(query, "OTHER") && strings.Contains(string(a.raw), "OTHER_KEY") {
			t.Errorf("another key is named: %s", a.raw)
		}
	}
	if after := ann.records(t, v); after != before {
		t.Errorf("%s records became %s", before, after)
	}
}
