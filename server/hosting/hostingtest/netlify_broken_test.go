package hostingtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"coffer/server/hosting/hostingtest"
)

func TestNetlifyKeepsTheRules(t *testing.T) {
	hostingtest.Run(t, func(t *testing.T) *hostingtest.Host { return newNetlify(t).Host })
}

// tamper carries requests to Netlify and answers from it as a broken client would
// send and read them.
type tamper struct {
	request func(*http.Request)
	answer  func(*http.Request, *http.Response)
}

func (b tamper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r = r.Clone(r.Context()); b.request != nil {
		b.request(r)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && b.answer != nil {
		b.answer(r, res)
	}
	return res, err
}

// rewrite changes the text of a body.
func rewrite(body io.ReadCloser, change func([]byte) []byte) (io.ReadCloser, int64) {
	text, err := io.ReadAll(body)
	if err != nil {
		return io.NopCloser(bytes.NewReader(nil)), 0 // an answer that was cut off stays a bad one
	}
	text = change(text)
	return io.NopCloser(bytes.NewReader(text)), int64(len(text))
}

func isEnv(r *http.Request) bool { return strings.Contains(r.URL.Path, "/env") }

// put sends what should set one value as if it were the whole variable.
func put(r *http.Request) {
	if r.Method != http.MethodPatch {
		return
	}
	r.Method = http.MethodPut
	r.Body, r.ContentLength = rewrite(r.Body, func(value []byte) []byte {
		return fmt.Appendf(nil, `{"key":%q,"values":[%s]}`, path.Base(r.URL.Path), value)
	})
}

// unsplit reads instead of setting the values of other contexts than production.
func unsplit(r *http.Request) {
	if r.Method != http.MethodPatch {
		return
	}
	var value struct{ Context string }
	r.Body, r.ContentLength = rewrite(r.Body, func(text []byte) []byte {
		_ = json.Unmarshal(text, &value) // our own
		return text
	})
	if value.Context != "production" {
		r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0
	}
}

// wide deletes the variable whose value should be deleted.
func wide(r *http.Request) {
	if key, _, ok := strings.Cut(r.URL.Path, "/value/"); ok {
		r.URL.Path, r.URL.RawPath = key, ""
	}
}

// forgetSite writes what all sites of the team share.
func forgetSite(r *http.Request) {
	if isEnv(r) && r.Method != http.MethodGet {
		r.URL.RawQuery = ""
	}
}

// emptyIsGone deletes what should become empty.
func emptyIsGone(r *http.Request) {
	if r.Method != http.MethodPatch {
		return
	}
	empty := false
	r.Body, r.ContentLength = rewrite(r.Body, func(text []byte) []byte {
		empty = bytes.Contains(text, []byte(`"value":""`))
		return text
	})
	if empty {
		r.Method, r.Body, r.ContentLength = http.MethodDelete, nil, 0
	}
}

func firstPage(_ *http.Request, res *http.Response) { res.Header.Del("Link") }

// gullible takes what it gets of a secret for its value.
func gullible(r *http.Request, res *http.Response) {
	if isEnv(r) {
		res.Body, res.ContentLength = rewrite(res.Body, func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte(`"is_secret":true`), []byte(`"is_secret":false`))
		})
	}
}

// deaf does not hear how long to wait.
func deaf(_ *http.Request, res *http.Response) {
	res.Header.Del("X-Ratelimit-Reset")
	res.Header.Del("Retry-After")
}

// certain takes any answer to a change for a success.
func certain(r *http.Request, res *http.Response) {
	if isEnv(r) && r.Method == http.MethodDelete {
		res.StatusCode = http.StatusNoContent
	}
}

func TestTheRulesSeeWhatIsWrongWithNetlify(t *testing.T) {
	for name, broken := range map[string]struct {
		tamper
		rules []string
	}{
		"replaces variables": {tamper{request: put}, []string{
			"what is written takes effect here and nowhere else", "writing a shared record leaves the others theirs", "writing a hidden value keeps it hidden",
		}},
		"does not split what is for all": {tamper{request: unsplit}, []string{
			"writing a shared record leaves the others theirs", "deleting a shared record leaves the others theirs",
		}},
		"deletes variables, not values": {tamper{request: wide}, []string{
			"a delete takes what it was told to and nothing else", "deleting a shared record leaves the others theirs", "writing a shared record leaves the others theirs",
		}},
		"forgets the site":             {tamper{request: forgetSite}, []string{"what is written takes effect here and nowhere else", "an empty value is a value"}},
		"takes empty values for none":  {tamper{request: emptyIsGone}, []string{"an empty value is a value"}},
		"takes the first page for all": {tamper{answer: firstPage}, []string{"projects are listed over all pages"}},
		"takes masks for values":       {tamper{answer: gullible}, []string{"hidden values are not readable"}},
		"does not wait":                {tamper{answer: deaf}, []string{"a provider that was asked too often is asked again when it says"}},
		"takes all for deleted": {tamper{answer: certain}, []string{
			"an answer that makes no sense is no success", "a call that fails is told of truthfully, and a second run mends it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hostingtest.Broken(t, func(t *testing.T) *hostingtest.Host {
				h := newNetlify(t)
				h.transport = broken.tamper
				return h.Host
			}, broken.rules...)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(broken.rules)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}
