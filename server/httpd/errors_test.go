package httpd

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are errors as the warden makes them, one or more for every code.
var samples = []error{
	api.Errorf(api.BadRequest, "Unclear."),
	api.Errorf(api.Unauthorized, "Send a token."),
	api.Errorf(api.Forbidden, "This needs the scope write:secrets."),
	api.Errorf(api.PlanLimit, "One private vault."),
	&api.Error{Code: api.PlanLimit, Message: "No organizations.", UpgradeURL: "https://vault.example/upgrade",
		Extra: map[string]any{"trialInfo": map[string]any{"eligible": true, "daysAvailable": 14}}},
	api.Errorf(api.NotFound, `no secret "X" in production & <staging>`),
	api.Errorf(api.MethodNotAllowed, "Use GET."),
	api.Errorf(api.Conflict, "It exists already."),
	&api.Error{Code: api.Conflict, Message: "Somebody was faster.", Extra: map[string]any{"currentRevision": 4, "conflictKeys": []string{"A"}}},
	api.Errorf(api.TooLarge, "Too large."),
	&api.Error{Code: api.Invalid, Message: "2 fields are invalid.", Fields: []api.FieldError{
		{Field: "secrets.db_url", Code: api.InvalidFormat, Message: api.KeyRule},
		{Field: "mode", Code: api.UnknownValue, Message: "One of replace or merge."}}},
	&api.Error{Code: api.RateLimited, Message: "Wait.", RetryAfter: 41100 * time.Millisecond},
	&api.Error{Code: api.RateLimited, Message: "Wait.", RetryAfter: time.Millisecond},
	api.Errorf(api.Internal, "a message from inside"),
	api.Errorf(api.ProviderFailed, "Vercel did not answer."),
	api.Errorf(api.Sealed, "Sealed."),
	&api.Error{Code: api.Unavailable, Message: "GitHub cannot be reached.", RetryAfter: 30 * time.Second},
	api.Errorf(api.Timeout, "Too slow."),
	fmt.Errorf("wrapped: %w", api.Errorf(api.Conflict, "The inner message.")),
	errors.New("bolt: page 17 is broken"),
	fmt.Errorf("update: %w", context.DeadlineExceeded),
	&api.Error{Code: "made-up", Message: "a message from inside"},
	&api.Error{Code: api.NotFound},
}

func TestErrorsOnTheWire(t *testing.T) {
	var got bytes.Buffer
	for i, err := range samples {
		h := testFace(&doorman{}, route{post, "/v1/fail/:id", access.UserMe, inGeneral, refuse(err)})
		w := call(h, "POST", fmt.Sprintf("/v1/fail/%d%%20?token=hidden", i), "")
		fmt.Fprintf(&got, "# %v\n%d\n", err, w.Code)
		for _, name := range slices.Sorted(maps.Keys(w.Header())) {
			if name != "Content-Length" {
				fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(w.Header()[name], " | "))
			}
		}
		fmt.Fprintf(&got, "%s\n\n", w.Body)
	}
	golden(t, "testdata/errors.golden", got.Bytes())
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", file, diff)
	}
}

func TestProblemJSONOnlyOnRequest(t *testing.T) {
	h := testFace(&doorman{})
	for accept, want := range map[string]string{
		"":                         "application/json; charset=utf-8",
		"*/*":                      "application/json; charset=utf-8",
		"application/json":         "application/json; charset=utf-8",
		"application/problem+json": "application/problem+json",
		"application/json, Application/Problem+JSON;q=0.9": "application/problem+json",
	} {
		w := call(h, "GET", "/nowhere", "", "Accept", accept)
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept %q: got %s, want %s", accept, got, want)
		}
	}
}

func TestWhatIsNotOursStaysInside(t *testing.T) {
	var log bytes.Buffer
	f := newFace(Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, &doorman{}, false)
	h := f.router([]route{
		{get, "/broken", access.UserMe, inGeneral, refuse(errors.New("bolt: page 17"))},
		{get, "/panic", access.UserMe, inGeneral, func(*exchange) error { panic("c4n4ry") }},
		{get, "/nil", access.UserMe, inGeneral, func(x *exchange) error { x.route = nil; _ = x.route.path; return nil }},
	})
	for path, inside := range map[string]string{"/broken": "page 17", "/panic": "what=string", "/nil": "nil pointer"} {
		log.Reset()
		w := call(h, "GET", path, "")
		expectStatus(t, w, 500)
		if !strings.Contains(w.Body.String(), `"detail":"Something went wrong on our side.`) || strings.Contains(w.Body.String(), inside) {
			t.Errorf("%s: body %s", path, w.Body)
		}
		if text := log.String(); !strings.Contains(text, inside) || !strings.Contains(text, traceID) || strings.Contains(text, "c4n4ry") {
			t.Errorf("%s: log %s", path, text)
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("%s: %d lines about the error", path, n)
		}
	}
}

