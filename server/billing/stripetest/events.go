package stripetest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Event is a webhook's delivery before it is signed.
type Event struct {
	ID   string
	Type string
	Body []byte
}

// Signing says how deliveries are signed. The zero Signing is right.
type Signing struct {
	Secret string        // "" is WebhookSecret
	Also   string        // another secret to sign with besides, first; "" is none
	Age    time.Duration // how long ago it was signed; below 0: in the future
}

// office holds the webhook's deliveries.
type office struct {
	version string
	signing Signing
	pending []Event
	sent    []Event // and taken
}

// EventsIn gives later events the form of another version of the API: the one that
// the account's webhook endpoint is set to.
func (s *Server) EventsIn(version string) { s.set(func() { s.post.version = version }) }

// SignWith says how later deliveries are signed.
func (s *Server) SignWith(how Signing) { s.set(func() { s.post.signing = how }) }

// Pending are the events that were not taken yet.
func (s *Server) Pending() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.post.pending)
}

// Reorder changes the order, or the number, of the events that were not taken yet.
func (s *Server) Reorder(change func([]Event) []Event) {
	s.set(func() { s.post.pending = change(s.post.pending) })
}

// Repeat sends everything again that was taken, at the next Flush.
func (s *Server) Repeat() { s.set(func() { s.post.pending = append(s.post.pending, s.post.sent...) }) }

// Flush delivers to an address what was not taken yet, and says how many
// deliveries failed: those stay for the next Flush, as Stripe tries again.
func (s *Server) Flush(address string) (failed int) {
	s.t.Helper()
	for _, e := range s.Pending() {
		status, err := s.Deliver(address, e)
		if err != nil || status/100 != 2 {
			failed++
			continue
		}
		s.set(func() {
			i := slices.IndexFunc(s.post.pending, func(other Event) bool { return other.ID == e.ID })
			s.post.pending = slices.Delete(s.post.pending, i, i+1)
			s.post.sent = append(s.post.sent, e)
		})
	}
	return failed
}

// Deliver sends one event, and says with which status it was taken.
func (s *Server) Deliver(address string, e Event) (status int, err error) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, address, bytes.NewReader(e.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "Stripe/1.0")
	req.Header.Set("Stripe-Signature", s.Sign(e.Body))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// Sign is the header Stripe-Signature of a body.
func (s *Server) Sign(body []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	how := s.post.signing
	at := s.now().Add(-how.Age).Unix()
	parts := []string{fmt.Sprintf("t=%d", at)}
	if how.Also != "" {
		parts = append(parts, "v1="+signature(how.Also, at, body))
	}
	if how.Secret == "" {
		how.Secret = WebhookSecret
	}
	// Stripe sends v0 as well, which proves nothing.
	parts = append(parts, "v1="+signature(how.Secret, at, body), "v0="+signature("v0", at, body))
	return strings.Join(parts, ",")
}

func signature(secret string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Emit sends an event of any kind.
func (s *Server) Emit(kind string, object map[string]any) { s.set(func() { s.emit(kind, object) }) }

// emit queues an event. It holds the object as it is now, whatever becomes of that
// until it is delivered.
func (s *Server) emit(kind string, object map[string]any) {
	id := s.id("evt")
	body, err := json.Marshal(map[string]any{
		"id": id, "object": "event", "api_version": s.post.version, "created": s.now().Unix(), "type": kind, "livemode": false,
		"pending_webhooks": 1, "request": map[string]any{"id": nil, "idempotency_key": nil},
		"data": map[string]any{"object": object},
	})
	if err != nil {
		s.t.Errorf("stripetest: %s: %v", kind, err)
		return
	}
	s.post.pending = append(s.post.pending, Event{id, kind, body})
}

// tell sends an event about a subscription.
func (s *Server) tell(kind string, sub *Subscription) { s.emit(kind, s.subJSON(sub, s.post.version)) }

// emitInvoice sends an event about a subscription's invoice.
func (s *Server) emitInvoice(kind string, sub *Subscription) {
	invoice := map[string]any{"id": s.id("in"), "object": "invoice", "customer": sub.Customer, "livemode": false}
	metadata := map[string]any{}
	if sub.OrgID != "" {
		metadata["org_id"] = sub.OrgID
	}
	if s.post.version < itemPeriods {
		invoice["subscription"] = sub.ID
		invoice["subscription_details"] = map[string]any{"metadata": metadata}
	} else {
		invoice["parent"] = map[string]any{
			"type":                 "subscription_details",
			"subscription_details": map[string]any{"subscription": sub.ID, "metadata": metadata},
		}
	}
	s.emit(kind, invoice)
}
