package hosting

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/nacl/box"
	"golang.org/x/sync/errgroup"

	"coffer/server/api"
)

// githubActions is the secrets of GitHub Actions: those of a repository, and
// those of each of its environments. Values are sealed for GitHub before they
// are sent, and are never given back.
//
// What a repository hands down to its environments, and an organization to its
// repositories, is not listed: a secret of the same name goes before it, and it
// is not the target's.
//
// API: https://docs.github.com/rest/actions/secrets
type githubActions struct{ api *wire }

// wholeRepository is the name, among a repository's environments, of the place
// that all of them have secrets from. Its ID is "".
const wholeRepository = "repository"

const (
	githubMaxValue = 48 << 10
	githubAtOnce   = 8           // repositories that are asked for their environments
	githubPause    = time.Minute // after a limit that names no time, as GitHub's guide says
)

// githubName is what a secret may be called. GitHub stores names in capitals: one
// with small letters would come back as another, so it is none.
var githubName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

func newGitHubActions(c Config) (Provider, error) {
	w, err := newWire(c, "https://api.github.com")
	if err != nil {
		return nil, err
	}
	w.judge = judgeGitHub
	w.limitPause = githubPause
	return &githubActions{w}, nil
}

// judgeGitHub knows the limits that GitHub reports as forbidden, and names that it
// does not take.
func judgeGitHub(a *answer) error {
	var said struct{ Message string }
	if a.decode(&said) != nil {
		return nil
	}
	text := strings.ToLower(said.Message)
	switch {
	case a.Status == http.StatusForbidden && (a.Header.Get("Retry-After") != "" || a.Header.Get("X-Ratelimit-Remaining") == "0" || strings.Contains(text, "rate limit")):
		return errLimited
	case a.Status == http.StatusUnprocessableEntity && strings.Contains(text, "secret names"):
		return &Failure{Code: CodeInvalidKey, RequestID: a.requestID()}
	}
	return nil
}

// Describe says what holds for GitHub Actions.
func (g *githubActions) Describe() Description {
	return Description{
		Name: GitHubActions, Display: "GitHub Actions",
		Environments:     map[string]string{"production": "production", "staging": "staging", "development": "development", "dev": "development"},
		ReservedPrefixes: []string{"GITHUB_"},
		ValidKey:         githubName.MatchString,
		MaxValue:         githubMaxValue,
		MaxKeys:          100,
		WriteOnly:        true,
	}
}

func (g *githubActions) call(c Credential, method, path string) call {
	return call{method: method, path: path, cred: c, header: http.Header{"X-Github-Api-Version": {"2022-11-28"}}}
}

// Check says whose a token is. Tokens are of people and reach what those let them
// reach: there are no teams to choose from.
func (g *githubActions) Check(ctx context.Context, c Credential) (Account, error) {
	if c.Team != "" {
		return Account{}, ErrNotFound
	}
	var user struct {
		ID    int64
		Login string
	}
	a, err := g.api.ask(ctx, g.call(c, "", "/user"), &user)
	if err != nil {
		return Account{}, err
	}
	if user.ID == 0 || user.Login == "" {
		return Account{}, a.senseless()
	}
	kind := "fine-grained"
	if _, classic := a.Header["X-Oauth-Scopes"]; classic {
		kind = "classic"
	}
	return Account{UserID: strconv.FormatInt(user.ID, 10), UserName: user.Login, Kind: kind}, nil
}

type githubRepository struct {
	ID          int64
	FullName    string    `json:"full_name"`
	Created     time.Time `json:"created_at"`
	Archived    bool
	Permissions struct{ Push bool }
}

func (r githubRepository) project() Project {
	return Project{
		ID: strconv.FormatInt(r.ID, 10), Name: r.FullName, Repository: r.FullName, Created: r.Created,
		Environments: []Environment{{Name: wholeRepository}},
	}
}

// path is where a repository is addressed by its name: GitHub describes secrets
// in no other way. The name is as Find told it.
func (p Project) githubPath() string {
	owner, name, _ := strings.Cut(p.Name, "/")
	return "/repos/" + segment(owner) + "/" + segment(name)
}

