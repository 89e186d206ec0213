package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsAreCounted(t *testing.T) {
	var r Requests
	r.Note("/v1/vaults/:owner/:repo", "GET", 200, 700*time.Microsecond)
	r.Note("/v1/vaults/:owner/:repo", "GET", 200, 2*time.Minute)
	r.Note("/v1/vaults/:owner/:repo", "GET", 404, time.Millisecond)
	r.Note("", "C4NARY", 404, 0)
	(*Requests)(nil).Note("/", "GET", 200, 0)
	var text Text
	r.Write(&text)
	var got []string
	for line := range strings.Lines(string(text.Bytes())) {
		if strings.Contains(line, "owner") && !strings.Contains(line, `le="0.0`) && !strings.HasPrefix(line, "#") || strings.Contains(line, `"other"`) && strings.Contains(line, "_total") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	const of = `{route="/v1/vaults/:owner/:repo",method="GET"`
	want := []string{
		`coffer_http_requests_total` + of + `,status="200"} 2`,
		`coffer_http_requests_total` + of + `,status="404"} 1`,
		`coffer_http_requests_total{route="none",method="other",status="404"} 1`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="0.1"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="0.25"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="1"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="5"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="30"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="+Inf"} 3`,
		`coffer_http_request_duration_seconds_sum` + of + `} 120.0017`,
		`coffer_http_request_duration_seconds_count` + of + `} 3`,
	}
	if len(got) > 0 && strings.HasPrefix(got[0], `coffer_http_requests_total{route="none"`) {
		t.Error("sorted otherwise")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// line is a line of the exposition format, without time stamps.
var line = regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? (\+Inf|[0-9.e+-]+))$`)

func TestThePageIsWellFormed(t *testing.T) {
	var text Text
	WriteRuntime(&text)
	text.One("odd", Gauge, "An odd label.", 1, "a", "\\ \" \n", "b", "")
	var r Requests
	r.Note("/", "GET", 200, time.Second)
	r.Write(&text)
	page := strings.TrimSuffix(string(text.Bytes()), "\n")
	for l := range strings.SplitSeq(page, "\n") {
		if !line.MatchString(l) {
			t.Errorf("%q", l)
		}
	}
	if !strings.Contains(page, `odd{a="\\ \" \n",b=""} 1`) || !strings.Contains(page, "\ngo_goroutines ") {
		t.Error(page)
	}
}
