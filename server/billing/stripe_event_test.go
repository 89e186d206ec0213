package billing

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/billing/stripetest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestEventsOfEveryVersionAreRead(t *testing.T) {
	for _, version := range []string{stripetest.Version, "2024-06-20", "2019-12-03"} {
		s := newShop(t)
		s.SetNow(func() time.Time { return noon })
		s.EventsIn(version)
		customer := s.customer(t, "org1")
		at, err := s.Checkout(t.Context(), request(customer))
		if err != nil {
			t.Fatal(err)
		}
		sub := s.Complete(at)
		for _, status := range []Status{PastDue, Active, Paused, Active, Canceled} {
			s.Move(sub, string(status))
		}
		s.DeleteCustomer(customer)
		s.Emit("product.created", map[string]any{"id": "prod_1", "customer": 7, "metadata": "none"})
		seen := map[Topic]bool{}
		for _, e := range s.Pending() {
			got, err := s.Event(s.Sign(e.Body), e.Body, noon)
			want := Event{ID: e.ID, Topic: Topic(e.Type), Created: noon, Customer: customer, Subscription: sub, OrgID: "org1"}
			if got.Topic == CustomerDeleted {
				want.Subscription = ""
			}
			if !got.Topic.Matters() {
				want.Customer, want.Subscription, want.OrgID = "", "", ""
			}
			if got.Topic == InvoicePaid || got.Topic == InvoicePaymentFailed {
				want.OrgID = ""
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %s: %v, %s", version, e.Type, err, diff)
			}
			seen[got.Topic] = true
		}
		if len(seen) != 10 {
			t.Errorf("%s: saw %v", version, seen)
		}
	}
}

