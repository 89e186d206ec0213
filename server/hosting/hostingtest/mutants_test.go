package hostingtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
)

func there(t hosting.Target) hosting.Target {
	t.Environment.Name = map[string]string{"production": "staging", "staging": "production"}[t.Environment.Name]
	return t
}

func silent(hosting.Outcome) error { return nil }

// readers are clients that ask wrongly, or misread the answers.
func readers() map[string]hostingtest.Mutant {
	var count atomic.Int64
	return map[string]hostingtest.Mutant{
		"says nothing of itself": {Around: around(func(o *odd) { o.describe = func() hosting.Description { return hosting.Description{} } }), Breaks: []string{
			"a provider says what holds for it",
		}},
		"does not know who it is": {Around: around(func(o *odd) {
			o.check = func(context.Context, hosting.Credential) (hosting.Account, error) { return hosting.Account{}, nil }
		}), Breaks: []string{"a token tells whose it is", "a credential that ended answers nothing"}},
		"finds everything": {Around: around(func(o *odd) {
			o.find = func(ctx context.Context, c hosting.Credential, project, service string) (hosting.Project, error) {
				return plainProject(project), nil
			}
		}), Breaks: []string{"what was never there is not found", "a stranger reaches nothing", "a grant that was taken back is over"}},
		"finds one environment": {Around: around(func(o *odd) {
			o.find = func(ctx context.Context, c hosting.Credential, project, service string) (hosting.Project, error) {
				p, err := o.plainClient.Find(ctx, c, project, service)
				p.Environments = p.Environments[:min(1, len(p.Environments))]
				return p, err
			}
		}), Breaks: []string{"a project is found with its environments"}},
		"reads the first page only": {Via: hostingtest.Answers(replace(`"more":true`, `"more":false`)), Breaks: []string{
			"projects are listed over all pages", "variables are listed over all pages", "a delete takes what it was told to and nothing else",
		}},
		"lists other places as well": {Around: around(func(o *odd) {
			o.list = func(ctx context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
				here, err := o.plainClient.List(ctx, c, t)
				more, _ := o.plainClient.List(ctx, c, there(t))
				return append(here, more...), err
			}
		}), Breaks: []string{"what is in another environment is not listed"}},
		"lists what is not there": {Around: listing(func(all []hosting.Variable) []hosting.Variable {
			return append(all, hosting.Variable{Key: "PLACEHOLDER", Origin: hosting.FromUser})
		}), Breaks: []string{"a place without variables has none"}},
		"takes hidden values for empty":   {Around: each(func(v *hosting.Variable) { v.Readable = true }), Breaks: []string{"hidden values are not readable"}},
		"gives hidden values a word":      {Around: each(func(v *hosting.Variable) { v.Readable, v.Value = false, api.NewSecret("[hidden]") }), Breaks: []string{"hidden values are not readable"}},
		"takes all for the user's":        {Around: each(func(v *hosting.Variable) { v.Origin = hosting.FromUser }), Breaks: []string{"who made a variable is told"}},
		"knows nothing of shared records": {Around: each(func(v *hosting.Variable) { v.Shared = false }), Breaks: []string{"a shared record is listed in both places"}},
		"marks by the hour": {Around: each(func(v *hosting.Variable) { v.Mark = fmt.Sprint(count.Add(1)) }), Breaks: []string{
			"a mark stays while nobody writes", "the mark of what was written is that of the next list",
		}},
		"marks all alike": {Around: each(func(v *hosting.Variable) { v.Mark = "mark" }), Breaks: []string{"a mark changes when somebody else writes"}},
		"takes failures for nothing": {Around: around(func(o *odd) {
			o.list = func(ctx context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
				all, err := o.plainClient.List(ctx, c, t)
				if u := (*hosting.Unavailable)(nil); errors.As(err, &u) {
					return nil, nil
				}
				return all, err
			}
		}), Breaks: []string{
			"what is spoiled is no answer, at whichever request", "a provider that is down is unavailable", "a limit that never ends is told as one",
		}},
		"tells tokens": {Around: around(func(o *odd) {
			o.check = func(ctx context.Context, c hosting.Credential) (hosting.Account, error) {
				a, err := o.plainClient.Check(ctx, c)
				if err != nil {
					err = fmt.Errorf("%w: %s", err, c.Token.Reveal())
				}
				return a, err
			}
		}), Breaks: []string{"a credential that ended answers nothing"}},
		"puts tokens into addresses": {Via: hostingtest.Requests(func(r *http.Request) {
			r.URL.RawQuery += "&token=" + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}), Breaks: []string{"a token tells whose it is", "what is written takes effect here and nowhere else"}},
	}
}

