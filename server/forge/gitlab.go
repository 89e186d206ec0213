package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// gitlab is gitlab.com or a GitLab of one's own; its API is described at
// https://docs.gitlab.com/api/rest.
//
// A repository is a project, an organization a group on top. Groups hold groups:
// the owner of a project further down is written with colons, "group:sub", and
// is the group on top. What somebody may do is the access level that
// members/all names, the highest of all the ways to the project. A project's own
// "permissions" leave some ways out, and are never looked at.
type gitlab struct {
	c     Config
	api   *wire
	site  *wire // for OAuth
	admin int   // access level that counts as admin

	hookKey []byte // of a signing token; nil when the webhook secret is another one
}

const (
	publicGitLab  = "https://gitlab.com"
	gitlabScope   = "read_api"
	gitlabPerPage = "100"
)

func newGitLab(c Config) (Forge, error) {
	if c.URL == "" {
		c.URL = publicGitLab
	}
	if c.APIURL == "" {
		c.APIURL = c.URL + "/api/v4"
	}
	if c.AdminLevel == 0 {
		c.AdminLevel = gitlabOwner
	}
	if c.AdminLevel != gitlabOwner && c.AdminLevel != gitlabMaintainer {
		return nil, fmt.Errorf("GitLab's access level for admins is %d; it is 50 for owners, or 40 for maintainers as well", c.AdminLevel)
	}
	api, err := newWire(c, c.APIURL)
	if err != nil {
		return nil, err
	}
	site, err := newWire(c, c.URL)
	if err != nil {
		return nil, err
	}
	key, err := gitlabHookKey(c.WebhookSecret)
	if err != nil {
		return nil, err
	}
	g := &gitlab{c: c, api: api, site: site, admin: c.AdminLevel, hookKey: key}
	api.refusal, site.refusal = g.refusal, g.refusal
	return g, nil
}

// Kind is "gitlab".
func (g *gitlab) Kind() string { return KindGitLab }

// refusal knows GitLab's headers of a limit, and how it says that a scope is
// missing.
func (g *gitlab) refusal(h http.Header, body []byte) error {
	if h.Get("RateLimit-Remaining") == "0" && h.Get("Retry-After") == "" {
		at, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64)
		if err == nil {
			wait := time.Unix(at, 0).Sub(g.c.Now())
			return &Unavailable{RetryAfter: min(max(wait, 0), time.Hour), Err: errors.New("it was asked too often")}
		}
	}
	var said struct{ Error string }
	if json.Unmarshal(body, &said) == nil && said.Error == "insufficient_scope" {
		return missingScope
	}
	return nil
}

var missingScope = &Missing{What: "the scope " + gitlabScope}

func (g *gitlab) reads(scopes []string) bool {
	return slices.Contains(scopes, gitlabScope) || slices.Contains(scopes, "api")
}

// gitlabKey is what a question is asked with.
type gitlabKey struct {
	token   string
	service bool
}

func (g *gitlab) key(as Asker) (gitlabKey, error) {
	switch {
	case as.Token != "":
		return gitlabKey{token: as.Token}, nil
	case g.c.Token != "":
		return gitlabKey{g.c.Token, true}, nil
	}
	return gitlabKey{}, ErrNoCredential
}

// blame says which credential a failure is about. What the service token may not
// see may be there all the same.
func (k gitlabKey) blame(err error) error {
	if !k.service {
		return err
	}
	if missing, ok := errors.AsType[*Missing](err); ok {
		return &Missing{What: missing.What, Service: true}
	}
	switch {
	case errors.Is(err, ErrToken):
		return &Missing{What: "validity: the code host turned it down", Service: true}
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrRefused):
		return ErrNoCredential
	}
	return err
}

func (g *gitlab) get(ctx context.Context, k gitlabKey, path string, query url.Values, out any) error {
	_, err := g.api.get(ctx, k.token, path, query, out)
	return k.blame(err)
}

// gitlabList drains a list. The last page names itself and no next one; a page that
// names neither may be any.
func gitlabList[T any](ctx context.Context, g *gitlab, k gitlabKey, path string, query url.Values) ([]T, error) {
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", gitlabPerPage)
	told := true
	all, err := list[T](ctx, g.api, question{token: k.token, path: path, query: query}, func(q question, h http.Header, n int) (question, bool) {
		told = told && h.Get("X-Page")+h.Get("X-Next-Page") != ""
		return gitlabPages(q, h, n)
	})
	if err == nil && !told {
		return nil, &Unavailable{Err: errors.New("it does not say whether a list goes on; is a proxy in between?")}
	}
	return all, k.blame(err)
}

func gitlabPages(q question, h http.Header, _ int) (question, bool) {
	next := h.Get("X-Next-Page")
	q.query = maps.Clone(q.query)
	q.query.Set("page", next)
	return q, next != ""
}

// gitlabAt is the path of something that has a number; what is no number is not
// there, and is above all no path of its own.
func gitlabAt(kind, id string) (string, error) {
	if _, err := strconv.ParseUint(id, 10, 63); err != nil {
		return "", ErrNotFound
	}
	return "/" + kind + "/" + id, nil
}

func gitlabID(id int64) string { return strconv.FormatInt(id, 10) }

