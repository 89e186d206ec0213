package forgetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

type mutant struct {
	around func(*plainClient) forge.Forge
	rules  []string // that do not hold for it, among others
}

// mutants are clients of the plain host which are broken on purpose, in each way
// that a rule is there for.
func mutants() map[string]mutant {
	return map[string]mutant{
		"asks once only": {via(askOnce), []string{"what fails once is asked again"}},
		"takes failures for absence": {via(failuresAreAbsence), []string{
			"what the host spoils is no answer, at whichever request", "a list whose page fails is an error",
		}},
		"takes failures for the end of a grant": {via(failuresAreRefusals), []string{"a host that fails does not end a grant"}},
		"takes half a list for all of it": {func(c *plainClient) forge.Forge { return partial{c} }, []string{
			"what the host spoils is no answer, at whichever request", "a list whose page fails is an error",
		}},
		"follows redirects":          {follow, []string{"a redirect to another host is not followed", "what the host spoils is no answer, at whichever request"}},
		"puts tokens into addresses": {via(tokenInAddress), []string{"a repository is found by name in any case", "many may ask at once"}},
		"waits for ever":             {via(waitForEver), []string{"a host that hangs is unavailable in time", "who gives up is not kept waiting"}},
		"tells tokens":               {func(c *plainClient) forge.Forge { return telling{c} }, []string{"a token that ended answers nothing"}},
		"remembers roles for ever": {func(c *plainClient) forge.Forge { return remembering{c, map[string]forge.Reachable{}} }, []string{
			"a blocked user has no role", "a deleted user has no role", "a member who left has no role", "a role that was taken away is gone",
		}},
		"lets nobody in": {func(c *plainClient) forge.Forge { return nobody{c} }, []string{
			"a collaborator has the role they were given", "a member of a team has the team's role", "a recycled login loses nothing of its own",
			"an answer about a role carries the repository of today", "an organization's base role is every member's", "many may ask at once",
			"owners are admin of what is theirs", "reading what is internal counts for who was let in",
			"reading what is public counts for who was let in", "the highest of several roles counts",
		}},
		"lets everybody in": {func(c *plainClient) forge.Forge { return everybody{c} }, []string{
			"outsiders have no role, not even on what is public", "seeing a repository is no role",
			"signed-in outsiders have no role on what is internal",
		}},
		"knows no owners": {func(c *plainClient) forge.Forge { return ownerless{c} }, []string{
			"a repository tells its owner and visibility", "internal is not public", "what a hidden organization has is not public",
		}},
		"knows people by name": {func(c *plainClient) forge.Forge { return named{c} }, []string{"a recycled login gains nothing"}},
		"finds everything":     {func(c *plainClient) forge.Forge { return finding{c} }, []string{"what never was is not found", "who may not see a repository does not find it"}},
		"believes every token": {func(c *plainClient) forge.Forge { return believing{c} }, []string{
			"a machine's token is turned down", "a personal access token is its user's", "a revoked token is turned down",
			"a token of a blocked or deleted user is turned down", "a token of another application is turned down",
			"a token of our application is its user's", "an expired token is turned down", "an unknown token is turned down",
		}},
		"forgets what is missing": {func(c *plainClient) forge.Forge { return vague{c} }, []string{"a grant without the scopes we need names them", "a missing scope is named"}},
		"asks as a stranger": {func(c *plainClient) forge.Forge { return generous{c} }, []string{
			"without any credential nothing is answered",
		}},
		"lists nothing": {func(c *plainClient) forge.Forge { return listless{c} }, []string{
			"an outsider's list of members is no truth", "collaborators are listed over all pages", "collaborators are owners and teams as well",
			"members are listed over all pages", "organizations are listed over all pages", "owners and members are told apart from neither",
			"repositories are listed over all pages", "repositories are listed with the roles on them", "ten thousand members are listed",
		}},
		"follows old names of organizations": {func(c *plainClient) forge.Forge { return labelled{c} }, []string{"a recycled organization is another"}},
		"signs in carelessly": {func(c *plainClient) forge.Forge { return careless{c} }, []string{
			"a code is exchanged once, with its verifier", "a code that ended or is another's is turned down", "a grant can be ended",
			"a grant's access token is its user's", "a host that fails does not spoil a code", "a refresh brings new tokens",
			"a refresh token that is over ends the grant", "the browser is sent with state, challenge and scopes",
		}},
		"believes every delivery": {func(c *plainClient) forge.Forge { return gullible{c} }, []string{
			"a changed body is refused", "a delivery that makes no sense is an error", "a delivery without its headers is none",
			"a duplicate has the same id", "a signed delivery says what it is about", "a wrong signature is refused",
			"without a secret no delivery is believed",
		}},
		"leaves goroutines behind": {func(c *plainClient) forge.Forge { return leaking{c} }, []string{"no goroutine stays behind"}},
		"answers nobody in time":   {via(impatient), []string{"a slow answer is an answer"}},
		"follows names instead of ids": {func(c *plainClient) forge.Forge { return byName{literal{c}} }, []string{
			"a deleted repository gives no role to its name's next", "a recycled name is another repository",
			"a renamed repository is found by its id", "a repository of a renamed owner is found by its id",
			"a transferred repository has its new owner",
		}},
		"knows no old names":     {func(c *plainClient) forge.Forge { return literal{c} }, []string{"an old name leads to the renamed repository"}},
		"wants fresh deliveries": {func(c *plainClient) forge.Forge { return fresh{c, time.Now()} }, []string{"an old delivery is refused where the host dates them"}},
		"has an outage":          {func(c *plainClient) forge.Forge { return down{c} }, []string{"a host that is down is unavailable"}},
	}
}