// replace changes an answer's text.
func replace(old, with string) func(*http.Request, *http.Response) {
	return func(_ *http.Request, res *http.Response) { res.Body = replaced(res.Body, old, with) }
}

// writers are clients that change more, less, or other things than they should.
func writers() map[string]hostingtest.Mutant {
	type write = hosting.Write
	type target = hosting.Target
	type credential = hosting.Credential
	return map[string]hostingtest.Mutant{
		"writes everywhere": {Around: writing(func(usual writeFunc) writeFunc {
			return func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				return errors.Join(usual(ctx, c, there(t), all, silent), usual(ctx, c, t, all, done))
			}
		}), Breaks: []string{"what is written takes effect here and nowhere else", "writing a shared record leaves the others theirs"}},
		"deletes everywhere": {Around: around(func(o *odd) {
			o.drop = func(ctx context.Context, c credential, t target, all []hosting.Variable, done doneFunc) error {
				return errors.Join(o.plainClient.Delete(ctx, c, there(t), all, silent), o.plainClient.Delete(ctx, c, t, all, done))
			}
		}), Breaks: []string{"a delete takes what it was told to and nothing else", "deleting a shared record leaves the others theirs"}},
		"replaces everything": {Around: around(func(o *odd) {
			o.write = func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				old, err := o.plainClient.List(ctx, c, t)
				if err == nil {
					err = o.plainClient.Delete(ctx, c, t, old, silent)
				}
				return errors.Join(err, o.plainClient.Write(ctx, c, t, all, done))
			}
		}), Breaks: []string{
			"writing leaves what others made as it is", "writing a hidden value keeps it hidden", "writing or deleting nothing changes nothing",
		}},
		"trims values": {Around: writing(func(usual writeFunc) writeFunc {
			return func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				for i, w := range all {
					all[i].Value = api.NewSecret(strings.TrimSpace(w.Value.Reveal()))
				}
				return usual(ctx, c, t, all, done)
			}
		}), Breaks: []string{"every value arrives bit for bit"}},
		"takes the empty value for none": {Around: writing(func(usual writeFunc) writeFunc {
			return func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				for i, w := range all {
					if w.Value.Len() == 0 {
						all[i].Value = api.NewSecret("null")
					}
				}
				return usual(ctx, c, t, all, done)
			}
		}), Breaks: []string{"an empty value is a value"}},
		"adds to what is there": {Around: writing(func(usual writeFunc) writeFunc {
			return func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				for i, w := range all {
					if w.Was != nil {
						all[i].Value = api.NewSecret(w.Value.Reveal() + "+")
					}
				}
				return usual(ctx, c, t, all, done)
			}
		}), Breaks: []string{"writing the same again changes nothing"}},
		"believes what it listed": {Around: around(func(o *odd) {
			o.write = func(ctx context.Context, c credential, t target, all []write, done doneFunc) error {
				there, err := o.plainClient.List(ctx, c, t)
				for _, w := range all {
					if w.Was == nil && slices.ContainsFunc(there, func(v hosting.Variable) bool { return v.Key == w.Key }) {
						err = errors.Join(err, done(hosting.Outcome{Key: w.Key}))
						continue
					}
					err = errors.Join(err, o.plainClient.Write(ctx, c, t, []write{w}, done))
				}
				return err
			}
		}), Breaks: []string{"what somebody else made or took away meanwhile is no lie"}},
		"leaves what is hidden": {Around: around(func(o *odd) {
			o.drop = func(ctx context.Context, c credential, t target, all []hosting.Variable, done doneFunc) error {
				for _, v := range all {
					if !v.Readable {
						return done(hosting.Outcome{Key: v.Key})
					}
				}
				return o.plainClient.Delete(ctx, c, t, all, done)
			}
		}), Breaks: []string{"deleting what is hidden works"}},
		"wants to find what it deletes": {Around: around(func(o *odd) {
			o.drop = func(ctx context.Context, c credential, t target, all []hosting.Variable, done doneFunc) error {
				there, err := o.plainClient.List(ctx, c, t)
				for _, v := range all {
					if !slices.ContainsFunc(there, func(one hosting.Variable) bool { return one.Key == v.Key }) {
						return hosting.ErrNotFound
					}
				}
				return errors.Join(err, o.plainClient.Delete(ctx, c, t, all, done))
			}
		}), Breaks: []string{"what is gone counts as deleted"}},
		"sends few at a time": {Around: func(p hosting.Provider) hosting.Provider { p.(*plainClient).size = 20; return p }, Breaks: []string{
			"many variables take the fewest calls",
		}},
	}
}

