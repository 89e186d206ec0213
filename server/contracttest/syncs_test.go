package contracttest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/hosting/hostingtest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// held wants a place at Vercel to hold just this of what users made there.
func (h *hosted) held(t testing.TB, place string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, h.vercel.Held(h.project, place)); diff != "" {
		t.Errorf("%s at Vercel: (-want +got)\n%s", place, diff)
	}
}

const redeploy = `[{"code":"redeploy_needed","message":"Takes effect with the next deployment."}]`

func TestAPushIsPreviewedAndDone(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	ann := h.ann
	ann.push(t, v, "production", `{"NEW":"1","OTHER":"2","SAME":"3","EMPTY":"","VERCEL_URL":"x"}`, "").ok(200)
	for key, value := range map[string]string{"OTHER": "theirs", "SAME": "3", "THEIRS": "kept"} {
		h.vercel.Put(h.project, "production", key, value)
	}
	h.vercel.AddRecord(h.project, hostingtest.VercelRecord{Key: "STORE", Value: "x", Targets: []string{"production"}, Integration: "icfg_2"})
	h.vercel.Put(h.project, "preview", "OTHER", "untouched")

	want := `{"toCreate":["EMPTY","NEW"],"toUpdate":["OTHER"],"toDelete":[],"toSkip":["SAME","VERCEL_URL"],
		"details":{"EMPTY":{"action":"create","reason":"absent_at_target"},"NEW":{"action":"create","reason":"absent_at_target"},
			"OTHER":{"action":"update","reason":"differs"},"SAME":{"action":"skip","reason":"unchanged"},
			"STORE":{"action":"keep","reason":"not_owned"},"THEIRS":{"action":"keep","reason":"delete_not_allowed"},
			"VERCEL_URL":{"action":"skip","reason":"reserved_key"}},
		"warnings":` + redeploy + `,"planHash":"<text>","direction":"push","keywayEnvironment":"production","providerEnvironment":"production"}`
	first := ann.preview(t, v, g).holds(200, want)
	second := ann.preview(t, v, g).holds(200, want)
	if first.text("data.planHash") != second.text("data.planHash") {
		t.Error("the same plan has two hashes")
	}
	h.vercel.Forget()
	ann.do(t, "GET "+v.syncs()+"/status?"+g.query(), "").holds(200, `{"isFirstSync":true,"vaultIsEmpty":false,"providerHasSecrets":true,"providerSecretCount":3}`)
	ann.do(t, "GET "+v.syncs()+"/diff?"+g.query(), "").holds(200, `{"keywayCount":5,"providerCount":3,"onlyInKeyway":["EMPTY","NEW","VERCEL_URL"],
		"onlyInProvider":["THEIRS"],"different":["OTHER"],"same":["SAME"],"unreadable":[]}`)
	if slices.ContainsFunc(h.vercel.Log(), hostingtest.VercelWriting) {
		t.Error("looking changes something")
	}

	a := ann.sync(t, v, g.at("planHash="+first.text("data.planHash")))
	a.holds(200, `{"success":true,"status":"success","stats":{"created":2,"updated":1,"deleted":0,"skipped":2,"total":5},
		"created":2,"updated":1,"deleted":0,"skipped":2,"failed":[],"jobId":"<id>"}`)
	h.held(t, "production", map[string]string{"EMPTY": "", "NEW": "1", "OTHER": "2", "SAME": "3", "THEIRS": "kept"})
	h.held(t, "preview", map[string]string{"OTHER": "untouched"})
	ann.recorded(t, v, "secrets_synced", `"provider":"vercel","direction":"push","environment":"production","providerEnvironment":"production",
		"status":"success","created":2,"updated":1,"deleted":0,"failed":0`)
	if diff := cmp.Diff(parse(t, []byte(`["EMPTY","NEW","OTHER"]`)), ann.note(t, v, "secrets_sync_started")["keys"]); diff != "" {
		t.Error(diff)
	}
	job := `{"jobId":"<id>","status":"success","progress":{"done":3,"total":3},"createdAt":"<time>","finishedAt":"<time>","result":` +
		`{"success":true,"status":"success","stats":{"created":2,"updated":1,"deleted":0,"skipped":2,"total":5},"created":2,"updated":1,"deleted":0,"skipped":2,"failed":[],"jobId":"<id>"}}`
	ann.do(t, "GET /v1/integrations/jobs/"+a.text("data.jobId"), "").holds(200, job)
	ann.do(t, "DELETE /v1/integrations/jobs/"+a.text("data.jobId"), "").fails(409, "conflict")
	bob := h.user(t, "bob")
	h.grant(t, v.repo, "bob=admin")
	bob.do(t, "GET /v1/integrations/jobs/"+a.text("data.jobId"), "").fails(404, "not-found")
	bob.do(t, "DELETE /v1/integrations/jobs/"+a.text("data.jobId"), "").fails(404, "not-found")

	a = ann.do(t, "GET "+v.syncs()+"/status?connectionId="+g.connection+"&projectId="+g.project+"&environment=production", "").ok(200)
	a.same(`[false,5]`, []any{a.at("data.isFirstSync"), a.at("data.providerSecretCount")})
	a = ann.preview(t, v, g).ok(200)
	a.same(`[[],[],["EMPTY","NEW","OTHER","SAME","VERCEL_URL"],[]]`, []any{a.at("data.toCreate"), a.at("data.toUpdate"), a.at("data.toSkip"), a.at("data.warnings")})
	a = ann.preview(t, v, g.at("allowDelete=true")).ok(200)
	a.same(`["THEIRS"]`, a.at("data.toDelete"))
	a.same(`{"action":"delete","reason":"absent_at_source"}`, a.at("data.details.THEIRS"))
	a = ann.sync(t, v, g.at("allowDelete=true")).ok(200)
	a.same(`[true,1,6]`, []any{a.at("data.success"), a.at("data.deleted"), a.at("data.stats.total")})
	h.held(t, "production", map[string]string{"EMPTY": "", "NEW": "1", "OTHER": "2", "SAME": "3"})
}

