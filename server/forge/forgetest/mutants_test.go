package forgetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coffer/server/forge"
)

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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2300*time.Millisecond)
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

type exact struct{ *plainClient }

func (c exact) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
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
