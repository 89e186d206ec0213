package openapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coffer/server/httpd/openapitest"
)

// notebook is a test that goes on when something is wrong.
type notebook struct {
	testing.TB
	said []string
}

func (n *notebook) Errorf(format string, args ...any) {
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

const goodUser = `{"data":{"id":"0193a1b2-0000-7000-8000-00000000abcd","forgeType":"local","forgeUserId":"1","username":"ann",` +
	`"email":null,"avatarUrl":null,"plan":"team","createdAt":"2026-11-20T09:15:00.123Z"},"meta":{"requestId":"0193a1b2-0000-7000-8000-00000000abcd"}}`

func TestTransportReportsWhatIsNotDescribed(t *testing.T) {
	for name, c := range map[string]struct {
		call, sent  string
		status      int
		body        string
		header, out string // a header to set instead, and what is said
	}{
		"as described":           {call: "GET /v1/users/me", status: 200, body: goodUser},
		"another member name":    {call: "GET /v1/users/me", status: 200, body: strings.Replace(goodUser, `"plan"`, `"tier"`, 1), out: "missing property 'plan'"},
		"one member more":        {call: "GET /v1/users/me", status: 200, body: strings.Replace(goodUser, `"email"`, `"phone":"1","email"`, 1), out: "'/data/phone': not described"},
		"one member of meta":     {call: "GET /v1/users/me", status: 200, body: strings.Replace(goodUser, `"meta":{`, `"meta":{"took":1,`, 1), out: "'/meta/took': not described"},
		"a null":                 {call: "GET /v1/users/me", status: 200, body: strings.Replace(goodUser, `"team"`, `null`, 1), out: "/data/plan"},
		"another form of a time": {call: "GET /v1/users/me", status: 200, body: strings.Replace(goodUser, `.123Z`, `Z`, 1), out: "/data/createdAt"},
		"another status":         {call: "GET /v1/users/me", status: 202, body: goodUser, out: "no such answer"},
		"no error of that name":  {call: "GET /v1/users/me", status: 403, body: `{"type":"https://v/errors/no"}`, out: "forbidden"},
		"a type not described":   {call: "GET /v1/users/me", status: 200, body: goodUser, header: "Content-Type: text/html", out: "Content-Type"},
		"no id":                  {call: "GET /v1/users/me", status: 200, body: goodUser, header: "X-Request-ID: ", out: "no header X-Request-ID"},
		"a header as a word":     {call: "GET /v1/users/me", status: 200, body: goodUser, header: "X-RateLimit-Limit: many", out: "header X-RateLimit-Limit"},
		"no such address":        {call: "GET /v1/users/you", status: 200, body: goodUser, out: "not described"},
		"no such method":         {call: "PUT /v1/users/me", status: 200, body: goodUser, out: "not described"},
		"a word not described":   {call: "DELETE /v1/vaults/ann/api", status: 204, body: "", header: "Cache-Control: public", out: "header Cache-Control"},
		"a lax query":            {call: "GET /v1/vaults?limit=1000", status: 200, body: emptyPage, out: "accepted with parameter limit"},
		"a lax path":             {call: "DELETE /v1/vaults/a%20b/api", status: 204, out: "accepted with parameter owner"},
		"a lax body":             {call: "POST /v1/sys/unseal", sent: `{"key":1}`, status: 204, out: "accepted with a body"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(saying(c.status, c.body, c.header))
			defer server.Close()
			n := &notebook{TB: t}
			method, target, _ := strings.Cut(c.call, " ")
			req, _ := http.NewRequest(method, server.URL+target, strings.NewReader(c.sent))
			res, err := openapitest.Transport(n, nil).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got, _ := io.ReadAll(res.Body); string(got) != c.body {
				t.Errorf("the body became %q", got)
			}
			if said := strings.Join(n.said, "\n"); c.out == "" && said != "" || !strings.Contains(said, c.out) {
				t.Errorf("said %q, want %q", said, c.out)
			}
		})
	}
}

// saying is a server with one answer, and a header set that is not as usual.
func saying(status int, body, header string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Request-ID", noID)
		if name, value, _ := strings.Cut(header, ": "); value != "" {
			h.Set(name, value)
		} else {
			h.Del(name)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

const emptyPage = `{"data":[],"meta":{"requestId":"0193a1b2-0000-7000-8000-00000000abcd","pagination":{"limit":1000,"offset":0,"total":0,"hasMore":false}}}`
