package stripetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"coffer/server/billing/stripetest"
)

// TestAnswersHaveTheFormOfStripes holds every kind of answer against what Stripe's
// own stand-in says to the same: there is nothing in ours that is not in its, and
// nothing of another type.
func TestAnswersHaveTheFormOfStripes(t *testing.T) {
	mock := stripetest.Mock(t)
	s := stripetest.New(t, stripetest.Price{ID: "price_1", LookupKey: "team", Amount: 1500, Currency: "eur", Interval: "month"})
	customer := ask(t, s.URL, "POST /v1/customers", url.Values{"name": {"Acme"}})["id"].(string)
	sub := s.Subscribe(customer, "price_1", "org1")
	s.Change(sub, func(sub *stripetest.Subscription) { sub.CancelAt = sub.PeriodEnd })
	for call, form := range map[string]url.Values{
		"POST /v1/customers": {"name": {"Acme"}, "metadata[org_id]": {"org1"}},
		"POST /v1/checkout/sessions": {
			"mode": {"subscription"}, "customer": {customer}, "line_items[0][price]": {"price_1"}, "line_items[0][quantity]": {"1"},
			"success_url": {"https://coffer.example/"}, "cancel_url": {"https://coffer.example/"}, "client_reference_id": {"org1"},
			"metadata[org_id]": {"org1"}, "subscription_data[metadata][org_id]": {"org1"},
		},
		"POST /v1/billing_portal/sessions":                              {"customer": {customer}, "return_url": {"https://coffer.example/"}},
		"GET /v1/subscriptions/" + sub:                                  nil,
		"GET /v1/subscriptions?status=all&limit=1&customer=" + customer: nil,
		"GET /v1/prices/price_1":                                        nil,
		"GET /v1/prices?active=true&limit=1&lookup_keys[0]=team":        nil,
	} {
		within(t, call, ask(t, s.URL, call, form), ask(t, mock, call, form))
	}
	for _, e := range s.Pending() {
		var event map[string]any
		if err := json.Unmarshal(e.Body, &event); err != nil {
			t.Fatal(err)
		}
		object := event["data"].(map[string]any)["object"].(map[string]any)
		kind, _, _ := strings.Cut(strings.TrimPrefix(e.Type, "customer."), ".")
		within(t, e.Type, object, ask(t, mock, fmt.Sprintf("GET /v1/%ss/%s", kind, object["id"]), nil))
		event["data"] = map[string]any{"object": map[string]any{}}
		within(t, e.Type, event, ask(t, mock, "GET /v1/events/"+e.ID, nil))
	}
}

func ask(t *testing.T, at, call string, form url.Values) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+stripetest.Key)
	req.Header.Set("Stripe-Version", stripetest.Version)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v, %v", call, res.StatusCode, body, err)
	}
	return body
}

// within wants every member of ours to be in theirs, with the same type unless one
// of the two is null.
func within(t *testing.T, at string, ours, theirs any) {
	t.Helper()
	switch o := ours.(type) {
	case map[string]any:
		if them, ok := theirs.(map[string]any); ok {
			for name, value := range o {
				other, ok := them[name]
				if !ok && !strings.HasSuffix(at, "metadata") {
					t.Errorf("%s: Stripe has no %s", at, name)
				}
				within(t, at+"."+name, value, other)
			}
			return
		}
	case []any:
		if them, ok := theirs.([]any); ok {
			if len(o) > 0 && len(them) > 0 {
				within(t, at+"[0]", o[0], them[0])
			}
			return
		}
	}
	if ours != nil && theirs != nil && fmt.Sprintf("%T", ours) != fmt.Sprintf("%T", theirs) {
		t.Errorf("%s: %v, but at Stripe it is %v", at, ours, theirs)
	}
}