func TestAPullIsPreviewedAndDone(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	ann := h.ann
	g = g.at("direction=pull")
	ann.push(t, v, "production", `{"MINE":"1","OTHER":"2","SAME":"3"}`, "").ok(200)
	for key, value := range map[string]string{"OTHER": "theirs", "SAME": "3", "THEIRS": "a\nb", "lower": "x", "EMPTY": "", "HUGE": strings.Repeat("x", 262145)} {
		h.vercel.Put(h.project, "production", key, value)
	}
	h.vercel.AddRecord(h.project, hostingtest.VercelRecord{Key: "HIDDEN", Value: "x", Type: "sensitive", Targets: []string{"production"}})
	a := ann.preview(t, v, g).ok(200)
	a.same(`[["EMPTY","THEIRS"],["OTHER"],[],["HIDDEN","HUGE","SAME","lower"],"pull"]`,
		[]any{a.at("data.toCreate"), a.at("data.toUpdate"), a.at("data.toDelete"), a.at("data.toSkip"), a.at("data.direction")})
	a.same(`{"EMPTY":{"action":"create","reason":"absent_at_target"},"THEIRS":{"action":"create","reason":"absent_at_target"},
		"OTHER":{"action":"update","reason":"differs"},"SAME":{"action":"skip","reason":"unchanged"},"HIDDEN":{"action":"skip","reason":"unreadable"},
		"HUGE":{"action":"skip","reason":"too_large"},"lower":{"action":"skip","reason":"invalid_key"},"MINE":{"action":"keep","reason":"delete_not_allowed"}}`, a.at("data.details"))
	diff := ann.do(t, "GET "+v.syncs()+"/diff?"+g.query(), "").ok(200)
	diff.same(`[["MINE"],["EMPTY","HIDDEN","HUGE","THEIRS","lower"]]`, []any{diff.at("data.onlyInKeyway"), diff.at("data.onlyInProvider")})
	h.vercel.Forget()
	a = ann.sync(t, v, g.at("planHash="+a.text("data.planHash"))).ok(200)
	a.same(`[true,"success",{"created":2,"updated":1,"deleted":0,"skipped":4,"total":7}]`, []any{a.at("data.success"), a.at("data.status"), a.at("data.stats")})
	a = ann.pull(t, v, "production", "&format=json").ok(200)
	a.same(`{"EMPTY":"","MINE":"1","OTHER":"theirs","SAME":"3","THEIRS":"a\nb"}`, a.at("data.secrets"))
	a.same(`2`, a.at("data.revision"))
	meta := ann.note(t, v, "secrets_synced")
	a.same(`["pull","success",2,1,0]`, []any{meta["direction"], meta["status"], meta["created"], meta["updated"], meta["deleted"]})
	if meta := ann.note(t, v, "secrets_sync_started"); meta["direction"] != "pull" {
		t.Errorf("started %v", meta)
	}
	a = ann.sync(t, v, g.at("allowDelete=true")).ok(200)
	a.same(`[true,1]`, []any{a.at("data.success"), a.at("data.deleted")})
	a = ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
	a.same(`["MINE"]`, a.each("key"))
	if slices.ContainsFunc(h.vercel.Log(), hostingtest.VercelWriting) {
		t.Error("a pull changes something at the provider")
	}
}