// tellers are clients that tell wrongly what became of what.
func tellers() map[string]hostingtest.Mutant {
	return map[string]hostingtest.Mutant{
		"ends at the first refusal": {Around: outcomes(func(done doneFunc) doneFunc {
			return func(out hosting.Outcome) error { return errors.Join(done(out), out.Err) }
		}), Breaks: []string{"one refused key does not keep the others from being done"}},
		"calls refusals a success": {Around: outcomes(func(done doneFunc) doneFunc {
			return func(out hosting.Outcome) error { out.Err = nil; return done(out) }
		}), Breaks: []string{"one refused key does not keep the others from being done"}},
		"does not listen": {Around: outcomes(func(done doneFunc) doneFunc {
			return func(out hosting.Outcome) error { _ = done(out); return nil }
		}), Breaks: []string{"an error of done's ends the run"}},
		"tells nothing": {Around: outcomes(func(doneFunc) doneFunc { return silent }), Breaks: []string{"what is written takes effect here and nowhere else"}},
		"tells twice": {Around: outcomes(func(done doneFunc) doneFunc {
			return func(out hosting.Outcome) error { return errors.Join(done(out), done(out)) }
		}), Breaks: []string{"what is written takes effect here and nowhere else"}},
		"tells from everywhere": {Around: outcomes(func(done doneFunc) doneFunc {
			return func(out hosting.Outcome) error {
				err := make(chan error)
				go func() { err <- done(out) }()
				return <-err
			}
		}), Breaks: []string{"what is written takes effect here and nowhere else"}},
		"tells before it does": {Around: around(func(o *odd) {
			o.write = func(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done doneFunc) error {
				for _, w := range all {
					if err := done(hosting.Outcome{Key: w.Key}); err != nil {
						return err
					}
				}
				return o.plainClient.Write(ctx, c, t, all, silent)
			}
		}), Breaks: []string{
			"a call that fails is told of truthfully, and a second run mends it", "an answer that makes no sense is no success",
			"a limit in the middle of a run ends it with the truth", "a credential that ends in the middle ends the run", "a stranger reaches nothing",
		}},
		"tells values": {Around: writing(func(usual writeFunc) writeFunc {
			return func(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done doneFunc) error {
				if err := usual(ctx, c, t, all, done); err != nil {
					return fmt.Errorf("%w: %s", err, all[0].Value.Reveal())
				}
				return nil
			}
		}), Breaks: []string{"a credential that ends in the middle ends the run"}},
	}
}

// strugglers are clients that do badly when the provider does.
func strugglers() map[string]hostingtest.Mutant {
	tries := func(n int) func(hosting.Provider) hosting.Provider {
		return func(p hosting.Provider) hosting.Provider { p.(*plainClient).tries = n; return p }
	}
	return map[string]hostingtest.Mutant{
		"asks once only": {Around: tries(1), Breaks: []string{
			"a question that fails once is asked again", "a change that was lost on the way is done", "a change whose answer was lost is done once, and told of as done",
			"a provider that was asked too often is asked again when it says",
		}},
		"is stubborn": {Around: tries(30), Breaks: []string{"a limit that never ends is told as one", "a provider that is down is unavailable"}},
		"does not wait": {Via: hostingtest.Answers(func(_ *http.Request, res *http.Response) { res.Header.Del("Retry-After") }), Breaks: []string{
			"a provider that was asked too often is asked again when it says",
		}},
		"takes a limit for an outage": {Via: hostingtest.Answers(func(_ *http.Request, res *http.Response) {
			if res.StatusCode == http.StatusTooManyRequests {
				res.StatusCode = http.StatusServiceUnavailable
			}
		}), Breaks: []string{"a limit that never ends is told as one", "a limit in the middle of a run ends it with the truth"}},
		"takes failures for an end": {Via: hostingtest.Answers(func(_ *http.Request, res *http.Response) {
			if res.StatusCode >= 500 {
				res.StatusCode = http.StatusUnauthorized
			}
		}), Breaks: []string{"a provider that is down is unavailable", "what is spoiled is no answer, at whichever request"}},
		"follows redirects": {Around: func(p hosting.Provider) hosting.Provider { p.(*plainClient).http.CheckRedirect = nil; return p }, Breaks: []string{
			"a redirect to another host is not followed",
		}},
		"waits for ever": {Around: around(func(o *odd) {
			o.check = func(ctx context.Context, c hosting.Credential) (hosting.Account, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 1500*time.Millisecond)
				defer cancel()
				return o.plainClient.Check(ctx, c)
			}
		}), Breaks: []string{"a provider that hangs is unavailable in time", "who gives up is not kept waiting"}},
		"leaves goroutines behind": {Around: around(func(o *odd) {
			o.check = func(ctx context.Context, c hosting.Credential) (hosting.Account, error) {
				go time.Sleep(3 * time.Second)
				return o.plainClient.Check(ctx, c)
			}
		}), Breaks: []string{"no goroutine stays behind"}},
		"does one thing at a time": {Around: around(func(o *odd) {
			var busy atomic.Bool
			o.list = func(ctx context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
				if busy.Swap(true) {
					return nil, &hosting.Unavailable{Err: errors.New("busy")}
				}
				defer busy.Store(false)
				time.Sleep(20 * time.Millisecond)
				return o.plainClient.List(ctx, c, t)
			}
		}), Breaks: []string{"many may ask and write at once"}},
	}
}

