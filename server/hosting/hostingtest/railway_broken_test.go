package hostingtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
)

// railwayTamper carries operations to Railway and answers from it as a broken
// client would send and read them. A nil function changes nothing.
type railwayTamper struct {
	request func(text string) string // of the whole body
	answer  func(text []byte) []byte
	address func(*http.Request)
}

func (b railwayTamper) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.address != nil {
		b.address(r)
	}
	if b.request != nil && r.Body != nil {
		r.Body, r.ContentLength = rewrite(r.Body, func(text []byte) []byte { return []byte(b.request(string(text))) })
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && b.answer != nil {
		res.Body, res.ContentLength = rewrite(res.Body, b.answer)
	}
	return res, err
}

func replacing(old, text string) railwayTamper {
	return railwayTamper{request: func(body string) string { return strings.ReplaceAll(body, old, text) }}
}

// serene takes every answer without a transport error for a good one.
func serene(text []byte) []byte {
	var said map[string]any
	if json.Unmarshal(text, &said) != nil || said["errors"] == nil || said["data"] != nil {
		return text
	}
	return []byte(`{"data":{"variableCollectionUpsert":true,"variableDelete":true}}`)
}

// firstPages takes the first page of each list for all of it.
func firstPages(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(`"hasNextPage":true`), []byte(`"hasNextPage":false`))
}

// unsealed forgets that a variable is sealed.
func unsealed(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`"isSealed":true`), []byte(`"isSealed":false`))
	return regexp.MustCompile(`"variables":\{`).ReplaceAll(text, []byte(`"variables":{"SECRET":"*****",`))
}

// nameless asks at an address without a query.
func nameless(r *http.Request) {
	if r.URL.Path == "/graphql/v2" {
		r.URL.RawQuery = ""
	}
}

var anywhere = regexp.MustCompile(`"serviceId":"[^"]*",?`)

// shared writes for all services what is for one.
func shared(body string) string {
	if strings.Contains(body, "mutation") {
		return anywhere.ReplaceAllString(body, "")
	}
	return body
}

// sure believes that what it asked to be written or deleted was.
type sure struct{ hosting.Provider }

func (p sure) Write(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done func(hosting.Outcome) error) error {
	_ = p.Provider.Write(ctx, c, t, all, func(hosting.Outcome) error { return nil })
	for _, w := range all {
		if err := done(hosting.Outcome{Key: w.Key}); err != nil {
			return err
		}
	}
	return nil
}

// renewing forgets the refresh token that it got for its old one.
type renewing struct{ hosting.Authorizer }

func (p renewing) Refresh(ctx context.Context, refresh api.Secret) (hosting.Grant, error) {
	g, err := p.Authorizer.Refresh(ctx, refresh)
	if err == nil {
		g.Refresh = refresh
	}
	return g, err
}

func TestTheRulesSeeBrokenClientsOfRailway(t *testing.T) {
	for name, broken := range map[string]struct {
		transport http.RoundTripper
		around    func(hosting.Provider) hosting.Provider
		rules     []string // that must not hold
	}{
		"replaces collections": {replacing(`"replace":false`, `"replace":true`), nil, []string{
			"what is written takes effect here and nowhere else", "an empty value is a value", "one refused key does not keep the others from being done",
		}},
		"reads what references stand for": {replacing("unrendered: true", "unrendered: false"), nil, []string{
			"variables are listed over all pages", "a place without variables has none",
		}},
		"does not see errors in a 200": {railwayTamper{answer: serene}, nil, []string{
			"a stranger reaches nothing", "a credential that ended answers nothing", "one refused key does not keep the others from being done",
			"a credential that ends in the middle ends the run", "what was never there is not found",
		}},
		"takes the first page for all": {railwayTamper{answer: firstPages}, nil, []string{
			"projects are listed over all pages",
		}},
		"takes sealed values for plain ones": {railwayTamper{answer: unsealed}, nil, []string{
			"hidden values are not readable", "writing a hidden value keeps it hidden",
		}},
		"does not name operations in the address": {railwayTamper{address: nameless}, nil, []string{
			"a token tells whose it is", "a project is found with its environments",
		}},
		"writes for all services": {railwayTamper{request: shared}, nil, []string{
			"what is written takes effect here and nowhere else", "every value arrives bit for bit", "a delete takes what it was told to and nothing else",
		}},
		"believes in its own writes": {nil, func(p hosting.Provider) hosting.Provider { return sure{p} }, []string{
			"a credential that ended answers nothing", "one refused key does not keep the others from being done",
			"a call that fails is told of truthfully, and a second run mends it",
		}},
		"keeps its old refresh token": {nil, func(p hosting.Provider) hosting.Provider { return renewing{p.(hosting.Authorizer)} }, []string{
			"a refresh brings a grant that works",
		}},
		"waves the browser through": {nil, func(p hosting.Provider) hosting.Provider { return waving{p.(hosting.Authorizer)} }, []string{
			"a code is exchanged once", "a refresh brings a grant that works",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hostingtest.Broken(t, func(t *testing.T) *hostingtest.Host {
				h := newRailway(t)
				h.transport = broken.transport
				if broken.around != nil {
					h.Wrap(broken.around)
				}
				return h.Host
			}, broken.rules...)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(broken.rules)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}

// waving does not have users asked again, who then give nothing that lasts.
type waving struct{ hosting.Authorizer }

func (p waving) AuthorizeURL(state, challenge string) string {
	return strings.Replace(p.Authorizer.AuthorizeURL(state, challenge), "prompt=consent&", "", 1)
}