func TestASyncIsHeldAgainstItsRules(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	bob := h.user(t, "bob")
	h.grant(t, v.repo, "bob=write")
	for _, r := range []struct {
		c      *caller
		g      target
		fields string
	}{
		{h.ann, target{}, "connectionId:required projectId:required"},
		{h.ann, target{connection: someID}, "projectId:required"},
		{h.ann, g.at("connectionId=" + someID), "connectionId:unknown_value"},
		{h.ann, g.at("connectionId=1"), "connectionId:unknown_value"},
		{bob, g, "connectionId:unknown_value"}, // it is ann's
		{h.ann, g.at("projectId=prj_none"), "projectId:unknown_value"},
		{h.ann, g.at("projectId=a b"), "projectId:invalid_format"},
		{h.ann, g.at("projectId=" + strings.Repeat("x", 256)), "projectId:too_long"},
		{h.ann, g.at("serviceId=none"), "serviceId:unknown_value"},
		{h.ann, g.at("keywayEnvironment=nowhere"), "keywayEnvironment:unknown_value"},
		{h.ann, g.at("providerEnvironment=nowhere"), "providerEnvironment:unknown_value"},
		{h.ann, g.at("providerEnvironment=" + strings.Repeat("x", 256)), "providerEnvironment:too_long"},
	} {
		for _, what := range []string{"preview", "status", "diff"} {
			r.c.do(t, "GET "+v.syncs()+"/"+what+"?"+r.g.query(), "").fails(422, "validation-error", strings.Fields(r.fields)...)
		}
		if r.g.connection == "" || r.g.project == "" { // an empty text is there
			continue
		}
		r.c.sync(t, v, r.g).fails(422, "validation-error", strings.Fields(r.fields)...)
		r.c.link(t, v, r.g).fails(422, "validation-error", strings.Fields(r.fields)...)
	}
	for _, what := range []string{"", "/link"} {
		h.ann.do(t, "POST "+v.syncs()+what, `{}`).fails(422, "validation-error", "connectionId:required", "projectId:required")
		h.ann.do(t, "POST "+v.syncs()+what, ``).fails(400, "bad-request")
		h.ann.do(t, "POST "+v.syncs()+what, `{"connectionId":7,"projectId":[]}`).fails(422, "validation-error", "connectionId:invalid_type", "projectId:invalid_type")
	}
	h.ann.preview(t, v, g.at("direction=sideways")).fails(422, "validation-error", "direction:unknown_value")
	h.ann.preview(t, v, g.at("allowDelete=yes")).fails(422, "validation-error", "allowDelete:invalid_type")
	h.ann.sync(t, v, g.at("direction=sideways")).fails(422, "validation-error", "direction:unknown_value")
	h.ann.do(t, "GET "+v.syncs()+"/status?connectionId="+g.connection+"&projectId="+g.project+"&environment=nowhere", "").
		fails(422, "validation-error", "environment:unknown_value")
	h.ann.do(t, "GET "+v.syncs()+"/preview?connectionId=x&connectionId=x&projectId=p", "").fails(400, "bad-request")
}

