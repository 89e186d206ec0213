package billing

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/billing/stripetest"
)

// heard keeps what was answered at every path.
type heard map[string]any

func (h heard) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, err
	}
	h[r.Method+" "+r.URL.Path] = value
	return res, nil
}

// TestStripesOwnStandIn holds the client against Stripe's description of its API in
// the version that we ask for.
func TestStripesOwnStandIn(t *testing.T) {
	at := stripetest.Mock(t)
	t.Run("takes our calls", func(t *testing.T) { testMockTakesCalls(t, at) })
	t.Run("has what events are about", func(t *testing.T) { testMockHasSubjects(t, at) })
	t.Run("refuses", func(t *testing.T) { testMockRefuses(t, at) })
}

// testMockTakesCalls has the names and values of all parameters checked, and then
// that every field that we read is there.
func testMockTakesCalls(t *testing.T, at string) {
	answers := heard{}
	p, err := NewStripe(StripeConfig{APIURL: at, Key: api.NewSecret("sk_test_123"), WebhookSecret: api.NewSecret("whsec_1"), Transport: answers})
	if err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(t.Context(), p) {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	if _, err := p.CreateCustomer(t.Context(), Customer{OrgID: "org1", Name: "Acme"}); err != nil {
		t.Error(err)
	}
	for path, kind := range map[string]any{
		"POST /v1/customers": struct {
			ID string `json:"id"`
		}{},
		"POST /v1/checkout/sessions": struct {
			URL string `json:"url"`
		}{},
		"POST /v1/billing_portal/sessions": struct {
			URL string `json:"url"`
		}{},
		"GET /v1/subscriptions/sub_1": stripeSubscription{},
		"GET /v1/subscriptions":       listOf[stripeSubscription]{},
		"GET /v1/prices/price_1":      stripePrice{},
		"GET /v1/prices":              listOf[stripePrice]{},
	} {
		if answers[path] == nil {
			t.Errorf("%s was not asked", path)
		}
		hold(t, path, reflect.TypeOf(kind), answers[path])
	}
}

// listOf is the form of a list.
type listOf[T any] struct {
	Object string `json:"object"`
	Data   []T    `json:"data"`
	More   bool   `json:"has_more"`
}

// testMockHasSubjects holds what is read of an event's object against that object.
func testMockHasSubjects(t *testing.T, at string) {
	for path, members := range map[string][]string{
		"/v1/events/evt_1":              {"id", "type", "created", "data"},
		"/v1/checkout/sessions/cs_1":    {"id", "customer", "subscription", "client_reference_id", "metadata"},
		"/v1/subscriptions/sub_1":       {"id", "customer", "metadata"},
		"/v1/invoices/in_1":             {"id", "customer", "parent"},
		"/v1/customers/cus_1":           {"id"},
		"/v1/billing_portal/sessions/1": nil, // there is no such call: the mock must say so
	} {
		body, status := askMock(t, at, http.MethodGet, path, nil)
		if (status == http.StatusOK) != (members != nil) {
			t.Errorf("%s: status %d", path, status)
		}
		for _, name := range members {
			if _, ok := body[name]; !ok {
				t.Errorf("%s has no %s", path, name)
			}
		}
		if path == "/v1/invoices/in_1" {
			parent, _ := reflect.TypeFor[stripeSubject]().FieldByName("Parent")
			hold(t, path, parent.Type, body["parent"])
		}
	}
}

// testMockRefuses says that the tests before this one can fail.
func testMockRefuses(t *testing.T, at string) {
	for name, form := range map[string]url.Values{
		"an unknown name": {"org_id": {"org1"}},
		"a wrong type":    {"metadata": {"org1"}},
	} {
		if _, status := askMock(t, at, http.MethodPost, "/v1/customers", form); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if _, status := askMock(t, at, http.MethodPost, "/v1/checkout/sessions", url.Values{"mode": {"rent"}}); status != http.StatusBadRequest {
		t.Errorf("an unknown value: status %d", status)
	}
}

func askMock(t *testing.T, at, method, path string, form url.Values) (map[string]any, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk_test_123")
	req.Header.Set("Stripe-Version", stripeVersion)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body, res.StatusCode
}

// hold wants a value to have every member that a type reads, of a kind that it can
// read; what is null can be anything.
func hold(t *testing.T, at string, kind reflect.Type, value any) {
	t.Helper()
	switch v := value.(type) {
	case nil:
		return
	case map[string]any:
		if kind == reflect.TypeFor[stripeMeta]() {
			return // what is in it is ours
		}
		if kind.Kind() == reflect.Struct {
			for field := range kind.Fields() {
				name := field.Tag.Get("json")
				inner, ok := v[name]
				old := kind == reflect.TypeFor[stripeSubscription]() && name == "current_period_end"
				if ok == old {
					t.Errorf("%s.%s: there is one: %v", at, name, ok)
				}
				hold(t, at+"."+name, field.Type, inner)
			}
			return
		}
	case []any:
		if kind.Kind() == reflect.Slice && len(v) > 0 {
			hold(t, at+"[0]", kind.Elem(), v[0])
			return
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, reflect.New(kind).Interface()); err != nil || kind == reflect.TypeFor[ref]() && text[0] != '"' {
		t.Errorf("%s: %s is no %v: %v", at, text, kind, err)
	}
}
