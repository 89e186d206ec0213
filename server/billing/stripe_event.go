package billing

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

// tolerance is how far Stripe's clock and ours may be apart, and how long a
// recorded delivery can be sent again by somebody else.
const tolerance = 300 * time.Second

// verify checks the header Stripe-Signature over a body as it came: a time, and
// signatures of which one must be right. While a secret is replaced there are two.
func verify(secret api.Secret, header string, body []byte, now time.Time) error {
	var at int64
	var timed bool
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || strings.Contains(value, "=") {
			return fmt.Errorf("%w: its signature cannot be read", ErrSignature)
		}
		switch name {
		case "t":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || timed {
				return fmt.Errorf("%w: its time cannot be read", ErrSignature)
			}
			at, timed = n, true
		case "v1":
			if s, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, s)
			}
		}
	}
	if !timed {
		return fmt.Errorf("%w: it has no time", ErrSignature)
	}
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(strconv.FormatInt(at, 10) + "."))
	mac.Write(body)
	sum := mac.Sum(nil)
	signed := false
	for _, s := range signatures {
		signed = hmac.Equal(s, sum) || signed
	}
	if !signed {
		return ErrSignature
	}
	if apart := now.Sub(time.Unix(at, 0)); apart > tolerance || apart < -tolerance {
		return fmt.Errorf("%w in the last %d minutes; is this server's clock right?", ErrSignature, int(tolerance.Minutes()))
	}
	return nil
}

func (s *stripe) Event(signature string, body []byte, now time.Time) (Event, error) {
	if err := verify(s.secret, signature, body, now); err != nil {
		return Event{}, err
	}
	return readEvent(body)
}

// readEvent reads the little that is needed of an event. Its form is that of the
// API version the operator's endpoint is set to, which need not be ours, so what
// has another type than expected counts as missing.
func readEvent(body []byte) (Event, error) {
	var event struct {
		ID      string `json:"id"`
		Type    Topic  `json:"type"`
		Created epoch  `json:"created"`
		Data    struct {
			Object stripeSubject `json:"object"`
		} `json:"data"`
	}
	if err := lenient(json.Unmarshal(body, &event)); err != nil {
		return Event{}, ErrEvent
	}
	if !sendable(event.ID) || len(event.ID) > maxKey || event.Type == "" {
		return Event{}, ErrEvent
	}
	out := Event{ID: event.ID, Topic: event.Type, Created: event.Created.time()}
	if event.Type.Matters() {
		event.Data.Object.tell(&out)
	}
	return out, nil
}

// lenient forgives a value of another type: the rest has been read nevertheless.
func lenient(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// stripeSubject is what an event is about: a checkout, a subscription, an invoice
// or a customer.
type stripeSubject struct {
	ID           ref        `json:"id"`
	Customer     ref        `json:"customer"`
	Subscription ref        `json:"subscription"` // of an invoice in versions before 2025-03-31
	Reference    string     `json:"client_reference_id"`
	Metadata     stripeMeta `json:"metadata"`
	Parent       struct {
		Subscription struct {
			ID ref `json:"subscription"`
		} `json:"subscription_details"`
	} `json:"parent"`
}

func (s stripeSubject) tell(e *Event) {
	e.Customer, e.Subscription = string(s.Customer), string(s.Subscription)
	switch e.Topic {
	case SubscriptionCreated, SubscriptionUpdated, SubscriptionDeleted, SubscriptionPaused, SubscriptionResumed:
		e.Subscription = string(s.ID)
	case CustomerDeleted:
		e.Customer = string(s.ID)
	case InvoicePaid, InvoicePaymentFailed:
		if e.Subscription == "" {
			e.Subscription = string(s.Parent.Subscription.ID)
		}
	}
	e.OrgID = cmp.Or(s.Metadata.OrgID, s.Reference)
}