func TestTheRulesSeeEveryMutant(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			got := forgetest.Broken(t, func(t *testing.T) *forgetest.Host {
				return plainHost(t).Wrap(func(f forge.Forge) forge.Forge { return m.around(f.(*plainClient)) })
			}, m.rules...)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(m.rules)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}

// TestEveryRuleHasAMutant keeps rules out that nothing was seen to break.
func TestEveryRuleHasAMutant(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutants() {
		for _, rule := range m.rules {
			seen[rule] = true
		}
	}
	for _, rule := range forgetest.Rules() {
		if !seen[rule.Name] {
			t.Errorf("no mutant breaks %q", rule.Name)
		}
		delete(seen, rule.Name)
	}
	for rule := range seen {
		t.Errorf("there is no rule %q", rule)
	}
}

// via changes how a client reaches its host.
func via(change func(next http.RoundTripper, r *http.Request) (*http.Response, error)) func(*plainClient) forge.Forge {
	return func(c *plainClient) forge.Forge {
		next := c.http.Transport
		c.http.Transport = tripper(func(r *http.Request) (*http.Response, error) { return change(next, r) })
		return c
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func askOnce(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	res, err := next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusBadGateway {
		res.StatusCode = http.StatusInternalServerError
	}
	return res, err
}

func failuresAreAbsence(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	res, err := next.RoundTrip(r)
	if err == nil && res.StatusCode >= 500 {
		res.StatusCode = http.StatusNotFound
	}
	return res, err
}

func failuresAreRefusals(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	res, err := next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && res.StatusCode != http.StatusOK {
		res.StatusCode = http.StatusBadRequest
	}
	return res, err
}

func follow(c *plainClient) forge.Forge {
	c.http.CheckRedirect = nil
	return c
}

func tokenInAddress(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.RawQuery += "&" + url.Values{"token": {strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}}.Encode()
	return next.RoundTrip(r)
}

func waitForEver(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 3300*time.Millisecond)
	defer cancel()
	res, err := next.RoundTrip(r.Clone(ctx))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

func impatient(_ http.RoundTripper, _ *http.Request) (*http.Response, error) {
	return nil, errors.New("too late")
}

// partial hands out the pages that it got before a failure.
type partial struct{ *plainClient }

func (c partial) Members(ctx context.Context, as forge.Asker, org forge.Organization) ([]forge.Member, error) {
	var found []forge.Member
	q := byID(org.ID)
	for n := 1; ; n++ {
		q.Set("page", fmt.Sprint(n))
		var page []forge.Member
		h, err := c.get(ctx, as, "members", q, &page)
		if found = append(found, page...); err != nil && n > 1 || h.Get("X-More") != "true" {
			return found, nil
		}
	}
}

// telling puts the token into its errors.
type telling struct{ *plainClient }

func (c telling) Standing(ctx context.Context, as forge.Asker, org forge.Organization) (string, error) {
	s, err := c.plainClient.Standing(ctx, as, org)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, as.Token)
	}
	return s, err
}

type remembering struct {
	*plainClient
	seen map[string]forge.Reachable
}

func (c remembering) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := c.plainClient.Role(ctx, as, repo)
	key := as.User.ID + " " + repo.ID
	if old, ok := c.seen[key]; ok && got.Role == forge.None {
		return old, nil
	}
	if got.Role == forge.None { // what it learned before it was started
		got.Role = forge.Read
	}
	c.seen[key] = got
	return got, err
}

type nobody struct{ *plainClient }

func (c nobody) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	return forge.Reachable{}, nil
}

type everybody struct{ *plainClient }

func (c everybody) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := c.plainClient.Role(ctx, as, repo)
	if err == nil && got.Role == forge.None {
		got.Role = forge.Read
	}
	return got, err
}

type ownerless struct{ *plainClient }