func TestEveryCodeHasItsPage(t *testing.T) {
	h := testFace(&doorman{state: api.StateSealed})
	for code, k := range kinds {
		w := call(h, "GET", "/errors/"+string(code), "", "Authorization", "")
		expectStatus(t, w, 200)
		e := explanations[code]
		if len(e.Head) < 10 || len(e.Means) < 30 || len(e.Do) < 2 || strings.Count(w.Body.String(), "<li>") != len(e.Do) {
			t.Errorf("%s explains little: %s", code, w.Body)
		}
		for _, part := range []string{"<!DOCTYPE html>\n<html lang=\"en\">", `<meta charset="utf-8">`,
			`<meta name="viewport" content="width=device-width, initial-scale=1">`,
			"<title>" + e.Head + " · coffer</title>", "<h1>" + e.Head + "</h1>",
			"<code>" + string(code) + "</code>: HTTP status " + strconv.Itoa(k.status) + ", " + k.title + ".", "</html>\n"} {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s lacks %s: %s", code, part, w.Body)
			}
		}
		expectOwnPage(t, w)
	}
	expectStatus(t, call(h, "GET", "/errors/made-up", ""), 404)
	if len(explanations) != len(kinds) {
		t.Errorf("%d explanations for %d codes", len(explanations), len(kinds))
	}
}

// ownModule is how a page names its module.
var ownModule = regexp.MustCompile(`<script type="module" src="(?:/base)?/static/[a-z]+\.[0-9a-f]{16}\.js"></script>`)

// expectOwnPage wants a page that closes what it opens, and needs nothing but our
// stylesheet, icon and module, and no room to the side.
func expectOwnPage(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	text := ownModule.ReplaceAllString(w.Body.String(), "")
	for _, part := range []string{"<script", "<style", "<img", "style=", "src=", "http-equiv", "<table", "://"} {
		if strings.Contains(text, part) {
			t.Errorf("page with %s: %s", part, text)
		}
	}
	if n := strings.Count(text, "<link"); n != 2 {
		t.Errorf("page with %d links to other files: %s", n, text)
	}
	var open []string
	for _, tag := range regexp.MustCompile(`</?[a-z0-9]+`).FindAllString(text, -1) {
		name := strings.TrimLeft(tag, "</")
		switch last := len(open) - 1; {
		case name == "meta", name == "link", name == "input":
		case !strings.HasPrefix(tag, "</"):
			open = append(open, name)
		case last < 0 || open[last] != name:
			t.Fatalf("%s closes %v: %s", tag, open, text)
		default:
			open = open[:last]
		}
	}
	for _, word := range strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")) {
		if len(word) > 45 {
			t.Errorf("the word %q is wider than a narrow screen", word)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); csp != pagePolicy || !strings.HasPrefix(csp, "default-src 'none'") ||
		!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	h := testFace(&doorman{})
	for err, want := range map[error]int{
		io.ErrUnexpectedEOF:    http.StatusBadRequest,
		os.ErrDeadlineExceeded: http.StatusGatewayTimeout,
	} {
		r, _ := http.NewRequest("POST", "/v1/secrets/push", io.MultiReader(strings.NewReader("{"), brokenReader{err}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		expectStatus(t, w, want)
	}
}

func TestRequestsThatTakeTooLong(t *testing.T) {
	f := newFace(Config{}, &doorman{}, false)
	f.patience = 50 * time.Millisecond
	wait := func(_ *warden.Warden, ctx context.Context, _ warden.Caller, _ api.Empty) error {
		<-ctx.Done()
		return ctx.Err()
	}
	server := httptest.NewServer(f.router([]route{{post, "/wait", access.UserMe, inGeneral, nothing(wait)}}))
	defer server.Close()
	endless, more := io.Pipe()
	defer more.Close()
	for name, body := range map[string]io.Reader{"a slow operation": nil, "a slow body": endless} {
		r, _ := http.NewRequest("POST", server.URL+"/wait", body)
		r.Header.Set("Authorization", "Bearer t")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%s: got %s", name, answer.Status)
		}
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }
