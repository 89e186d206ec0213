package contracttest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// moments makes three revisions of staging, and returns an instant after each.
func (c *caller) moments(t testing.TB, v *sample) (at [3]time.Time) {
	t.Helper()
	for i, secrets := range []string{`{"A":"1"}`, `{"A":"2","B":"1"}`, `{"B":"1"}`} {
		c.push(t, v, "staging", secrets, "").ok(200)
		time.Sleep(3 * time.Millisecond)
		at[i] = time.Now()
		time.Sleep(3 * time.Millisecond)
	}
	return at
}

func TestAnInstantIsTakenInEveryFormOfRFC3339(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	at := ann.moments(t, v)[1].UTC()
	zone := func(hours, minutes int) *time.Location { return time.FixedZone("", (hours*60+minutes)*60) }
	const millis = "2006-01-02T15:04:05.000"
	forms := map[string]string{
		"milliseconds":         at.Format(millis + "Z"),
		"nanoseconds":          at.Format("2006-01-02T15:04:05.000000000Z"),
		"an offset ahead":      at.In(zone(2, 0)).Format(millis + "Z07:00"),
		"an offset behind":     at.In(zone(-8, 0)).Format(millis + "Z07:00"),
		"an offset in half":    at.In(zone(5, 30)).Format(millis + "Z07:00"),
		"the largest offset":   at.In(zone(23, 59)).Format(millis + "Z07:00"),
		"an offset of zero":    at.Format(millis + "+00:00"),
		"an offset of nowhere": at.Format(millis + "-00:00"),
		"small letters":        strings.ToLower(at.Format(millis + "Z")),
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			a := ann.pull(t, v, "staging", "&format=json&at="+url.QueryEscape(text))
			a.holds(200, `{"secrets":{"A":"2","B":"1"},"count":2,"total":2,"revision":2}`)
			last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
			last.same(fmt.Sprintf(`{"environment":"staging","secretCount":2,"secretKeys":["A","B"],"revision":2,"format":"json",
				"at":%q,"repoFullName":"@ann/api","apiKeyId":"<id>"}`, at.Format(millis+"Z")), last.at("data.0.metadata"))
		})
	}
	a := ann.pull(t, v, "staging", "&format=json&at=2001-02-03T04:05:06Z").ok(200) // whole seconds, before there was anything
	a.same(`[{},0]`, []any{a.at("data.secrets"), a.at("data.total")})
	ann.pull(t, v, "staging", "&at=").holds(200, `{"content":"B=1","count":1,"total":1,"revision":3}`)
}

func TestInstantsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for _, text := range []string{"now", "0", "1700000000", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04Z",
		"2026-1-2T03:04:05Z", "2026-01-02T3:04:05Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.Z", "2026-02-30T03:04:05Z", "2026-13-01T03:04:05Z",
		"2026-01-02T24:04:05Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:05+0200", "2026-01-02T03:04:05+02", "2026-01-02T03:04:05+24:00",
		"2026-01-02T03:04:05+02:60", "2026-01-02T03:04:05 02:00", "2026-01-02T03:04:05Z ", "20260102T030405Z", "2026-W01-2T03:04:05Z", "Fri, 02 Jan 2026 03:04:05 GMT"} {
		t.Run(text, func(t *testing.T) {
			ann.pull(t, v, "staging", "&at="+url.QueryEscape(text)).fails(422, "validation-error", "at:invalid_format")
		})
	}
	for _, ahead := range []time.Duration{time.Minute, 24 * time.Hour, 50 * 365 * 24 * time.Hour} {
		text := time.Now().Add(ahead).Format(time.RFC3339)
		ann.pull(t, v, "staging", "&at="+url.QueryEscape(text)).fails(422, "validation-error", "at:too_large")
	}
	future := "&at=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	s.key(t, "ann", "live", "write:secrets").pull(t, v, "staging", future).fails(403, "forbidden")
	s.user(t, "eve").pull(t, v, "staging", future).fails(422, "validation-error", "at:too_large")
}

func TestThePastByRevision(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.moments(t, v)
	for revision, want := range []string{`{}`, `{"A":"1"}`, `{"A":"2","B":"1"}`, `{"B":"1"}`} {
		n := strings.Count(want, ":")
		ann.pull(t, v, "staging", fmt.Sprintf("&format=json&revision=%d", revision)).
			holds(200, fmt.Sprintf(`{"secrets":%s,"count":%d,"total":%d,"revision":%d}`, want, n, n, revision))
	}
	for query, errors := range map[string]string{
		"revision=-1": "revision:too_small", "revision=x": "revision:invalid_type", "revision=1.0": "revision:invalid_type",
		"revision=99999999999999999999": "revision:too_large", "revision=4": "revision:too_large",
		"revision=1&at=2026-01-02T03:04:05Z": "revision:not_allowed",
	} {
		ann.pull(t, v, "staging", "&"+query).fails(422, "validation-error", errors)
	}
}

func TestThePastIsPagedAndFormattedLikeThePresent(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.push(t, v, "staging", `{"A":"1","B":"two words","C":"3"}`, "").ok(200)
	ann.push(t, v, "staging", `{}`, "").ok(200)
	for query, want := range map[string]string{
		"":                              `{"content":"A=1\nB=\"two words\"\nC=3","count":3,"total":3,"revision":1}`,
		"&limit=1":                      `{"content":"A=1","count":1,"total":3,"revision":1}`,
		"&limit=2&offset=1&format=env":  `{"content":"B=\"two words\"\nC=3","count":2,"total":3,"revision":1}`,
		"&limit=2&offset=1&format=json": `{"secrets":{"B":"two words","C":"3"},"count":2,"total":3,"revision":1}`,
		"&offset=3&format=json":         `{"secrets":{},"count":0,"total":3,"revision":1}`,
	} {
		ann.pull(t, v, "staging", "&revision=1"+query).holds(200, want)
	}
}

// TestThePastSaysWhatIsGone: names are today's, and what was removed for good
// is missing and said to be.
func TestThePastSaysWhatIsGone(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	gone, renamed := ann.set(t, v, "staging", "GONE", "1"), ann.set(t, v, "staging", "OLD", "2")
	ann.do(t, "PATCH "+v.at()+"/secrets/"+renamed, `{"name":"NEW"}`).ok(200)
	ann.do(t, "PATCH "+v.at()+"/environments/staging", `{"newName":"qa"}`).ok(200)
	ann.do(t, "DELETE "+v.at()+"/secrets/"+gone, "").ok(204)
	ann.pull(t, v, "qa", "&format=json&revision=2").holds(200, `{"secrets":{"GONE":"1","NEW":"2"},"count":2,"total":2,"revision":2}`)
	tag := ann.pull(t, v, "qa", "&format=json&revision=2").header.Get("ETag")
	ann.do(t, "DELETE "+v.at()+"/trash/"+gone, "").ok(204)
	ann.pull(t, v, "qa", "&format=json&revision=2", "If-None-Match", tag).
		holds(200, `{"secrets":{"NEW":"2"},"count":1,"total":1,"revision":2,"incomplete":true}`)
	ann.pull(t, v, "staging", "&revision=2").fails(404, "not-found")
}
