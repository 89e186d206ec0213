package billing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/standin"
)

// said answers with a status, a body and headers, of Stripe's words unless the body
// is HTML.
func said(status int, body string, header ...string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		kind := "application/json"
		if strings.HasPrefix(body, "<") {
			kind = "text/html"
		}
		rw.Header().Set("Content-Type", kind)
		rw.Header().Set("Request-Id", "req_1")
		for i := 0; i < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}
}

const denied = `{"error":{"type":"invalid_request_error","message":"TEXT of Stripe's","code":"some","param":"some"}}`

func TestWhatIsAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault standin.Fault
		calls int // of one question
	}{
		{"a lock", said(409, denied), tries},
		{"too many", said(429, denied), tries},
		{"an error", said(500, denied), tries},
		{"an error of a proxy", said(502, "<html>"), tries},
		{"an error that stays", said(500, denied, "Stripe-Should-Retry", "false"), 1},
		{"a lock that stays", said(409, denied, "Stripe-Should-Retry", "false"), 1},
		{"a refusal that passes", said(400, denied, "Stripe-Should-Retry", "true"), tries},
		{"a remembered error", said(500, denied, "Idempotent-Replayed", "true"), 1},
		{"a refusal", said(400, denied), 1},
		{"a wrong key", said(401, denied), 1},
		{"a proxy", said(404, "<html>"), 1},
		{"a cut", standin.CutOff, tries},
	} {
		s := newShop(t)
		s.Break("/v1/", tt.fault)
		if _, err := s.Payments.Subscription(t.Context(), "sub_1"); err == nil || s.Calls("/v1/") != tt.calls {
			t.Errorf("%s: %d calls, %v", tt.name, s.Calls("/v1/"), err)
		}
	}
}

func TestNoFaultIsMistakenForAnAnswer(t *testing.T) {
	var (
		down   *Unavailable
		no     *Refused
		lost   = func(err error) bool { return errors.As(err, &down) }
		turned = func(err error) bool { return errors.Is(err, ErrCredential) }
	)
	for name, tt := range map[string]struct {
		fault standin.Fault
		want  func(error) bool
	}{
		"hollow":        {standin.Hollow, lost},
		"empty":         {said(200, ""), lost},
		"null":          {said(200, "null"), lost},
		"a list":        {said(200, "[]"), lost},
		"other types":   {said(200, `{"id":7,"url":7,"object":"list","data":{}}`), lost},
		"no address":    {said(200, `{"url":"javascript:alert(1)"}`), lost},
		"hollow items":  {said(200, `{"object":"list","data":[{}]}`), lost},
		"truncated":     {said(200, `{"id":"sub_1","url":"https://a.exam`), lost},
		"HTML":          {standin.HTML, lost},
		"huge":          {said(200, strings.Repeat(" ", maxAnswer)+`{"id":"x"}`), lost},
		"away":          {standin.Lost, lost},
		"a redirect":    {standin.Astray, lost},
		"a lock":        {said(409, denied), lost},
		"an error":      {said(503, denied), lost},
		"a strange 4xx": {said(404, `{"message":"no Route matched"}`), lost},
		"a wrong key":   {said(401, denied), turned},
		"a weak key":    {said(403, denied), turned},
		"a refusal":     {said(402, denied), func(err error) bool { return errors.As(err, &no) && no.RequestID == "req_1" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.Break("/v1/", tt.fault)
			for call, err := range everyCall(t.Context(), s.Payments) {
				if !tt.want(err) {
					t.Errorf("%s: got %v", call, err)
				}
				for _, secret := range []string{stripetest.Key, "TEXT", "some", "cus_1", "sub_1", "coffer.example", "org1", s.URL} {
					if strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
						t.Errorf("%s: %v says %s", call, err, secret)
					}
				}
			}
		})
	}
}

func TestWaitingIsBounded(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "99999": maxWait, "-3": 0, "soon": 0, "": 0} {
		s := newShop(t)
		s.Break("/v1/", said(429, denied, "Retry-After", header))
		_, err := s.Payments.Subscription(t.Context(), "sub_1")
		down, ok := errors.AsType[*Unavailable](err)
		if !ok || !down.Limited || down.RetryAfter != want || down.RequestID != "req_1" {
			t.Errorf("%q: got %+v", header, err)
		}
		if len(s.waited) != tries-1 || slices.Min(s.waited) < want || slices.Max(s.waited) > max(want, minPause<<tries) {
			t.Errorf("%q: waited %v", header, s.waited)
		}
	}
}

func TestItIsAskedOnlyAsLongAsSomebodyWaits(t *testing.T) {
	s := newShop(t)
	s.Break("/v1/", said(429, denied, "Retry-After", "30"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Payments.Subscription(ctx, "sub_1"); err == nil || s.Calls("/v1/") != 1 || s.waited != nil {
		t.Errorf("%d calls, %v, %v", s.Calls("/v1/"), s.waited, err)
	}
	s.Heal()
	s.Forget()
	s.Break("/v1/", standin.Hang)
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := s.Payments.Subscription(ctx, "sub_1"); !errors.Is(err, context.Canceled) || s.Calls("/v1/") != 1 {
		t.Errorf("%d calls, %v", s.Calls("/v1/"), err)
	}
}

func TestNobodyThere(t *testing.T) {
	s := stripetest.New(t)
	s.Close()
	p, err := NewStripe(StripeConfig{APIURL: s.URL, Key: api.NewSecret("sk_1"), WebhookSecret: api.NewSecret("whsec_1"), Sleep: func(time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(t.Context(), p) {
		if down, ok := errors.AsType[*Unavailable](err); !ok || down.Err.Error() != "it cannot be reached" {
			t.Errorf("%s: got %v", call, err)
		}
	}
}
