package stripetest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/standin"
)

// What is asked of the API. All of this runs under the server's lock.

func (s *Server) createCustomer(r request) (int, any) {
	c := &customer{id: s.id("cus"), name: r.form.Get("name"), metadata: r.metadata("metadata"), created: s.now()}
	s.customers[c.id] = c
	return http.StatusOK, c.json()
}

func (c *customer) json() map[string]any {
	return map[string]any{"id": c.id, "object": "customer", "name": c.name, "metadata": c.metadata, "created": c.created.Unix(), "livemode": false}
}

// known reports whether a customer is there and not deleted.
func (s *Server) known(id string) bool {
	c := s.customers[id]
	return c != nil && !c.deleted
}

func (s *Server) createCheckout(r request) (int, any) {
	price := s.findPrice(r.form.Get("line_items[0][price]"))
	switch {
	case r.form.Get("mode") != "subscription":
		return http.StatusBadRequest, invalid("", "mode")
	case r.form.Get("customer") != "" && !s.known(r.form.Get("customer")):
		return http.StatusBadRequest, missing("customer")
	case price == nil:
		return http.StatusBadRequest, missing("line_items[0][price]")
	case price.Archived || price.Interval == "":
		return http.StatusBadRequest, invalid("", "line_items[0][price]")
	case !address(r.form.Get("success_url")):
		return http.StatusBadRequest, invalid("url_invalid", "success_url")
	case !address(r.form.Get("cancel_url")):
		return http.StatusBadRequest, invalid("url_invalid", "cancel_url")
	}
	c := &session{
		id: s.id("cs"), customer: r.form.Get("customer"), price: price.ID, reference: r.form.Get("client_reference_id"),
		success: r.form.Get("success_url"), cancel: r.form.Get("cancel_url"),
		metadata: r.metadata("metadata"), subMetadata: r.metadata("subscription_data[metadata]"), status: "open", created: s.now(),
	}
	s.sessions[c.id] = c
	return http.StatusOK, s.checkoutJSON(c)
}

func address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (s *Server) checkoutJSON(c *session) map[string]any {
	out := map[string]any{
		"id": c.id, "object": "checkout.session", "mode": "subscription", "status": c.status, "payment_status": "unpaid",
		"customer": orNull(c.customer), "subscription": orNull(c.subscription), "client_reference_id": orNull(c.reference),
		"metadata": c.metadata, "success_url": c.success, "cancel_url": orNull(c.cancel), "created": c.created.Unix(), "url": nil, "livemode": false,
	}
	switch c.status {
	case "open":
		out["url"] = s.URL + "/c/pay/" + c.id
	case "complete":
		out["payment_status"] = "paid"
	}
	return out
}

func (s *Server) createPortal(r request) (int, any) {
	switch {
	case !s.known(r.form.Get("customer")):
		return http.StatusBadRequest, missing("customer")
	case s.noPortal:
		return http.StatusBadRequest, failure{kind: "invalid_request_error", text: "the portal's settings were never saved"}.body()
	case r.form.Get("return_url") != "" && !address(r.form.Get("return_url")):
		return http.StatusBadRequest, invalid("url_invalid", "return_url")
	}
	p := &session{id: s.id("bps"), customer: r.form.Get("customer"), cancel: r.form.Get("return_url"), status: "portal", created: s.now()}
	s.sessions[p.id] = p
	return http.StatusOK, map[string]any{
		"id": p.id, "object": "billing_portal.session", "customer": p.customer, "return_url": orNull(p.cancel),
		"created": p.created.Unix(), "url": s.URL + "/p/session/" + p.id, "livemode": false,
	}
}

func (s *Server) getSubscription(r request) (int, any) {
	for _, sub := range s.subs {
		if sub.ID == r.id {
			return http.StatusOK, s.subJSON(sub, r.version)
		}
	}
	return http.StatusNotFound, missing("id")
}

