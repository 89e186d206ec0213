package httpd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

// Rate is how many requests fit into a window, which opens with the first of
// them. What is zero is the default of the bucket.
type Rate struct {
	Requests int
	Window   time.Duration
	Off      bool // no limit at all
}

// Limits are the rates of the contract's buckets.
type Limits struct {
	General, Bulk, Value, Verify, Poll, Login, UI Rate
}

// bucket is what a route's requests are counted in. A route that names none is
// in the general one.
type bucket uint8

const (
	inGeneral bucket = iota
	inBulk
	inValue
	inVerify
	inPoll
	inLogin
	inUI   // instead of inGeneral when the web UI's session asks
	exempt // never counted, or by its own means
)

// buckets say what each bucket limits, and its default. Requests count by
// credential, in the web UI by session, or by address where there is none or
// where the bucket says so.
var buckets = [exempt + 1]struct {
	what      string
	rate      Rate
	byAddress bool
}{
	inGeneral: {what: "requests", rate: Rate{Requests: 100, Window: 15 * time.Minute}},
	inBulk:    {what: "pushes and pulls", rate: Rate{Requests: 30, Window: 15 * time.Minute}},
	inValue:   {what: "reads of values", rate: Rate{Requests: 10, Window: time.Minute}},
	inVerify:  {what: "device codes", rate: Rate{Requests: 5, Window: time.Minute}, byAddress: true},
	inPoll:    {what: "polls", rate: Rate{Requests: 30, Window: time.Minute}},
	inLogin:   {what: "attempts to sign in", rate: Rate{Requests: 10, Window: time.Minute}, byAddress: true},
	inUI:      {what: "requests", rate: Rate{Requests: 1000, Window: 15 * time.Minute}},
}

// limits count the requests of one face. Counters get the time since it opened,
// which setting the system's clock does not change.
type limits struct {
	opened   time.Time
	counters [exempt + 1]*counter // nil where there is no limit
}

func newLimits(l Limits, now time.Time) limits {
	made := limits{opened: now}
	for b, r := range [...]Rate{
		inGeneral: l.General, inBulk: l.Bulk, inValue: l.Value, inVerify: l.Verify,
		inPoll: l.Poll, inLogin: l.Login, inUI: l.UI,
	} {
		if !r.Off {
			standard := buckets[b].rate
			made.counters[b] = newCounter(cmp.Or(r.Requests, standard.Requests), cmp.Or(r.Window, standard.Window))
		}
	}
	return made
}

// spending is what a request was counted as.
type spending struct {
	counter *counter
	who     subject
	ends    time.Duration
}

// limit counts a request in the bucket of its route, and refuses it if that is
// full. Its place is after the credential and before anything that depends on
// what the credential may do.
func (x *exchange) limit() error {
	b := x.route.bucket.seenBy(x.who.InBrowser())
	id := x.who.ID()
	if b == inUI {
		id = x.who.SessionID()
	}
	if id != [16]byte{} && !buckets[b].byAddress {
		return x.take(b, subject{credential: true, id: id})
	}
	return x.take(b, addressOf(x.clientIP()))
}

func (b bucket) seenBy(browser bool) bucket {
	if b == inGeneral && browser {
		return inUI
	}
	return b
}

// limitFailure counts a request whose credential was turned down, and returns
// what to answer. A wrong one counts as an attempt to sign in from its address;
// none at all is a stranger's request like any other. A right credential is
// never refused for the wrong ones beside it: behind one address there may be a
// whole office, and no secret of ours is short enough to be guessed meanwhile.
func (x *exchange) limitFailure(c warden.Credential, failure error) error {
	if api.CodeOf(failure) != api.Unauthorized {
		return failure
	}
	b := inLogin
	if c.Empty() {
		b = inGeneral
	}
	if err := x.take(b, addressOf(c.IP)); err != nil {
		return err
	}
	return failure
}

// take counts the request in a bucket, says in the answer's headers how its
// sender stands, and refuses it if the bucket is full.
func (x *exchange) take(b bucket, who subject) error {
	c := x.limits.counters[b]
	if c == nil {
		return nil
	}
	now := x.Now()
	at := now.Sub(x.limits.opened)
	got := c.take(who, at)
	wait := got.ends - at
	x.showLimit(c.limit, got.remaining, now.Add(wait+time.Second-1))
	if got.admitted {
		x.spent = spending{c, who, got.ends}
		return nil
	}
	return &api.Error{
		Code: api.RateLimited,
		Message: fmt.Sprintf("Too many %s: %d are possible in %s. Wait %d seconds.",
			buckets[b].what, c.limit, short(c.window), (wait+time.Second-1)/time.Second),
		RetryAfter: wait,
	}
}

// full reports whether a bucket admits no more of somebody's requests.
func (x *exchange) full(b bucket, who subject) bool {
	c := x.limits.counters[b]
	return c != nil && c.full(who, x.Now().Sub(x.limits.opened))
}

// limitHeaders are spelled as net/http spells them.
var limitHeaders = [...]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

func (x *exchange) showLimit(limit, remaining int, reset time.Time) {
	values := []string{strconv.Itoa(limit), strconv.Itoa(remaining), strconv.FormatInt(reset.Unix(), 10)}
	for i, name := range limitHeaders {
		x.w.Header()[name] = values[i : i+1 : i+1]
	}
}

// refund makes the request one that was never counted, and says so in the
// headers. It is for answers that the contract makes free.
func (x *exchange) refund() {
	s := x.spent
	if s.counter == nil {
		return
	}
	x.spent = spending{}
	if got, ok := s.counter.refund(s.who, s.ends); ok {
		x.w.Header()[limitHeaders[1]] = []string{strconv.Itoa(got.remaining)}
	}
}

// short is a duration without the units that are zero.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
