package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func page(t *testing.T, r *Registry) string {
	t.Helper()
	text, err := r.Text()
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestRequestsAreCounted(t *testing.T) {
	r := New()
	r.Requests.Note("/v1/vaults/:owner/:repo", "GET", 200, 700*time.Microsecond)
	r.Requests.Note("/v1/vaults/:owner/:repo", "GET", 200, 2*time.Minute)
	r.Requests.Note("/v1/vaults/:owner/:repo", "GET", 404, time.Millisecond)
	r.Requests.Note("", "C4NARY", 404, 0)
	(*Requests)(nil).Note("/", "GET", 200, 0)
	var got []string
	for line := range strings.Lines(page(t, r)) {
		if strings.Contains(line, "owner") && !strings.Contains(line, `le="0.0`) || strings.Contains(line, `"other"`) && strings.Contains(line, "_total") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	const of = `{method="GET",route="/v1/vaults/:owner/:repo"`
	want := []string{
		`coffer_http_request_duration_seconds_bucket` + of + `,le="0.1"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="0.25"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="1"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="5"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="30"} 2`,
		`coffer_http_request_duration_seconds_bucket` + of + `,le="+Inf"} 3`,
		`coffer_http_request_duration_seconds_sum` + of + `} 120.0017`,
		`coffer_http_request_duration_seconds_count` + of + `} 3`,
		`coffer_http_requests_total` + of + `,status="200"} 2`,
		`coffer_http_requests_total` + of + `,status="404"} 1`,
		`coffer_http_requests_total{method="other",route="none",status="404"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// line is a line of the exposition format, without time stamps.
var line = regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? (\+Inf|[0-9.e+-]+))$`)

func TestThePageIsWellFormed(t *testing.T) {
	r := New()
	r.Add(func(p *Page) {
		p.Gauge("odd", "An odd label.", 1, "a", "\\ \" \n", "b", "")
		p.Counter("told_total", "Told.", 3)
		p.Gauge("at", "When.", Time(time.UnixMilli(1500)))
		p.Gauge("never", "When.", Time(time.Time{}))
	})
	r.Timed("calls_seconds", "Calls.")("answered", time.Second)
	r.Requests.Note("/", "GET", 200, time.Second)
	text := strings.TrimSuffix(page(t, r), "\n")
	for l := range strings.SplitSeq(text, "\n") {
		if !line.MatchString(l) {
			t.Errorf("%q", l)
		}
	}
	for _, want := range []string{
		`odd{a="\\ \" \n",b=""} 1`, "\ntold_total 3", "\nat 1.5", "\nnever 0", `calls_seconds_count{outcome="answered"} 1`,
		"\ngo_goroutines ", "\nprocess_start_time_seconds ", "\ngo_info{version=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestABadMetricSpoilsNoOther says one thing twice.
func TestABadMetricSpoilsNoOther(t *testing.T) {
	r := New()
	r.Add(func(p *Page) {
		p.Gauge("twice", "Said twice.", 1)
		p.Gauge("twice", "Said twice.", 2)
		p.Gauge("good", "Good.", 1)
	})
	text, err := r.Text()
	if err == nil || !strings.Contains(string(text), "\ngood 1\n") || !strings.Contains(string(text), "\ngo_goroutines ") {
		t.Errorf("%v\n%s", err, text)
	}
}