// Projects lists the repositories whose secrets the token's user may write, with
// their environments.
func (g *githubActions) Projects(ctx context.Context, c Credential) ([]Project, error) {
	ask := g.call(c, "", "/user/repos")
	ask.query = url.Values{"affiliation": {"owner,collaborator,organization_member"}, "sort": {"full_name"}}
	var all []Project
	err := g.pages(ctx, ask, func(a *answer) error {
		var page []githubRepository
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, r := range page {
			if r.ID == 0 || !strings.Contains(r.FullName, "/") {
				return a.senseless()
			}
			if r.Permissions.Push && !r.Archived {
				all = append(all, r.project())
			}
		}
		return nil
	})
	if err == nil {
		err = g.fill(ctx, c, all)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// fill asks for the environments of many repositories, some at a time.
func (g *githubActions) fill(ctx context.Context, c Credential, all []Project) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(githubAtOnce)
	for i := range all {
		group.Go(func() error { return g.environments(ctx, c, &all[i]) })
	}
	return group.Wait()
}

// environments adds a repository's own environments. Some repositories cannot
// have any, and some tokens may not see them.
func (g *githubActions) environments(ctx context.Context, c Credential, p *Project) error {
	err := g.pages(ctx, g.call(c, "", p.githubPath()+"/environments"), func(a *answer) error {
		var page struct{ Environments *[]struct{ Name string } }
		if err := a.decode(&page); err != nil {
			return err
		}
		if page.Environments == nil {
			return a.senseless()
		}
		for _, e := range *page.Environments {
			if e.Name == "" {
				return a.senseless()
			}
			if e.Name != wholeRepository {
				p.Environments = append(p.Environments, Environment{ID: e.Name, Name: e.Name})
			}
		}
		return nil
	})
	if f, ok := errors.AsType[*Failure](err); errors.Is(err, ErrNotFound) || ok && f.Code == CodeForbidden {
		return nil
	}
	return err
}

// pages asks for a list to its last page.
func (g *githubActions) pages(ctx context.Context, c call, read func(*answer) error) error {
	q := url.Values{"per_page": {"100"}}
	for name, values := range c.query {
		q[name] = values
	}
	c.query = q
	for n := 1; n <= maxPages; n++ {
		q.Set("page", strconv.Itoa(n))
		a, err := g.api.do(ctx, c)
		if err != nil {
			return err
		}
		if err := read(a); err != nil {
			return err
		}
		if !strings.Contains(a.Header.Get("Link"), `rel="next"`) {
			return nil
		}
	}
	return &Unavailable{Err: errors.New("its list has no end")}
}

// Find is a repository by its id.
func (g *githubActions) Find(ctx context.Context, c Credential, project, service string) (Project, error) {
	id, err := strconv.ParseInt(project, 10, 64)
	if err != nil || id <= 0 || service != "" {
		return Project{}, ErrNotFound
	}
	var r githubRepository
	a, err := g.api.ask(ctx, g.call(c, "", "/repositories/"+strconv.FormatInt(id, 10)), &r)
	if err != nil {
		return Project{}, err
	}
	if r.ID != id || !strings.Contains(r.FullName, "/") {
		return Project{}, a.senseless()
	}
	p := r.project()
	if err := g.environments(ctx, c, &p); err != nil {
		return Project{}, err
	}
	return p, nil
}

// secrets is where a target's secrets are.
func (t Target) githubPath() string {
	if t.Environment.ID == "" {
		return t.Project.githubPath() + "/actions/secrets"
	}
	return t.Project.githubPath() + "/environments/" + segment(t.Environment.ID) + "/secrets"
}

// List lists a target's own secrets, without their values.
func (g *githubActions) List(ctx context.Context, c Credential, t Target) ([]Variable, error) {
	var all []Variable
	total := 0
	err := g.pages(ctx, g.call(c, "", t.githubPath()), func(a *answer) error {
		var page struct {
			Total   int `json:"total_count"`
			Secrets *[]struct {
				Name    string
				Updated string `json:"updated_at"`
			}
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		if page.Secrets == nil {
			return a.senseless()
		}
		total = page.Total
		for _, s := range *page.Secrets {
			if s.Name == "" || s.Updated == "" {
				return a.senseless()
			}
			all = append(all, Variable{Key: s.Name, Origin: FromUser, Mark: s.Updated})
		}
		return nil
	})
	if err == nil && len(all) != total {
		err = &Unavailable{Err: fmt.Errorf("its list has %d entries and should have %d; was it changed meanwhile?", len(all), total)}
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// githubKey seals values for one target.
type githubKey struct {
	id  string
	key *[32]byte
}

func (g *githubActions) key(ctx context.Context, c Credential, t Target) (githubKey, error) {
	var said struct {
		ID  string `json:"key_id"`
		Key string
	}
	a, err := g.api.ask(ctx, g.call(c, "", t.githubPath()+"/public-key"), &said)
	if err != nil {
		return githubKey{}, err
	}
	key, err := base64.StdEncoding.DecodeString(said.Key)
	if err != nil || len(key) != 32 || said.ID == "" {
		return githubKey{}, a.senseless()
	}
	return githubKey{said.ID, (*[32]byte)(key)}, nil
}

// seal is libsodium's sealed box, which only GitHub can open.
func (k githubKey) seal(value api.Secret) (string, error) {
	sealed, err := box.SealAnonymous(nil, []byte(value.Reveal()), k.key, rand.Reader)
	if err != nil {
		return "", errors.New("a value cannot be sealed for GitHub")
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// Write seals and sends one secret after the other: GitHub takes them singly, and
// wants them not all at a time.
func (g *githubActions) Write(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error {
	if len(all) == 0 {
		return nil
	}
	key, err := g.key(ctx, c, t)
	if err != nil {
		return err
	}
	for _, w := range all {
		if err := settle(w.Key, g.put(ctx, c, t, key, w), done); err != nil {
			return err
		}
	}
	return nil
}

// put creates a secret or writes over it: doing it twice does no harm.
func (g *githubActions) put(ctx context.Context, c Credential, t Target, key githubKey, w Write) error {
	switch {
	case strings.HasPrefix(w.Key, "GITHUB_"):
		return &Failure{Code: CodeReserved}
	case !githubName.MatchString(w.Key):
		return &Failure{Code: CodeInvalidKey}
	case w.Value.Len() > githubMaxValue:
		return &Failure{Code: CodeTooLarge}
	}
	sealed, err := key.seal(w.Value)
	if err != nil {
		return err
	}
	ask := g.call(c, http.MethodPut, t.githubPath()+"/"+segment(w.Key))
	ask.json = map[string]string{"encrypted_value": sealed, "key_id": key.id}
	ask.again = true
	a, err := g.api.do(ctx, ask)
	if err == nil && a.Status != http.StatusCreated && a.Status != http.StatusNoContent {
		err = a.senseless()
	}
	return err
}

// settle tells done of what became of a key, and says what ends the run: done's
// own error, or one that every other key would meet as well.
func settle(key string, err error, done func(Outcome) error) error {
	f, failed := errors.AsType[*Failure](err)
	if err != nil && (!failed || f.Code == CodeForbidden) {
		return err
	}
	return done(Outcome{Key: key, Err: err})
}

// Delete deletes one secret after the other.
func (g *githubActions) Delete(ctx context.Context, c Credential, t Target, all []Variable, done func(Outcome) error) error {
	reached := false
	for _, v := range all {
		a, err := g.api.do(ctx, g.call(c, http.MethodDelete, t.githubPath()+"/"+segment(v.Key)))
		if errors.Is(err, ErrNotFound) {
			// It is gone, unless it is all of the place that cannot be found.
			if !reached {
				_, err = g.key(ctx, c, t)
			}
			if reached = reached || err == nil; reached {
				err = nil
			}
		} else if err == nil && a.Status != http.StatusNoContent {
			err = a.senseless()
		}
		if err := settle(v.Key, err, done); err != nil {
			return err
		}
	}
	return nil
}
