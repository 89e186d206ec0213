package warden_test

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/warden"
	"coffer/store"
)

// harbour is a dock whose shelf takes authorizations. Ann has authorized coffer.
type harbour struct {
	*dock
	g *grantor
}

func newHarbour(t testing.TB) *harbour {
	t.Helper()
	h := &harbour{g: &grantor{lasts: time.Hour}}
	h.dock = newDock(t)
	h.g.shelf, h.g.now = h.shelf, h.now
	h.host = h.g
	h.open(h.db)
	must(t, h.authorize(h.ann(h.w), warden.Credential{}))
	return h
}

// depart begins an authorization.
func (h *harbour) depart(who warden.Caller) (*warden.Departure, url.Values) {
	h.t.Helper()
	d, err := h.w.DepartToProvider(h.t.Context(), who, hosting.Vercel, "/connections")
	must(h.t, err)
	u, err := url.Parse(d.URL)
	must(h.t, err)
	h.shelf.says(func() { h.g.code = "good" })
	return d, url.Values{"state": {u.Query().Get("state")}, "code": {"good"}}
}

func (h *harbour) arrive(c warden.Credential, q url.Values, ticket api.Secret) error {
	page, err := h.w.ArriveFromProvider(h.t.Context(), c, hosting.Vercel, q, ticket)
	if err == nil && page != "/connections" {
		h.t.Errorf("it goes on at %q", page)
	}
	return err
}

func (h *harbour) authorize(who warden.Caller, c warden.Credential) error {
	d, q := h.depart(who)
	return h.arrive(c, q, d.Ticket)
}

func (h *harbour) status() string {
	h.t.Helper()
	all, err := h.w.Connections(h.t.Context(), h.ann(h.w), api.Empty{})
	must(h.t, err)
	if len(all.Connections) != 1 {
		h.t.Fatalf("%d connections, want one", len(all.Connections))
	}
	return all.Connections[0].Status
}

