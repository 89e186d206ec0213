package openapitest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/httpd/openapi"
	"coffer/server/httpd/openapitest"
	"coffer/server/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// world is an instance, and what the story has made in it.
type world struct {
	t   *testing.T
	in  *servertest.Instance
	url string

	jwt       string // of ann
	cookie    string // of ann's browser
	key       string // of ann, with all scopes
	elsewhere string // of ann, for another address

	secret, version, override, made, share string

	vercel *hosting // where values go
}

func newWorld(t *testing.T) *world {
	v, backups := newHosting(t), t.TempDir()
	in := servertest.New(t, func(c *server.Config) { c.Metrics.Token, c.Backup.To = "figures", backups }, v.reach).Validate()
	_, err := in.Operator.AddLocalUser(t.Context(), api.AddLocalUser{Username: "ann", Password: api.NewSecret(servertest.Password)})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, in: in, url: in.URL, vercel: v}
}

// onPlan is another world, in which ann has a vault and the smallest plan.
func (w *world) onPlan(plan string) *world {
	in := servertest.New(w.t, func(c *server.Config) { c.Plans.Default = plan }).Validate()
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	return &world{t: w.t, in: in, url: in.URL, jwt: ann.Token}
}

// boundTo is another world, bound to a code host that nobody asks.
func (w *world) boundTo(kind, webhookSecret string) *world {
	in := servertest.New(w.t, func(c *server.Config) {
		c.Forge = server.ForgeConfig{Kind: kind, URL: "http://127.0.0.1:1", WebhookSecret: webhookSecret}
	}).Validate()
	return &world{t: w.t, in: in, url: in.URL}
}

// paid is another world, which is a paid service, with the organization acme of
// ann's.
func (w *world) paid(stripe *stripetest.Server) *world {
	in := servertest.New(w.t, func(c *server.Config) {
		c.Billing.Stripe = server.StripeConfig{SecretKey: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIURL: stripe.URL,
			Prices: []server.PlanPrice{{Plan: "team", Price: "price_1"}}}
	}).Validate()
	in.User("ann")
	p := &world{t: w.t, in: in, url: in.URL, jwt: in.SignIn("ann").Token}
	p.operator("POST /v1/operator/orgs", `{"name":"acme"}`, 201)
	p.operator("PUT /v1/operator/orgs/members", `{"org":"acme","username":"ann","role":"owner"}`, 204)
	return p
}

// boot starts a server that is not set up.
func (w *world) boot() (fresh *world, claim string) {
	w.t.Helper()
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", Data: w.t.TempDir(), Log: server.LogConfig{Output: io.Discard}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	w.t.Cleanup(func() {
		cancel()
		if err := cmp.Or(<-ended, s.Close()); err != nil {
			w.t.Error(err)
		}
	})
	return &world{t: w.t, url: "http://" + s.Addr()}, s.ClaimToken()
}

type answer struct {
	header http.Header
	body   []byte
}

// ask asks as ann. Headers are pairs.
func (w *world) ask(call, body string, status int, headers ...string) answer {
	w.t.Helper()
	return w.as(w.jwt, call, body, status, headers...)
}

// as asks with a token.
func (w *world) as(token, call, body string, status int, headers ...string) answer {
	w.t.Helper()
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	return w.send(openapitest.Transport(w.t, nil), w.url, call, body, status, headers)
}

// signIn signs ann in in a browser.
func (w *world) signIn() {
	w.t.Helper()
	b := w.in.Browser()
	b.SignIn("ann")
	w.cookie = "coffer_session=" + b.Cookie("coffer_session", "/")
}

// browser asks in ann's browser.
func (w *world) browser(call, body string, status int, headers ...string) answer {
	w.t.Helper()
	return w.as("", call, body, status, append(headers, "Cookie", w.cookie)...)
}

// operator asks over the operator's way in.
func (w *world) operator(call, body string, status int, headers ...string) answer {
	w.t.Helper()
	return w.send(w.in.Operator.Transport, "http://operator", call, body, status, headers)
}

