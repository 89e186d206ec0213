package hostingtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
)

// plainClient is a client of the plain provider that keeps all rules.
type plainClient struct {
	base   string
	http   *http.Client
	waited *waits
	tries  int
	size   int // of a batch
}

func newPlainClient(base string, w *waits) *plainClient {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &plainClient{base: base, waited: w, tries: 4, size: batch, http: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(), CheckRedirect: stay,
	}}
}

func (c *plainClient) Describe() hosting.Description {
	return hosting.Description{
		Name: hosting.Vercel, Display: "Plain", Environments: map[string]string{"production": "production"},
		ValidKey: func(key string) bool { return key != "" }, OAuth: true, PKCE: true,
	}
}

var errVague = errors.New("its answer cannot be understood")

// ask asks until there is an answer, and reads it into out.
func (c *plainClient) ask(ctx context.Context, as hosting.Credential, path string, q url.Values, body []byte, out any) error {
	for try := 1; ; try++ {
		wait, err := c.once(ctx, as, path, q, body, out)
		if wait == 0 || try == c.tries || ctx.Err() != nil {
			return err
		}
		c.waited.sleep(wait)
	}
}

// once asks once, and says how long to wait before the next try, 0 for none.
func (c *plainClient) once(ctx context.Context, as hosting.Credential, path string, q url.Values, body []byte, out any) (time.Duration, error) {
	method, kind := http.MethodGet, "application/json"
	if body != nil {
		method = http.MethodPost
	}
	if path == "/token" {
		kind = "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+q.Encode(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+as.Token.Reveal())
	res, err := c.http.Do(req)
	if err != nil {
		return time.Second, &hosting.Unavailable{Err: errors.New("the connection broke")}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	isJSON := strings.HasPrefix(res.Header.Get("Content-Type"), "application/json")
	if err != nil {
		return time.Second, &hosting.Unavailable{Err: errors.New("the connection broke")}
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		n, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(max(n, 1)) * time.Second, &hosting.Unavailable{Limited: true, Err: errors.New("asked too often")}
	case res.StatusCode > 500:
		return time.Second, &hosting.Unavailable{Err: errors.New("it failed")}
	case res.StatusCode == http.StatusUnauthorized && isJSON && path != "/token":
		return 0, hosting.ErrCredential
	case res.StatusCode == http.StatusNotFound && isJSON:
		return 0, hosting.ErrNotFound
	case res.StatusCode == http.StatusBadRequest && path == "/token" && strings.Contains(string(text), `"invalid_grant"`):
		return 0, hosting.ErrCredential
	case res.StatusCode != http.StatusOK || !isJSON || json.Unmarshal(text, out) != nil:
		return 0, &hosting.Unavailable{Err: errVague}
	}
	return 0, nil
}

func (c *plainClient) Check(ctx context.Context, as hosting.Credential) (hosting.Account, error) {
	var a struct{ Name string }
	err := c.ask(ctx, as, "/account", url.Values{"team": {as.Team}}, nil, &a)
	if err == nil && a.Name == "" {
		err = &hosting.Unavailable{Err: errVague}
	}
	return hosting.Account{UserName: a.Name}, err
}

// pages reads a list to its end.
func pages[T any](ctx context.Context, c *plainClient, as hosting.Credential, path string, q url.Values) ([]T, error) {
	var all []T
	for n := 1; ; n++ {
		q.Set("page", strconv.Itoa(n))
		var page struct {
			Items *[]T
			More  bool
		}
		if err := c.ask(ctx, as, path, q, nil, &page); err != nil {
			return nil, err
		}
		if page.Items == nil {
			return nil, &hosting.Unavailable{Err: errVague}
		}
		if all = append(all, *page.Items...); !page.More {
			return all, nil
		}
	}
}

func plainProject(id string) hosting.Project {
	return hosting.Project{ID: id, Name: "project " + id, Environments: []hosting.Environment{{Name: "production"}, {Name: "staging"}}}
}

func (c *plainClient) Projects(ctx context.Context, as hosting.Credential) ([]hosting.Project, error) {
	ids, err := pages[string](ctx, c, as, "/projects", url.Values{})
	var all []hosting.Project
	for _, id := range ids {
		all = append(all, plainProject(id))
	}
	return all, err
}

func (c *plainClient) Find(ctx context.Context, as hosting.Credential, project, service string) (hosting.Project, error) {
	var got struct{ ID string }
	if err := c.ask(ctx, as, "/project", url.Values{"project": {project}, "service": {service}}, nil, &got); err != nil {
		return hosting.Project{}, err
	}
	if got.ID != project {
		return hosting.Project{}, &hosting.Unavailable{Err: errVague}
	}
	return plainProject(project), nil
}

func at(t hosting.Target) url.Values {
	return url.Values{"project": {t.Project.ID}, "environment": {t.Environment.Name}}
}

func (c *plainClient) List(ctx context.Context, as hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
	found, err := pages[plainVar](ctx, c, as, "/vars", at(t))
	if err != nil {
		return nil, err
	}
	var all []hosting.Variable
	for _, v := range found {
		if v.Key == "" {
			return nil, &hosting.Unavailable{Err: errVague}
		}
		one := hosting.Variable{Key: v.Key, Readable: v.Value != nil, Origin: v.Origin, Shared: v.Shared, Mark: v.Mark}
		if v.Value != nil {
			one.Value = api.NewSecret(*v.Value)
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *plainClient) Write(ctx context.Context, as hosting.Credential, t hosting.Target, all []hosting.Write, done func(hosting.Outcome) error) error {
	for ; len(all) > 0; all = all[min(c.size, len(all)):] {
		var body []map[string]string
		for _, w := range all[:min(c.size, len(all))] {
			body = append(body, map[string]string{"key": w.Key, "value": w.Value.Reveal()})
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		var got struct {
			Results []struct{ Key, Code, Mark string }
		}
		if err := c.ask(ctx, as, "/vars", at(t), text, &got); err != nil {
			return err
		}
		if len(got.Results) != len(body) {
			return &hosting.Unavailable{Err: errVague}
		}
		for _, r := range got.Results {
			out := hosting.Outcome{Key: r.Key, Mark: r.Mark}
			if r.Code != "ok" {
				out.Err = &hosting.Failure{Code: hosting.Code(r.Code)}
			}
			if err := done(out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *plainClient) Delete(ctx context.Context, as hosting.Credential, t hosting.Target, all []hosting.Variable, done func(hosting.Outcome) error) error {
	for ; len(all) > 0; all = all[min(c.size, len(all)):] {
		var keys []string
		for _, v := range all[:min(c.size, len(all))] {
			keys = append(keys, v.Key)
		}
		text, err := json.Marshal(keys)
		if err != nil {
			return err
		}
		var got struct{ Gone bool }
		if err := c.ask(ctx, as, "/gone", at(t), text, &got); err != nil {
			return err
		}
		if !got.Gone {
			return &hosting.Unavailable{Err: errVague}
		}
		for _, key := range keys {
			if err := done(hosting.Outcome{Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *plainClient) AuthorizeURL(state, challenge string) string {
	q := url.Values{"state": {state}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}}
	return c.base + "/authorize?" + q.Encode()
}

func (c *plainClient) grant(ctx context.Context, q url.Values) (hosting.Grant, error) {
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Expires int    `json:"expires_in"`
	}
	if _, err := c.once(ctx, hosting.Credential{}, "/token", nil, []byte(q.Encode()), &got); err != nil {
		return hosting.Grant{}, err
	}
	if got.Access == "" {
		return hosting.Grant{}, &hosting.Unavailable{Err: errVague}
	}
	ends := time.Now().Add(time.Duration(got.Expires) * time.Second)
	return hosting.Grant{Access: api.NewSecret(got.Access), Refresh: api.NewSecret(got.Refresh), Expires: ends}, nil
}

func (c *plainClient) Exchange(ctx context.Context, callback map[string][]string, verifier string) (hosting.Grant, error) {
	code := url.Values(callback).Get("code")
	if code == "" {
		return hosting.Grant{}, hosting.ErrCredential
	}
	return c.grant(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}})
}

func (c *plainClient) Refresh(ctx context.Context, refresh api.Secret) (hosting.Grant, error) {
	return c.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}})
}

// replaced is a body with another text in it.
func replaced(body io.ReadCloser, old, with string) io.ReadCloser {
	text, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil {
		return io.NopCloser(errReader{err})
	}
	return io.NopCloser(bytes.NewReader(bytes.ReplaceAll(text, []byte(old), []byte(with))))
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }
