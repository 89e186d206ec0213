package contracttest

import "testing"

func TestASyncThatIsFollowedIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	a := h.ann.sync(t, v, g.at("async=true")).ok(202)
	job := "/v1/integrations/jobs/" + a.text("data.jobId")
	if got := a.header.Get("Location"); got != job {
		t.Errorf("Location %q, want %q", got, job)
	}
	a.same(`[false,"running"]`, []any{a.at("data.success"), a.at("data.status")})
	ended := h.ann.ends(t, job)
	ended.same(`["success",1]`, []any{ended.at("data.status"), ended.at("data.result.created")})
	h.held(t, "production", map[string]string{"A": "1"})

	h.vercel.Put(h.project, "production", "B", "2")
	a = h.ann.sync(t, v, g.at("async=true", "direction=pull")).ok(200)
	a.same(`["success",1]`, []any{a.at("data.status"), a.at("data.created")})
	h.ann.sync(t, v, g.at("async=now")).fails(422, "validation-error", "async:invalid_type")
}