var errGitLabAnswer = &Unavailable{Err: errors.New("its answer is about something else")}

type gitlabUser struct {
	ID        int64  `json:"id"`
	Username  string `json:"username"`
	State     string `json:"state"`
	Email     string `json:"email"`
	AvatarURL string `json:"avatar_url"`
	WebURL    string `json:"web_url"`
	Bot       bool   `json:"bot"`
}

func (u gitlabUser) whole() bool { return u.ID != 0 && u.Username != "" }

// gitlabBot is what GitLab calls the accounts behind the tokens of projects and
// groups. Lists of members say it in no other way.
var gitlabBot = regexp.MustCompile(`^(project|group)_[0-9]+_bot`)

func (u gitlabUser) user() User {
	return User{
		ID: gitlabID(u.ID), Login: u.Username, Email: u.Email, AvatarURL: u.AvatarURL,
		Bot: u.Bot || gitlabBot.MatchString(u.Username),
	}
}

// self is whose token this is. Accounts that may not sign in are turned down.
func (g *gitlab) self(ctx context.Context, token string) (User, error) {
	var u gitlabUser
	_, err := g.api.get(ctx, token, "/user", nil, &u)
	switch {
	case errors.Is(err, ErrRefused):
		return User{}, &ForeignToken{"its account may not sign in"}
	case err != nil:
		return User{}, err
	case u.State != "active":
		return User{}, &ForeignToken{"its account is not active"}
	}
	return u.user(), nil
}

// Tokens that are no person's begin like this; the operator of a GitLab may have
// put something of their own before it. Access tokens of OAuth are digits.
var (
	gitlabMachine = regexp.MustCompile(`(^|-)gl(cbt|dt|rt|rtr|oas|ptt|ft|soat|wt)-`)
	gitlabOAuth   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Bearer takes personal access tokens, and what our own application was given.
func (g *gitlab) Bearer(ctx context.Context, token string) (User, error) {
	var owner int64
	var err error
	switch {
	case token == "":
		return User{}, ErrToken
	case gitlabMachine.MatchString(token):
		return User{}, &ForeignToken{"it is a machine's; make an API key for machines"}
	case gitlabOAuth.MatchString(token):
		owner, err = g.ours(ctx, token)
	default:
		owner, err = g.personal(ctx, token)
	}
	if err != nil {
		return User{}, err
	}
	user, err := g.self(ctx, token)
	switch {
	case err != nil:
		return User{}, err
	case user.ID != gitlabID(owner):
		return User{}, errGitLabAnswer
	case user.Bot:
		return User{}, &ForeignToken{"it is a project's or a group's; make an API key for machines"}
	}
	return user, nil
}

// ours is whose an OAuth token is that was made for our application.
func (g *gitlab) ours(ctx context.Context, token string) (int64, error) {
	var info struct {
		Owner       int64    `json:"resource_owner_id"`
		Scope       []string `json:"scope"`
		Application struct {
			UID string `json:"uid"`
		} `json:"application"`
	}
	_, err := g.site.get(ctx, token, "/oauth/token/info", nil, &info)
	switch {
	case err != nil:
		return 0, err
	case g.c.ClientID == "" || info.Application.UID != g.c.ClientID:
		return 0, &ForeignToken{"it was made for another application"}
	case !g.reads(info.Scope):
		return 0, missingScope
	}
	return info.Owner, nil
}

// gitlabPAT is a personal, project or group access token, as it tells of itself.
type gitlabPAT struct {
	UserID    int64    `json:"user_id"`
	Scopes    []string `json:"scopes"`
	Active    bool     `json:"active"`
	Revoked   bool     `json:"revoked"`
	ExpiresAt string   `json:"expires_at"` // a day, or "" for never
}

func (t gitlabPAT) whole() bool { return t.UserID != 0 }

// pat asks a token about itself. GitLab does not answer for any other kind.
func (g *gitlab) pat(ctx context.Context, token string) (gitlabPAT, error) {
	var t gitlabPAT
	_, err := g.api.ask(ctx, question{token: token, path: "/personal_access_tokens/self", oauth: true}, &t)
	if said, ok := errors.AsType[*statusError](err); ok && said.Status == http.StatusUnauthorized {
		return t, ErrToken
	} else if ok && said.Status == http.StatusBadRequest || errors.Is(err, ErrRefused) || errors.Is(err, ErrNotFound) {
		return t, &ForeignToken{"it is no personal access token, or its account may not sign in"}
	}
	if err == nil && (!t.Active || t.Revoked || g.passed(t.ExpiresAt)) {
		return t, ErrToken
	}
	return t, err
}

// personal is whose a personal access token is.
func (g *gitlab) personal(ctx context.Context, token string) (int64, error) {
	t, err := g.pat(ctx, token)
	if err == nil && !g.reads(t.Scopes) {
		err = missingScope
	}
	return t.UserID, err
}

// passed reports whether the day, "2026-11-20" and maybe a time, has come at
// which something ends. "" never comes; what is no day has.
func (g *gitlab) passed(day string) bool {
	if day == "" {
		return false
	}
	return len(day) < len(time.DateOnly) || day[:len(time.DateOnly)] <= g.c.Now().UTC().Format(time.DateOnly)
}