func (w *world) send(transport http.RoundTripper, base, call, body string, status int, headers []string) answer {
	w.t.Helper()
	call = strings.NewReplacer("{V}", "/v1/vaults/ann/api", "{secret}", w.secret, "{version}", w.version,
		"{override}", w.override, "{made}", w.made).Replace(call)
	method, target, _ := strings.Cut(call, " ")
	req, err := http.NewRequestWithContext(w.t.Context(), method, base+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		w.t.Fatalf("%s: %v", call, err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		w.t.Fatalf("%s: got %d, want %d: %s (%v)", call, res.StatusCode, status, got, err)
	}
	return answer{res.Header, got}
}

// text is the value at a dotted path of an answer's data.
func (w *world) text(a answer, at string) string {
	w.t.Helper()
	var body struct{ Data any }
	if err := json.Unmarshal(a.body, &body); err != nil {
		w.t.Fatal(err)
	}
	v := body.Data
	for step := range strings.SplitSeq(at, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(in) {
				w.t.Fatalf("no %s in %s", at, a.body)
			}
			v = in[i]
		}
	}
	return fmt.Sprint(v)
}

// described is an operation of the document, with a request for it.
type described struct {
	method, path string
	target       string // the path, filled with what is there
	nowhere      string // the path, filled with what is not
	body         string
	scoped       bool // it takes a credential
	operator     bool
	session      bool   // it takes a session of the web UI only
	wrong        string // a body that breaks a rule
	wrongQuery   string
	statuses     []string
}

const noID = "0193a1b2-0000-7000-8000-00000000abcd"

// operations are all operations but those that change what the others need.
func (w *world) operations() []described {
	w.t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openapi.Document(w.url), &doc); err != nil {
		w.t.Fatal(err)
	}
	there := strings.NewReplacer("{owner}", "ann", "{repo}", "api", "{secretId}", w.secret, "{versionId}", w.version,
		"{id}", w.override, "{name}", "staging", "{org}", "acme", "{slug}", "conflict", "{provider}", "vercel")
	gone := strings.NewReplacer("{owner}", "ann", "{repo}", "nowhere", "{secretId}", noID, "{versionId}", noID,
		"{id}", noID, "{name}", "nowhere", "{org}", "nowhere", "{slug}", "nowhere", "{provider}", "nowhere")
	var all []described
	for path, item := range doc.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				OperationID string
				Scope       *[]string `json:"x-scope"`
				Credentials string    `json:"x-credentials"`
				Responses   map[string]any
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				w.t.Fatal(err)
			}
			d := described{method: strings.ToUpper(method), path: path, target: there.Replace(path), nowhere: gone.Replace(path) + queries[op.OperationID],
				body: bodies[op.OperationID], scoped: op.Scope != nil, operator: strings.HasPrefix(op.Credentials, "operator"),
				session: op.Credentials == "session", wrong: cmp.Or(wrongBodies[op.OperationID], "{}"), wrongQuery: cmp.Or(wrongQueries[op.OperationID], "?limit=0")}
			for status := range op.Responses {
				d.statuses = append(d.statuses, status)
			}
			slices.Sort(d.statuses)
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b described) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method)) })
	return all
}

// bodies are well-formed bodies, for errors that come after reading them.
var bodies = map[string]string{
	"setSecret":          `{"key":"A","value":"","environment":"staging"}`,
	"changeSecret":       `{"value":""}`,
	"createEnvironment":  `{"name":"more"}`,
	"renameEnvironment":  `{"newName":"more"}`,
	"moveEnvironment":    `{"displayOrder":0}`,
	"retypeEnvironment":  `{"type":"standard"}`,
	"createOverride":     `{"environment":"*","targetType":"role","targetRole":"read","canRead":true,"canWrite":true}`,
	"changeOverride":     `{"canRead":true}`,
	"changeOrganization": `{"displayName":"x"}`,
	"checkInstallation":  `{"repoOwner":"ann","repoName":"nowhere"}`,
	"openCheckout":       `{"priceId":"price_1","successUrl":"https://vault.example/a","cancelUrl":"https://vault.example/a"}`,
	"openPortal":         `{"returnUrl":"https://vault.example/a"}`,
	"connect":            `{"token":"x"}`,
	"sync":               `{"connectionId":"x","projectId":"x"}`,
	"saveSyncLink":       `{"connectionId":"x","projectId":"x"}`,
}

// queries are what a request for nothing that is there has to say all the same.
var queries = map[string]string{
	"previewSync":   "?connectionId=x&projectId=x",
	"getSyncStatus": "?connectionId=x&projectId=x",
	"diffSync":      "?connectionId=x&projectId=x",
}

// wrongQueries break a rule where there is no limit to be 0.
var wrongQueries = map[string]string{"authorizeProvider": "?redirect_uri=nowhere"}

// wrongBodies break a rule where an empty object breaks none.
var wrongBodies = map[string]string{
	"startDeviceLogin":   `{"repository":"x"}`,
	"makeBackup":         `{"passphrase":"short"}`,
	"removeUnsealMethod": `{"proof":{"key":"x","passphrase":"y"}}`,
}