func TestASyncRefusesAnotherPlanThanTheOneLookedAt(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	hash := h.ann.preview(t, v, g).ok(200).text("data.planHash")
	h.ann.push(t, v, "production", `{"A":"2"}`, "").ok(200)
	h.vercel.Forget()
	h.ann.sync(t, v, g.at("planHash="+hash)).fails(409, "conflict")
	h.ann.sync(t, v, g.at("planHash=x")).fails(409, "conflict")
	h.ann.sync(t, v, g.at("planHash="+hash, "direction=pull")).fails(409, "conflict")
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	h.vercel.Put(h.project, "production", "A", "theirs")
	h.ann.sync(t, v, g.at("planHash="+hash)).fails(409, "conflict")
	if slices.ContainsFunc(h.vercel.Log(), hostingtest.VercelWriting) {
		t.Error("something was written")
	}
	h.held(t, "production", map[string]string{"A": "theirs"})
}

func TestALongSyncGoesOnAsAJob(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t, func(c *server.Config) { c.TestOnlySyncWait = 50 * time.Millisecond })
	h.ann.push(t, v, "production", `{"A":"1","B":"2"}`, "").ok(200)
	gate := make(chan struct{})
	h.vercel.Break("", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			<-gate
		}
		next.ServeHTTP(rw, r)
	})
	a := h.ann.sync(t, v, g)
	a.holds(202, `{"success":false,"status":"running","stats":{"created":0,"updated":0,"deleted":0,"skipped":0,"total":0},
		"created":0,"updated":0,"deleted":0,"skipped":0,"failed":[],"jobId":"<id>","error":"Still running; see job `+a.text("data.jobId")+`."}`)
	job := "/v1/integrations/jobs/" + a.text("data.jobId")
	if got := a.header.Get("Location"); got != job {
		t.Errorf("Location %q, want %q", got, job)
	}
	h.ann.do(t, "GET "+job, "").holds(200, `{"jobId":"<id>","status":"running","result":null,"progress":{"done":0,"total":2},"createdAt":"<time>","finishedAt":null}`)
	h.ann.sync(t, v, g).fails(409, "conflict")
	if meta := h.ann.note(t, v, "secrets_sync_started"); meta == nil || h.ann.note(t, v, "secrets_synced") != nil {
		t.Errorf("it is not recorded as begun and not ended: %v", meta)
	}
	close(gate)
	ended := h.ann.ends(t, job)
	ended.same(`["success",2]`, []any{ended.at("data.status"), ended.at("data.result.created")})
	h.held(t, "production", map[string]string{"A": "1", "B": "2"})
}