func (c ownerless) RepositoryByID(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Repository, error) {
	got, err := c.plainClient.RepositoryByID(ctx, as, repo)
	got.OwnerKind, got.Public = forge.OwnerUser, true
	return got, err
}

// named asks the service about whoever has the login today.
type named struct{ *plainClient }

func (c named) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	if as.Token != "" {
		return c.plainClient.Role(ctx, as, repo)
	}
	boss := as
	boss.User.ID = "1001" // who may see the list, in every world of the rules
	people, err := c.Collaborators(ctx, boss, repo)
	for _, p := range people {
		if p.User.Login == as.User.Login {
			return forge.Reachable{Repository: repo, Role: p.Role}, err
		}
	}
	return forge.Reachable{}, err
}

type finding struct{ *plainClient }

func (c finding) Repository(_ context.Context, _ forge.Asker, owner, name string) (forge.Repository, error) {
	return forge.Repository{ID: "1", Owner: owner, Name: name}, nil
}

type believing struct{ *plainClient }

func (c believing) Bearer(context.Context, string) (forge.User, error) {
	return forge.User{ID: "1", Login: "root"}, nil
}

type vague struct{ *plainClient }

func (c vague) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	return forge.Reachable{}, forge.ErrRefused
}

func (c vague) Exchange(context.Context, string, string) (forge.Grant, forge.User, error) {
	return forge.Grant{}, forge.User{}, forge.ErrRefused
}

// generous asks as a stranger when it has no credential.
type generous struct{ *plainClient }

func (c generous) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	got, err := c.plainClient.Repository(ctx, as, owner, name)
	if errors.Is(err, forge.ErrNoCredential) {
		err = forge.ErrNotFound
	}
	return got, err
}

type listless struct{ *plainClient }

func (listless) Members(context.Context, forge.Asker, forge.Organization) ([]forge.Member, error) {
	return nil, nil
}

func (listless) Organizations(context.Context, forge.Asker) ([]forge.Membership, error) {
	return nil, nil
}

func (listless) Repositories(context.Context, forge.Asker) ([]forge.Reachable, error) {
	return nil, nil
}

func (listless) Collaborators(context.Context, forge.Asker, forge.Repository) ([]forge.Collaborator, error) {
	return nil, nil
}

func (listless) Standing(context.Context, forge.Asker, forge.Organization) (string, error) {
	return "", nil
}

type labelled struct{ *plainClient }

func (c labelled) Standing(ctx context.Context, as forge.Asker, org forge.Organization) (string, error) {
	today, err := c.Organization(ctx, as, org.Login)
	if err != nil {
		return "", err
	}
	return c.plainClient.Standing(ctx, as, today)
}

type careless struct{ *plainClient }

func (careless) AuthorizeURL(string, string) string { return "https://elsewhere.example/" }

func (careless) Exchange(context.Context, string, string) (forge.Grant, forge.User, error) {
	return forge.Grant{Access: "anything", Refresh: "anything"}, forge.User{ID: "1"}, nil
}

func (careless) Self(context.Context, string) (forge.User, error) { return forge.User{ID: "1"}, nil }

func (careless) Refresh(context.Context, string) (forge.Grant, error) { return forge.Grant{}, nil }

func (careless) Revoke(context.Context, forge.Grant) error { return errors.New("no") }

type gullible struct{ *plainClient }

func (gullible) Event(d forge.Delivery) (forge.Event, error) {
	return forge.Event{ID: "1", Name: d.Header("X-Event")}, nil
}

type leaking struct{ *plainClient }

func (c leaking) Bearer(ctx context.Context, token string) (forge.User, error) {
	go time.Sleep(3 * time.Second)
	return c.plainClient.Bearer(ctx, token)
}

type down struct{ *plainClient }

func (c down) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := c.plainClient.Role(ctx, as, repo)
	if _, ok := errors.AsType[*forge.Unavailable](err); ok {
		return forge.Reachable{Repository: repo, Role: forge.Read}, nil
	}
	return got, err
}

// byName follows names instead of ids.
type byName struct{ forge.Forge }

func (f byName) RepositoryByID(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Repository, error) {
	return f.Repository(ctx, as, repo.Owner, repo.Name)
}

type literal struct{ *plainClient }

func (c literal) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	got, err := c.plainClient.Repository(ctx, as, owner, name)
	if err == nil && !strings.EqualFold(got.FullName(), owner+"/"+name) {
		return forge.Repository{}, forge.ErrNotFound
	}
	return got, err
}

// fresh refuses what it cannot know the age of.
type fresh struct {
	*plainClient
	now time.Time
}

func (c fresh) Event(d forge.Delivery) (forge.Event, error) {
	if d.At.Sub(c.now).Abs() > 5*time.Minute {
		return forge.Event{}, forge.ErrSignature
	}
	return c.plainClient.Event(d)
}
