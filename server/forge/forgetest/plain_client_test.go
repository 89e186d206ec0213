package forgetest_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

// plainClient is the client of the plain host.
type plainClient struct {
	host    string
	service string
	hook    string
	app     forgetest.App
	http    *http.Client
}

func (c *plainClient) Kind() string { return "plain" }

// do asks once more what broke off, if that is harmless.
func (c *plainClient) do(ctx context.Context, method, address, token string, form url.Values, out any) (http.Header, error) {
	h, err := c.once(ctx, method, address, token, form, out)
	if errors.Is(err, errBroken) && method == http.MethodGet {
		return c.once(ctx, method, address, token, form, out)
	}
	return h, err
}

func (c *plainClient) once(ctx context.Context, method, address, token string, form url.Values, out any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &forge.Unavailable{Err: errBroken}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode == http.StatusBadGateway {
		return nil, &forge.Unavailable{Err: errBroken}
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return nil, &forge.Unavailable{Err: errors.New("no word of the host's")}
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return nil, forge.ErrToken
	case http.StatusNotFound:
		return nil, forge.ErrNotFound
	case http.StatusForbidden:
		return nil, &forge.Missing{What: "the scope read"}
	case http.StatusBadRequest:
		return nil, errRefused
	}
	hollow := out != nil && bytes.Contains(body, []byte("{}")) // the plain host leaves nothing out
	if res.StatusCode != http.StatusOK || hollow || json.Unmarshal(body, out) != nil {
		return nil, &forge.Unavailable{RetryAfter: time.Duration(seconds) * time.Second, Err: errors.New("nonsense")}
	}
	return res.Header, nil
}

var (
	errRefused = errors.New("refused")
	errBroken  = errors.New("it broke off")
)

// get asks a question with the right credential.
func (c *plainClient) get(ctx context.Context, as forge.Asker, question string, q url.Values, out any) (http.Header, error) {
	token := cmp.Or(as.Token, c.service)
	if token == "" {
		return nil, forge.ErrNoCredential
	}
	q.Set("user", as.User.ID)
	return c.do(ctx, http.MethodGet, c.host+"/ask/"+question+"?"+q.Encode(), token, nil, out)
}

func one[T any](ctx context.Context, c *plainClient, as forge.Asker, question string, q url.Values) (answer T, err error) {
	if _, err = c.get(ctx, as, question, q, &answer); err != nil {
		var none T
		return none, err
	}
	return answer, nil
}

func all[T any](ctx context.Context, c *plainClient, as forge.Asker, question string, q url.Values) (found []T, err error) {
	for n := 1; ; n++ {
		q.Set("page", strconv.Itoa(n))
		var page []T
		h, err := c.get(ctx, as, question, q, &page)
		if err != nil {
			return nil, err
		}
		found = append(found, page...)
		if h.Get("X-More") != "true" {
			return found, nil
		}
	}
}

func byID(id string) url.Values { return url.Values{"id": {id}} }

func (c *plainClient) Bearer(ctx context.Context, token string) (forge.User, error) {
	return one[forge.User](ctx, c, forge.Asker{Token: token}, "user", url.Values{})
}

func (c *plainClient) Repository(ctx context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	return one[forge.Repository](ctx, c, as, "repository", url.Values{"owner": {owner}, "name": {name}})
}

func (c *plainClient) RepositoryByID(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Repository, error) {
	return one[forge.Repository](ctx, c, as, "repository", byID(repo.ID))
}

func (c *plainClient) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	return one[forge.Reachable](ctx, c, as, "role", byID(repo.ID))
}

func (c *plainClient) Repositories(ctx context.Context, as forge.Asker) ([]forge.Reachable, error) {
	return all[forge.Reachable](ctx, c, as, "repositories", url.Values{})
}

func (c *plainClient) Collaborators(ctx context.Context, as forge.Asker, repo forge.Repository) ([]forge.Collaborator, error) {
	return all[forge.Collaborator](ctx, c, as, "collaborators", byID(repo.ID))
}

func (c *plainClient) Organization(ctx context.Context, as forge.Asker, login string) (forge.Organization, error) {
	return one[forge.Organization](ctx, c, as, "organization", url.Values{"owner": {login}})
}

func (c *plainClient) Standing(ctx context.Context, as forge.Asker, org forge.Organization) (string, error) {
	return one[string](ctx, c, as, "standing", byID(org.ID))
}

func (c *plainClient) Organizations(ctx context.Context, as forge.Asker) ([]forge.Membership, error) {
	return all[forge.Membership](ctx, c, as, "organizations", url.Values{})
}

func (c *plainClient) Members(ctx context.Context, as forge.Asker, org forge.Organization) ([]forge.Member, error) {
	return all[forge.Member](ctx, c, as, "members", byID(org.ID))
}

func (c *plainClient) AuthorizeURL(state, challenge string) string {
	return c.host + "/authorize?" + url.Values{
		"state": {state}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}, "scope": {"read"},
		"client_id": {c.app.ClientID}, "redirect_uri": {c.app.Redirect}, "response_type": {"code"},
	}.Encode()
}

func (c *plainClient) grant(ctx context.Context, form url.Values, refused error) (g forge.Grant, err error) {
	form.Set("client", c.app.ClientID)
	form.Set("secret", c.app.Secret)
	if _, err = c.do(ctx, http.MethodPost, c.host+"/token", "", form, &g); errors.Is(err, errRefused) {
		err = refused
	}
	return g, err
}

func (c *plainClient) Exchange(ctx context.Context, code, verifier string) (forge.Grant, forge.User, error) {
	g, err := c.grant(ctx, url.Values{"code": {code}, "verifier": {verifier}}, forge.ErrToken)
	if err != nil {
		return forge.Grant{}, forge.User{}, err
	}
	who, err := c.Self(ctx, g.Access)
	return g, who, err
}

func (c *plainClient) Refresh(ctx context.Context, refresh string) (forge.Grant, error) {
	return c.grant(ctx, url.Values{"refresh": {refresh}}, forge.ErrGrantEnded)
}

func (c *plainClient) Self(ctx context.Context, access string) (forge.User, error) {
	return c.Bearer(ctx, access)
}

func (c *plainClient) Revoke(ctx context.Context, g forge.Grant) error {
	var nothing any
	_, err := c.do(ctx, http.MethodPost, c.host+"/revoke", "", url.Values{"token": {g.Access}}, &nothing)
	return err
}

func (c *plainClient) Event(d forge.Delivery) (e forge.Event, err error) {
	id, name, signature := d.Header("X-Delivery"), d.Header("X-Event"), d.Header("X-Signature")
	switch {
	case c.hook == "":
		return e, forge.ErrNoSecret
	case id == "" || name == "" || signature == "":
		return e, forge.ErrNoSignature
	case !hmac.Equal([]byte(signature), []byte(forgetest.HMAC(c.hook, d.Body))):
		return e, forge.ErrSignature
	}
	if err := json.Unmarshal(d.Body, &e); err != nil {
		return forge.Event{}, fmt.Errorf("a delivery that cannot be understood: %w", err)
	}
	e.ID, e.Name = id, name
	return e, nil
}