// ends waits for the end of a job.
func (c *caller) ends(t testing.TB, job string) *answer {
	t.Helper()
	for range 1200 {
		if a := c.do(t, "GET "+job, "").ok(200); a.at("data.finishedAt") != nil {
			return a
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("it does not end")
	return nil
}

func TestALongSyncIsStopped(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t, func(c *server.Config) { c.TestOnlySyncWait = 50 * time.Millisecond })
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	h.vercel.Break("", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			standin.Hang(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	})
	job := "/v1/integrations/jobs/" + h.ann.sync(t, v, g).ok(202).text("data.jobId")
	h.key(t, "ann", "live", "read:secrets").do(t, "DELETE "+job, "").fails(403, "forbidden")
	h.ann.do(t, "DELETE "+job, "").ok(204)
	a := h.ann.ends(t, job)
	a.same(`["error",false,{"key":"A","operation":"create","code":"cancelled","message":"<text>","retryable":true}]`,
		[]any{a.at("data.status"), a.at("data.result.success"), a.at("data.result.failed.0")})
	h.vercel.Heal()
	if again := h.ann.sync(t, v, g); again.status == 202 { // a busy machine takes longer than the request waits
		h.ann.ends(t, "/v1/integrations/jobs/"+again.text("data.jobId"))
	}
	h.held(t, "production", map[string]string{"A": "1"})
}

func TestASyncThatFailsOnTheWaySaysSo(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.push(t, v, "production", `{"A":"1","AWS_SECRET_KEY":"2","C":"3"}`, "").ok(200)
	h.vercel.Put(h.project, "production", "GONE", "x")
	a := h.ann.sync(t, v, g.at("allowDelete=true"))
	a.holds(200, `{"success":false,"status":"partial","stats":{"created":2,"updated":0,"deleted":0,"skipped":0,"total":4},"created":2,"updated":0,"deleted":0,"skipped":0,
		"failed":[{"key":"AWS_SECRET_KEY","operation":"create","code":"reserved_key","message":"<text>","retryable":false,"requestId":"<text>"},
			{"key":"GONE","operation":"delete","code":"not_reached","message":"<text>","retryable":true}],
		"error":"2 of 4 variables could not be written: AWS_SECRET_KEY, GONE","jobId":"<id>"}`)
	h.held(t, "production", map[string]string{"A": "1", "C": "3", "GONE": "x"}) // nothing is deleted after a failure
	meta := h.ann.note(t, v, "secrets_synced")
	a.same(`["partial",2,2]`, []any{meta["status"], meta["created"], meta["failed"]})
}

func TestOnlyAdminsSyncIntoWhatIsMoreProtected(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	bob := h.user(t, "bob")
	h.grant(t, v.repo, "bob=maintain")
	g := target{connection: h.connect(t, bob, "vercel"), project: h.project, environment: "development"}
	up := g.at("providerEnvironment=production")
	h.ann.push(t, v, "development", `{"A":"1"}`, "").ok(200)
	bob.preview(t, v, up).ok(200) // looking moves nothing
	h.vercel.Forget()
	bob.sync(t, v, up).fails(403, "forbidden")
	if h.vercel.Calls("POST /") > 0 {
		t.Error("something was written")
	}
	meta := h.ann.note(t, v, "access_denied")
	if meta["operation"] != "sync_push" || meta["reason"] != "role" || meta["environment"] != "development" {
		t.Errorf("recorded %v", meta)
	}
	bob.sync(t, v, g).ok(200)
	down := g.at("keywayEnvironment=production", "providerEnvironment=development", "direction=pull")
	bob.sync(t, v, down).fails(403, "forbidden")
	h.grant(t, v.repo, "bob=admin")
	bob.sync(t, v, up).ok(200)
	bob.sync(t, v, down).ok(200)
}

func TestASyncTakesTheRightsOfItsEnvironment(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.push(t, v, "development", `{"A":"1"}`, "").ok(200)
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	bob := h.user(t, "bob")
	h.grant(t, v.repo, "bob=read")
	mine := g.at("connectionId=" + h.connect(t, bob, "vercel"))
	for _, what := range []string{"preview", "status", "diff"} {
		bob.do(t, "GET "+v.syncs()+"/"+what+"?"+mine.query(), "").fails(403, "forbidden")
	}
	bob.sync(t, v, mine).fails(403, "forbidden")
	bob.link(t, v, mine).fails(403, "forbidden")
	development := mine.at("keywayEnvironment=development")
	bob.preview(t, v, development).ok(200)
	bob.sync(t, v, development).ok(200) // reading is enough to push
	bob.sync(t, v, development.at("direction=pull")).fails(403, "forbidden")
	test := h.key(t, "ann", "test", servertest.AllScopes...)
	test.preview(t, v, g).fails(403, "forbidden")
	test.sync(t, v, g).fails(403, "forbidden")
	test.link(t, v, g).fails(403, "forbidden")
	test.sync(t, v, g.at("keywayEnvironment=development")).ok(200)
	reader := h.key(t, "ann", "live", "read:secrets")
	reader.preview(t, v, g).ok(200)
	reader.sync(t, v, g).fails(403, "forbidden")
	reader.link(t, v, g).fails(403, "forbidden")
}

func TestProvidersEnvironmentsAreMapped(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.do(t, "POST "+v.at()+"/environments", `{"name":"dev"}`).ok(201)
	h.ann.do(t, "POST "+v.at()+"/environments", `{"name":"qa"}`).ok(201)
	netlify := target{connection: h.connect(t, h.ann, "netlify"), project: h.place}
	for _, row := range []struct {
		g                 target
		ours, named, want string
	}{
		{g, "production", "", "production"}, {g, "staging", "", "preview"}, {g, "development", "", "development"}, {g, "dev", "", "development"},
		{g, "production", "staging", "preview"}, {g, "production", "dev", "development"},
		{netlify, "production", "", "production"}, {netlify, "staging", "", "deploy-preview"}, {netlify, "development", "", "local"}, {netlify, "dev", "", "local"},
		{netlify, "production", "staging", "deploy-preview"}, {netlify, "production", "dev", "local"}, {netlify, "production", "local", "local"},
		{netlify, "production", "development", "local"}, {netlify, "production", "branch-deploy", "branch-deploy"},
	} {
		at := row.g.at("keywayEnvironment="+row.ours, "providerEnvironment="+row.named)
		if got := h.ann.preview(t, v, at).ok(200).text("data.providerEnvironment"); got != row.want {
			t.Errorf("%s to %q is %q, want %q", row.ours, row.named, got, row.want)
		}
	}
	for _, at := range []target{g, netlify} {
		h.ann.preview(t, v, at.at("keywayEnvironment=qa")).fails(422, "validation-error", "providerEnvironment:unknown_value")
	}
	h.ann.push(t, v, "staging", `{"A":"for previews"}`, "").ok(200)
	h.ann.sync(t, v, netlify.at("keywayEnvironment=staging", "providerEnvironment=staging")).ok(200)
	if got := h.netlify.Held(h.place, "deploy-preview"); got["A"] != "for previews" || len(h.netlify.Held(h.place, "production")) > 0 {
		t.Errorf("Netlify holds %v", got)
	}
	h.ann.push(t, v, "development", `{"B":"for me"}`, "").ok(200)
	h.ann.sync(t, v, netlify.at("keywayEnvironment=development")).ok(200)
	if got := h.netlify.Held(h.place, "local"); got["B"] != "for me" {
		t.Errorf("Netlify holds %v", got)
	}
}

// TestWhatCannotBeReadIsWrittenOnce: GitHub gives no value back.
func TestWhatCannotBeReadIsWrittenOnce(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	g := target{connection: h.connect(t, h.ann, "github-actions"), project: h.repository, environment: "production"}
	h.ann.push(t, v, "production", `{"A":"1","B":"2"}`, "").ok(200)
	a := h.ann.sync(t, v, g).ok(200)
	a.same(`[2,0,0]`, []any{a.at("data.created"), a.at("data.updated"), a.at("data.skipped")})
	a = h.ann.preview(t, v, g).ok(200)
	a.same(`{"A":{"action":"skip","reason":"unchanged_unreadable"},"B":{"action":"skip","reason":"unchanged_unreadable"}}`, a.at("data.details"))
	a = h.ann.do(t, "GET "+v.syncs()+"/diff?"+g.query(), "").ok(200)
	a.same(`[["A","B"],[],[]]`, []any{a.at("data.unreadable"), a.at("data.same"), a.at("data.different")})
	h.ann.push(t, v, "production", `{"A":"1","B":"new"}`, "").ok(200)
	a = h.ann.preview(t, v, g).ok(200)
	a.same(`{"A":{"action":"skip","reason":"unchanged_unreadable"},"B":{"action":"update","reason":"unreadable_changed"}}`, a.at("data.details"))
	a = h.ann.preview(t, v, g.at("direction=pull")).ok(200)
	a.same(`{"A":{"action":"skip","reason":"unreadable"},"B":{"action":"skip","reason":"unreadable"}}`, a.at("data.details"))
	h.ann.sync(t, v, g).ok(200)
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "new"}, h.github.Held(number(t, h.repository), "production")); diff != "" {
		t.Error(diff)
	}
}

func number(t testing.TB, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
