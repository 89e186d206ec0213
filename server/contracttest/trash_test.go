package contracttest

import (
	"fmt"
	"testing"
	"time"
)

func TestTheTrashKeepsSecretsForThirtyDays(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	trash := v.at() + "/trash"
	ann.do(t, "GET "+trash, "").holds(200, `[]`)
	id := ann.set(t, v, "staging", "A", "1")
	ann.set(t, v, "staging", "A", "2")
	before := ann.do(t, "GET "+v.at()+"/secrets", "")
	ann.do(t, "DELETE "+v.at()+"/secrets/"+id, "").ok(204)
	a := ann.do(t, "GET "+trash, "").
		holds(200, `[{"id":"`+id+`","key":"A","environment":"staging","deletedAt":"<time>","expiresAt":"<time>","daysRemaining":30}]`)
	if kept := instant(t, a.text("data.0.expiresAt")).Sub(instant(t, a.text("data.0.deletedAt"))); kept != 30*24*time.Hour {
		t.Errorf("kept for %s", kept)
	}

	again := ann.set(t, v, "staging", "A", "3") // a second copy of the key
	ann.do(t, "POST "+trash+"/"+id+"/restore", "").fails(409, "conflict")
	ann.do(t, "DELETE "+v.at()+"/secrets/"+again, "").ok(204)
	a = ann.do(t, "GET "+trash, "").ok(200)
	a.same(`["A","A"]`, a.each("key"))
	ann.environment(t, v, "staging", 5, 0)

	a = ann.do(t, "POST "+trash+"/"+id+"/restore", "").
		holds(200, `{"id":"`+id+`","key":"A","environment":"staging","message":"<text>","createdAt":"<time>","updatedAt":"<time>"}`)
	ann.recorded(t, v, "secret_restored", fmt.Sprintf(`"secretId":%q,"key":"A","environment":"staging"`, id))
	ann.environment(t, v, "staging", 6, 1)
	if a.text("data.createdAt") != before.text("data.0.createdAt") {
		t.Errorf("created at %s, restored as %s", before.text("data.0.createdAt"), a.text("data.createdAt"))
	}
	a = ann.do(t, "GET "+v.at()+"/secrets/"+id+"/value", "").ok(200)
	a.same(`"2"`, a.at("data.value"))
	a = ann.do(t, "GET "+v.at()+"/secrets/"+id+"/versions", "").ok(200)
	a.same(`[2,1]`, a.each("versionNumber"))
	ann.do(t, "POST "+trash+"/"+id+"/restore", "").fails(404, "not-found")
	ann.do(t, "DELETE "+trash+"/"+id, "").fails(404, "not-found")
	ann.do(t, "POST "+trash+"/"+again+"/restore", "").fails(409, "conflict")

	ann.do(t, "DELETE "+trash+"/"+again, "").ok(204)
	ann.recorded(t, v, "secret_permanently_deleted", fmt.Sprintf(`"secretId":%q,"key":"A","environment":"staging"`, again))
	ann.do(t, "DELETE "+trash+"/"+again, "").fails(404, "not-found")
	ann.environment(t, v, "staging", 6, 1)
}

func TestTheTrashIsEmptied(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.do(t, "DELETE "+v.at()+"/trash", "").holds(200, `{"deleted":0,"message":"<text>"}`)
	for _, environment := range []string{"staging", "production"} {
		ann.push(t, v, environment, `{"B":"1","A":"2"}`, "").ok(200)
		ann.push(t, v, environment, `{}`, "").ok(200)
	}
	ann.set(t, v, "staging", "A", "active")
	ann.do(t, "DELETE "+v.at()+"/trash", "").holds(200, `{"deleted":4,"message":"<text>"}`)
	ann.recorded(t, v, "secret_permanently_deleted", `"bulk":true,"count":4,"keys":["A","A","B","B"]`)
	ann.do(t, "GET "+v.at()+"/trash", "").holds(200, `[]`)
	ann.environment(t, v, "staging", 3, 1)
}

func TestTheTrashIsListedLastDeletedFirstToTheLastPage(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for _, key := range []string{"A", "B", "C", "D", "E"} {
		ann.push(t, v, "staging", `{"`+key+`":"1"}`, "").ok(200)
		time.Sleep(2 * time.Millisecond)
	}
	want := []string{"D", "C", "B", "A"}
	for offset := 0; offset <= 5; offset += 3 {
		a := ann.do(t, fmt.Sprintf("GET %s/trash?limit=3&offset=%d", v.at(), offset), "").ok(200)
		a.same(fmt.Sprintf(`{"limit":3,"offset":%d,"total":4,"hasMore":%t}`, offset, offset == 0), a.at("meta.pagination"))
		if got := a.each("key"); fmt.Sprint(got) != fmt.Sprint(want[min(offset, 4):min(offset+3, 4)]) {
			t.Errorf("offset %d: %v", offset, got)
		}
	}
}