func TestEventsAreReadLeniently(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Event
	}{
		{"whole objects", `{"id":"evt_1","type":"checkout.session.completed","created":1,"data":{"object":
			{"customer":{"id":"cus_1","object":"customer"},"subscription":{"id":"sub_1"},"client_reference_id":"org1"}}}`,
			Event{ID: "evt_1", Topic: CheckoutCompleted, Created: time.Unix(1, 0).UTC(), Customer: "cus_1", Subscription: "sub_1", OrgID: "org1"}},
		{"nothing", `{"id":"evt_1","type":"invoice.paid","data":{"object":{"customer":null,"subscription":null,"parent":null,"metadata":null}}}`,
			Event{ID: "evt_1", Topic: InvoicePaid}},
		{"other types", `{"id":"evt_1","type":"invoice.paid","created":"now","data":{"object":
			{"customer":[1],"metadata":[{}],"parent":{"subscription_details":{"metadata":7,"subscription":"sub_1"}}}}}`,
			Event{ID: "evt_1", Topic: InvoicePaid, Subscription: "sub_1"}},
		{"no object", `{"id":"evt_1","type":"customer.deleted","data":{"object":"cus_1"}}`, Event{ID: "evt_1", Topic: CustomerDeleted}},
		{"no data", `{"id":"evt_1","type":"customer.deleted"}`, Event{ID: "evt_1", Topic: CustomerDeleted}},
		{"a new kind", `{"id":"evt_1","object":"v2.core.event","type":"v1.billing.meter.error","data":[]}`,
			Event{ID: "evt_1", Topic: "v1.billing.meter.error"}},
	} {
		got, err := readEvent([]byte(tt.body))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", tt.name, err, diff)
		}
	}
	for _, body := range []string{"", "null", "[]", "7", "{", `{"id":"evt_1"}`, `{"type":"invoice.paid"}`, `{"id":7,"type":"invoice.paid"}`,
		`{"id":"evt 1","type":"invoice.paid"}`, `{"id":"` + strings.Repeat("e", 256) + `","type":"invoice.paid"}`, `{"id":"evt_1","type":"invoice.paid"} {}`} {
		if got, err := readEvent([]byte(body)); !errors.Is(err, ErrEvent) || got != (Event{}) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func TestSignatures(t *testing.T) {
	s := newShop(t)
	s.SetNow(func() time.Time { return noon })
	body := []byte(`{"id":"evt_1","type":"invoice.paid"}`)
	second := time.Second
	for _, tt := range []struct {
		name string
		how  stripetest.Signing
		ok   bool
	}{
		{"right", stripetest.Signing{}, true},
		{"two, the right one last", stripetest.Signing{Also: "whsec_other"}, true},
		{"two, the right one first", stripetest.Signing{Also: stripetest.WebhookSecret, Secret: "whsec_other"}, true},
		{"two wrong ones", stripetest.Signing{Also: "whsec_other", Secret: "whsec_another"}, false},
		{"another secret", stripetest.Signing{Secret: "whsec_other"}, false},
		{"300 s old", stripetest.Signing{Age: 300 * second}, true},
		{"301 s old", stripetest.Signing{Age: 301 * second}, false},
		{"300 s ahead", stripetest.Signing{Age: -300 * second}, true},
		{"301 s ahead", stripetest.Signing{Age: -301 * second}, false},
	} {
		s.SignWith(tt.how)
		_, err := s.Event(s.Sign(body), body, noon)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	s.SignWith(stripetest.Signing{})
	right := s.Sign(body)
	at, v1, _ := strings.Cut(right, ",")
	v1, v0, _ := strings.Cut(v1, ",")
	for _, header := range []string{
		"", ",", "t", at, v1, v0, at + "," + v0, strings.ToUpper(at) + "," + v1, "t=," + v1, "t=x," + v1, at + "," + at + "," + v1,
		"t=1," + v1, at + "," + v1[:len(v1)-2], at + "," + v1 + "00", at + ",v1=,v1=zz", at + ",v1", at + "," + v1 + ",", "t=99999999999999999999," + v1,
		fmt.Sprintf("t=%d,%s", noon.Unix()+1, v1),
	} {
		if _, err := s.Event(header, body, noon); !errors.Is(err, ErrSignature) {
			t.Errorf("%q: got %v", header, err)
		}
	}
	for _, header := range []string{v1 + "," + at, at + ",v1=zz," + v1, at + ",v2=1," + v1} {
		if _, err := s.Event(header, body, noon); err != nil {
			t.Errorf("%q: got %v", header, err)
		}
	}
	if _, err := s.Event(right, append(slices.Clone(body), ' '), noon); !errors.Is(err, ErrSignature) {
		t.Errorf("another body: got %v", err)
	}
	if _, err := s.Event(s.Sign([]byte("no event")), []byte("no event"), noon); !errors.Is(err, ErrEvent) {
		t.Errorf("no event: got %v", err)
	}
}

func TestTheErrorsOfDeliveriesTellNothing(t *testing.T) {
	s := newShop(t)
	body := []byte(`{"id":"evt_secret"}`)
	for _, header := range []string{"t=secret,v1=secret", s.Sign(body)} {
		_, err := s.Event(header, body, time.Now())
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), stripetest.WebhookSecret) {
			t.Errorf("got %v", err)
		}
	}
}

// FuzzEvent looks for a delivery that makes the reader fall over, or lets something
// through that we could not keep.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"id":"evt_1","type":"invoice.paid","created":1,"data":{"object":{"customer":{"id":"cus_1"},"parent":{"subscription_details":{"subscription":"sub_1"}}}}}`))
	f.Add([]byte(`{"id":"evt_1","type":"customer.deleted","data":{"object":[]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := readEvent(body)
		switch {
		case err != nil && (!errors.Is(err, ErrEvent) || e != Event{}):
			t.Errorf("got %+v, %v", e, err)
		case err == nil && (e.ID == "" || len(e.ID) > 255 || e.Topic == "" || !json.Valid(body)):
			t.Errorf("got %+v of %q", e, body)
		}
	})
}

// FuzzSignature looks for a header that passes without the secret.
func FuzzSignature(f *testing.F) {
	secret, body := api.NewSecret("whsec_1"), []byte(`{"id":"evt_1"}`)
	f.Add(fmt.Sprintf("t=%d,v1=00", noon.Unix()))
	f.Add("t=0,v1=,v1")
	f.Fuzz(func(t *testing.T, header string) {
		if err := verify(secret, header, body, noon); !errors.Is(err, ErrSignature) {
			t.Errorf("%q: got %v", header, err)
		}
	})
}