// visitors are clients that authorize carelessly.
func visitors() map[string]hostingtest.Mutant {
	grant := hosting.Grant{Access: api.NewSecret("an-access-token"), Refresh: api.NewSecret("a-refresh-token"), Expires: time.Now().Add(time.Hour)}
	return map[string]hostingtest.Mutant{
		"sends the browser without a state": {Around: around(func(o *odd) {
			o.url = func(_, challenge string) string { return o.plainClient.AuthorizeURL("", challenge) }
		}), Breaks: []string{"the browser is sent with what it needs"}},
		"sends the browser without a challenge": {Around: around(func(o *odd) {
			o.url = func(state, _ string) string { return o.plainClient.AuthorizeURL(state, "") }
		}), Breaks: []string{"the browser is sent with what it needs", "a code is exchanged once"}},
		"lets everybody in": {Around: around(func(o *odd) {
			o.exchange = func(ctx context.Context, callback map[string][]string, verifier string) (hosting.Grant, error) {
				if g, err := o.plainClient.Exchange(ctx, callback, verifier); err == nil {
					return g, nil
				}
				return grant, nil
			}
		}), Breaks: []string{"a code is exchanged once", "a browser that comes back with nothing brings nothing", "a provider that fails at an exchange is unavailable"}},
		"renews nothing": {Around: around(func(o *odd) {
			o.refresh = func(context.Context, api.Secret) (hosting.Grant, error) { return grant, nil }
		}), Breaks: []string{"a refresh brings a grant that works", "a grant that was taken back is over", "a provider that fails does not end a grant"}},
		"forgets the new refresh token": {Around: around(func(o *odd) {
			o.refresh = func(ctx context.Context, refresh api.Secret) (hosting.Grant, error) {
				g, err := o.plainClient.Refresh(ctx, refresh)
				g.Refresh = refresh
				return g, err
			}
		}), Breaks: []string{"a refresh brings a grant that works"}},
		"takes failures for the end of a grant": {Around: around(func(o *odd) {
			o.refresh = func(ctx context.Context, refresh api.Secret) (hosting.Grant, error) {
				g, err := o.plainClient.Refresh(ctx, refresh)
				if err != nil {
					err = hosting.ErrCredential
				}
				return g, err
			}
		}), Breaks: []string{"a provider that fails does not end a grant"}},
	}
}

func mutants() map[string]hostingtest.Mutant {
	all := map[string]hostingtest.Mutant{}
	for _, some := range []map[string]hostingtest.Mutant{readers(), writers(), tellers(), strugglers(), visitors()} {
		for name, m := range some {
			all[name] = m
		}
	}
	return all
}

func TestTheRulesSeeEveryMutant(t *testing.T) {
	hostingtest.See(t, func(t *testing.T, via hostingtest.Via) *hostingtest.Host {
		h := plainHost(t)
		if via == nil {
			return h
		}
		return h.Wrap(func(p hosting.Provider) hosting.Provider {
			c := p.(*plainClient)
			c.http.Transport = via(c.http.Transport)
			return c
		})
	}, mutants())
}

// TestEveryRuleHasAMutant keeps rules out that nothing was seen to break.
func TestEveryRuleHasAMutant(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutants() {
		for _, rule := range m.Breaks {
			seen[rule] = true
		}
	}
	for _, rule := range hostingtest.Rules() {
		if !seen[rule.Name] {
			t.Errorf("no mutant breaks %q", rule.Name)
		}
	}
}