func (s *Server) listSubscriptions(r request) (int, any) {
	if c := r.form.Get("customer"); c != "" && !s.known(c) {
		return http.StatusBadRequest, missing("customer")
	}
	var found []map[string]any
	for _, sub := range slices.Backward(s.subs) {
		status := r.form.Get("status")
		fits := status == "all" || status == sub.Status || status == "" && sub.Status != "canceled"
		if fits && (r.form.Get("customer") == "" || r.form.Get("customer") == sub.Customer) {
			found = append(found, s.subJSON(sub, r.version))
		}
	}
	return s.page(r, "/v1/subscriptions", found)
}

func (s *Server) subJSON(sub *Subscription, version string) map[string]any {
	metadata := map[string]string{}
	if sub.OrgID != "" {
		metadata["org_id"] = sub.OrgID
	}
	item := map[string]any{
		"id": "si_" + sub.ID, "object": "subscription_item", "quantity": 1, "subscription": sub.ID,
		"price": s.findPrice(sub.Price).json(),
	}
	out := map[string]any{
		"id": sub.ID, "object": "subscription", "customer": sub.Customer, "status": sub.Status, "metadata": metadata,
		"created": sub.Created.Unix(), "cancel_at_period_end": sub.CancelAtPeriodEnd, "cancel_at": timeOrNull(sub.CancelAt), "livemode": false,
		"items": map[string]any{
			"object": "list", "data": []any{item}, "has_more": false, "url": "/v1/subscription_items?subscription=" + sub.ID,
		},
	}
	if version < itemPeriods {
		out["current_period_end"] = timeOrNull(sub.PeriodEnd)
	} else {
		item["current_period_end"] = timeOrNull(sub.PeriodEnd)
	}
	return out
}

func (s *Server) getPrice(r request) (int, any) {
	if p := s.findPrice(r.id); p != nil {
		return http.StatusOK, p.json()
	}
	return http.StatusNotFound, missing("price")
}

func (s *Server) listPrices(r request) (int, any) {
	keys := map[string]bool{}
	for _, key := range r.metadata("lookup_keys") {
		keys[key] = true
	}
	if len(keys) > 10 {
		return http.StatusBadRequest, invalid("", "lookup_keys")
	}
	var found []map[string]any
	for _, p := range slices.Backward(s.prices) {
		active := r.form.Get("active")
		if (len(keys) == 0 || keys[p.LookupKey]) && (active == "" || active == strconv.FormatBool(!p.Archived)) {
			found = append(found, p.json())
		}
	}
	return s.page(r, "/v1/prices", found)
}

func (p *Price) json() map[string]any {
	out := map[string]any{
		"id": p.ID, "object": "price", "lookup_key": orNull(p.LookupKey), "active": !p.Archived, "currency": p.Currency,
		"unit_amount": p.Amount, "type": "one_time", "recurring": nil, "livemode": false,
	}
	if p.Amount < 0 {
		out["unit_amount"] = nil
	}
	if p.Interval != "" {
		out["type"], out["recurring"] = "recurring", map[string]any{"interval": p.Interval, "interval_count": 1, "usage_type": "licensed"}
	}
	return out
}

// page cuts the page out of a list that is asked for.
func (s *Server) page(r request, at string, all []map[string]any) (int, any) {
	if after := r.form.Get("starting_after"); after != "" {
		i := slices.IndexFunc(all, func(x map[string]any) bool { return x["id"] == after })
		if i < 0 {
			return http.StatusBadRequest, missing("starting_after")
		}
		all = all[i+1:]
	}
	asked, err := strconv.Atoi(r.form.Get("limit"))
	if r.form.Get("limit") != "" && (err != nil || asked < 1 || asked > 100) {
		return http.StatusBadRequest, invalid("parameter_invalid_integer", "limit")
	}
	page, last := standin.Page(all, 1, s.PageSize(asked, 10, 100))
	if page == nil {
		page = []map[string]any{}
	}
	return http.StatusOK, map[string]any{"object": "list", "url": at, "has_more": last > 1, "data": page}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// sessionAt finds the session that an address leads to.
func (s *Server) sessionAt(at string) *session {
	id := at[strings.LastIndex(at, "/")+1:]
	return s.sessions[id]
}