func TestAnAuthorizationIsGoodOnceAndHereOnly(t *testing.T) {
	h := newHarbour(t)
	wantCode := func(name string, err error, code api.Code) {
		t.Helper()
		if api.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	d, q := h.depart(h.ann(h.w))
	other, q2 := h.depart(h.ann(h.w))
	wantCode("with another browser's ticket", h.arrive(warden.Credential{}, q, other.Ticket), api.BadRequest)
	wantCode("without a ticket", h.arrive(warden.Credential{}, q, api.Secret{}), api.BadRequest)
	wantCode("without a state", h.arrive(warden.Credential{}, url.Values{"code": {"good"}}, d.Ticket), api.BadRequest)
	wantCode("with two states", h.arrive(warden.Credential{}, url.Values{"state": {q.Get("state"), q.Get("state")}, "code": {"good"}}, d.Ticket), api.BadRequest)
	must(t, h.arrive(warden.Credential{}, q, d.Ticket))
	h.shelf.says(func() { h.g.code = "good" })
	wantCode("twice", h.arrive(warden.Credential{}, q, d.Ticket), api.BadRequest)

	h.shelf.says(func() { h.g.code = "another" })
	wantCode("with a code that is not taken", h.arrive(warden.Credential{}, q2, other.Ticket), api.BadRequest)

	d, q = h.depart(h.ann(h.w))
	h.sleep(10 * time.Minute)
	wantCode("too late", h.arrive(warden.Credential{}, q, d.Ticket), api.BadRequest)

	for answer, code := range map[string]api.Code{"access_denied": api.Forbidden, "server_error": api.BadRequest} {
		d, q = h.depart(h.ann(h.w))
		q.Del("code")
		q.Set("error", answer)
		wantCode(answer, h.arrive(warden.Credential{}, q, d.Ticket), code)
	}
	if h.status() != api.ConnectionActive {
		t.Error("what went wrong ended the connection there was")
	}
}

// TestAnAuthorizationEndsWithWhatItBeganWith takes away between leaving and coming
// back what the browser left with.
func TestAnAuthorizationEndsWithWhatItBeganWith(t *testing.T) {
	for name, end := range map[string]func(*harbour, person) error{
		"the key": func(h *harbour, bob person) error {
			return h.w.RevokeKey(h.t.Context(), bob.admin, api.IDRef{ID: bob.key})
		},
		"the account": func(h *harbour, _ person) error {
			return second(h.w.DisableLocalUser(h.t.Context(), operator(h.t, h.w), api.DisableLocalUser{Username: "bob", Disabled: true}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarbour(t)
			h.shelf.says(func() { h.shelf.token = goodToken })
			bob := h.bob("read")
			d, q := h.depart(bob.who)
			ticket, err := h.w.ConnectTicket(t.Context(), bob.who, api.ProviderRef{Provider: hosting.Vercel})
			must(t, err)
			must(t, end(h, bob))
			if err := h.arrive(warden.Credential{}, q, d.Ticket); err == nil {
				t.Error("the browser that was away has connected all the same")
			}
			_, err = h.w.ByConnectTicket(t.Context(), warden.Credential{}, hosting.Vercel, api.NewSecret(string(ticket.Ticket)))
			if api.CodeOf(err) != api.Unauthorized {
				t.Errorf("a ticket of theirs: %v", err)
			}
		})
	}
}

func TestAnAuthorizationIsForWhoeverBeganIt(t *testing.T) {
	h := newHarbour(t)
	h.shelf.says(func() { h.shelf.token = goodToken })
	h.bob("read")
	d, q := h.depart(h.ann(h.w))
	session, err := h.w.SignInWithPassword(t.Context(), warden.Credential{}, "bob", api.NewSecret("a password"))
	must(t, err)
	err = h.arrive(warden.Credential{Cookie: session.Token.Reveal()}, q, d.Ticket)
	if api.CodeOf(err) != api.Forbidden {
		t.Errorf("while somebody else is signed in: %v", err)
	}
}

func TestAConnectTicketIsGoodOnceForAMinute(t *testing.T) {
	h := newHarbour(t)
	ctx := t.Context()
	made := func() api.Secret {
		ticket, err := h.w.ConnectTicket(ctx, h.ann(h.w), api.ProviderRef{Provider: hosting.Vercel})
		must(t, err)
		return api.NewSecret(string(ticket.Ticket))
	}
	use := func(provider string, ticket api.Secret) error {
		who, err := h.w.ByConnectTicket(ctx, warden.Credential{IP: netip.MustParseAddr("192.0.2.1")}, provider, ticket)
		if err == nil && who.Username() != "ann" {
			t.Errorf("the ticket is %q's", who.Username())
		}
		return err
	}
	ticket := made()
	must(t, use(hosting.Vercel, ticket))
	if api.CodeOf(use(hosting.Vercel, ticket)) != api.Unauthorized {
		t.Error("it is good twice")
	}
	if api.CodeOf(use(hosting.Netlify, made())) != api.Unauthorized {
		t.Error("it is good for another provider")
	}
	ticket = made()
	h.sleep(time.Minute)
	if api.CodeOf(use(hosting.Vercel, ticket)) != api.Unauthorized {
		t.Error("it is good for more than a minute")
	}
	if api.CodeOf(use(hosting.Vercel, api.NewSecret("made up"))) != api.Unauthorized {
		t.Error("anything will do")
	}
}

// TestATicketOfAKeyIsBoundToItsAddresses.
func TestATicketOfAKeyIsBoundToItsAddresses(t *testing.T) {
	h := newHarbour(t)
	ctx := t.Context()
	made, err := h.w.IssueToken(ctx, operator(t, h.w), api.IssueToken{Username: "ann", Name: "narrow", Environment: "live",
		Scopes: []string{api.WriteSecrets}, AllowedIPs: []string{"192.0.2.0/24"}})
	must(t, err)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")
	who, err := h.w.Identify(ctx, warden.Credential{Bearer: string(made.Token), IP: here})
	must(t, err)
	ticket, err := h.w.ConnectTicket(ctx, who, api.ProviderRef{Provider: hosting.Vercel})
	must(t, err)
	who, err = h.w.ByConnectTicket(ctx, warden.Credential{IP: there}, hosting.Vercel, api.NewSecret(string(ticket.Ticket)))
	must(t, err)
	if _, err := h.w.DepartToProvider(ctx, who, hosting.Vercel, "/"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("from elsewhere: %v", err)
	}
}

func TestATokenIsRenewedOnceForAllWhoAsk(t *testing.T) {
	h := newHarbour(t)
	h.sleep(time.Hour)
	before := h.g.refreshes
	h.shelf.says(func() { h.g.during = func() { time.Sleep(50 * time.Millisecond) } })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := h.w.PreviewSync(t.Context(), h.ann(h.w), h.query()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := h.g.refreshes - before; n != 1 {
		t.Errorf("it was renewed %d times", n)
	}
	h.open(h.db) // from what was stored
	h.preview(h.query())
}

func TestATokenThatIsWithdrawnIsRenewed(t *testing.T) {
	h := newHarbour(t)
	h.shelf.says(func() { h.shelf.token = "another" })
	h.preview(h.query())
	if h.status() != api.ConnectionActive {
		t.Error("the connection is over")
	}
}

func TestWhatARenewalThatFailsMeans(t *testing.T) {
	h := newHarbour(t)
	h.sleep(time.Hour)
	h.shelf.says(func() { h.g.busy = &hosting.Unavailable{Err: errors.New("down")} })
	_, err := h.w.PreviewSync(t.Context(), h.ann(h.w), h.query())
	if api.CodeOf(err) != api.ProviderFailed {
		t.Errorf("a preview while the provider is down: %v", err)
	}
	if r := h.sync(h.query()); r.Status != api.SyncFailed {
		t.Errorf("a run while it is down: %+v", r)
	}
	if h.status() != api.ConnectionActive {
		t.Fatal("that ended the connection")
	}
	h.shelf.says(func() { h.g.busy, h.g.refresh = nil, "another" })
	_, err = h.w.PreviewSync(t.Context(), h.ann(h.w), h.query())
	if api.CodeOf(err) != api.Conflict {
		t.Errorf("a preview after the grant's end: %v", err)
	}
	if h.status() != api.ConnectionReconnect {
		t.Error("the connection is said to be good")
	}
	refreshes := h.g.refreshes
	_, _ = h.w.PreviewSync(t.Context(), h.ann(h.w), h.query())
	if h.g.refreshes != refreshes {
		t.Error("it is tried again")
	}
	must(t, h.authorize(h.ann(h.w), warden.Credential{}))
	h.preview(h.query())
}

// TestATokenThatIsRefusedWhenItIsNew: the pair is renewed, and its token is turned
// down all the same.
func TestATokenThatIsRefusedWhenItIsNew(t *testing.T) {
	h := newHarbour(t)
	h.shelf.says(func() { h.shelf.token, h.g.spoiled = "another", true })
	_, err := h.w.PreviewSync(t.Context(), h.ann(h.w), h.query())
	if api.CodeOf(err) != api.Conflict {
		t.Errorf("%v", err)
	}
	if h.status() != api.ConnectionReconnect {
		t.Error("the connection is said to be good")
	}
}

// TestARenewedPairIsNotLostWhenTheServerIsSealed seals while the provider makes it.
func TestARenewedPairIsNotLostWhenTheServerIsSealed(t *testing.T) {
	h := newHarbour(t)
	h.sleep(time.Hour)
	reached, goOn := make(chan struct{}), make(chan struct{})
	h.shelf.says(func() {
		h.g.during = sync.OnceFunc(func() { close(reached); <-goOn })
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = h.w.PreviewSync(context.WithoutCancel(t.Context()), h.ann(h.w), h.query())
	}()
	<-reached
	op := operator(t, h.w)
	sealed := make(chan error)
	go func() { sealed <- h.w.Seal(context.WithoutCancel(t.Context()), op) }()
	time.Sleep(20 * time.Millisecond)
	close(goOn)
	must(t, <-sealed)
	<-ended
	must(t, h.w.Unseal(t.Context(), api.Unseal{}))
	if _, err := h.w.PreviewSync(t.Context(), h.ann(h.w), h.query()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestATokenThatEndsInTheMiddleOfARun ends it before a write and before a deletion.
func TestATokenThatEndsInTheMiddleOfARun(t *testing.T) {
	for _, at := range []int{1, 3} {
		h := newHarbour(t)
		met := -1
		h.shelf.says(func() {
			h.shelf.put("production", "OLD", shelved{value: "x"})
			h.shelf.between = func(int) {
				if met++; met == at {
					h.shelf.says(func() { h.shelf.token = "another" })
				}
			}
		})
		r := h.sync(h.query(func(q *api.SyncQuery) { q.AllowDelete = true }))
		if r.Status != api.SyncSuccess || r.Created != 3 || r.Deleted != 1 {
			t.Errorf("ended before variable %d: %+v", at, r)
		}
		if h.status() != api.ConnectionActive {
			t.Error("the connection is over")
		}
	}
}

func TestConnectionsAreTheirUsersOwn(t *testing.T) {
	d := newDock(t)
	bob := d.bob("admin")
	ctx := t.Context()
	foreign := d.query(func(q *api.SyncQuery) { q.ConnectionID = d.conn })
	for name, err := range map[string]error{
		"preview": second(d.w.PreviewSync(ctx, bob.who, foreign)),
		"status":  second(d.w.SyncStatus(ctx, bob.who, foreign)),
		"diff":    second(d.w.SyncDiff(ctx, bob.who, foreign)),
		"run":     second(d.w.Sync(ctx, bob.who, run(foreign))),
		"pull":    second(d.w.Sync(ctx, bob.who, run(d.query(func(q *api.SyncQuery) { q.Direction = api.SyncPull })))),
		"link":    second(d.w.SaveLink(ctx, bob.who, api.SaveLink{Ref: foreign.Ref, ConnectionID: d.conn, ProjectID: "p1"})),
	} {
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.Invalid || len(e.Fields) != 1 || e.Fields[0].Field != "connectionId" {
			t.Errorf("%s with somebody else's: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"projects": second(d.w.Projects(ctx, bob.who, api.ConnectionRef{ID: d.conn})),
		"delete":   d.w.Disconnect(ctx, bob.who, api.ConnectionRef{ID: d.conn}),
		"unknown":  d.w.Disconnect(ctx, bob.who, api.ConnectionRef{ID: store.ID{7}.String()}),
	} {
		if api.CodeOf(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
