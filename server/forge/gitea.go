package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Gitea is a Gitea or a Forgejo elsewhere: one API with small differences.
// https://docs.gitea.com/api and https://forgejo.org/docs/latest/user/api-usage
//
// The service credential is the token of a site administrator, which asks in a
// user's stead by the header Sudo. Sudo knows people by login, and logins are
// taken over: before anything is asked so, the host must say that the login
// still belongs to the user's id.
type Gitea struct {
	config Config
	wire   *wire
	root   string // of the pages that only we talk to: the API's address without /api/v1

	mu     sync.Mutex
	logins map[string]giteaLogin // by user id
	kinds  map[string]OwnerKind  // by owner id: what an owner is never changes
}

// giteaLogin is a login that the host said is the user's.
type giteaLogin struct {
	login string
	until time.Time
}

const (
	giteaLoginLife = 10 * time.Second
	giteaLogins    = 10_000 // that are remembered at most
	giteaPage      = 50     // the host's usual maximum
)

func newGitea(c Config) (Forge, error) {
	if c.URL == "" {
		return nil, errors.New("forge.url is missing: write the address of the Gitea or Forgejo, like https://git.example")
	}
	api := c.APIURL
	if api == "" {
		api = c.URL + "/api/v1"
	}
	w, err := newWire(c, api)
	if err != nil {
		return nil, err
	}
	w.refusal = giteaRefusal
	return &Gitea{
		config: c, wire: w, root: strings.TrimSuffix(api, "/api/v1"),
		logins: map[string]giteaLogin{}, kinds: map[string]OwnerKind{},
	}, nil
}

// Kind is "gitea", for Forgejo as well.
func (g *Gitea) Kind() string { return KindGitea }

var (
	giteaScopes = regexp.MustCompile(`required scope\(s\)[^\[]*\[([^\]]*)\](?:.*token scope=(\S*))?`)
	// Said to tokens for public things only, and to strangers of a private
	// repository that shows single units to everybody.
	giteaHidden = regexp.MustCompile(`token scope is limited to public|user should have any permission to read repository`)
	giteaBarred = regexp.MustCompile(`prohibited from signing in|not activated|must change your password`)
)

// giteaRefusal explains a 403: the host tells its reasons apart by words only.
func giteaRefusal(_ http.Header, body []byte) error {
	var said struct{ Message string }
	_ = json.Unmarshal(body, &said) // without a message there is nothing to explain
	if m := giteaScopes.FindStringSubmatch(said.Message); m != nil {
		lacks := strings.Fields(strings.ReplaceAll(m[1], ",", " "))
		has := strings.Split(m[2], ",")
		lacks = slices.DeleteFunc(lacks, func(scope string) bool {
			return slices.Contains(has, scope) || slices.Contains(has, strings.Replace(scope, "read:", "write:", 1))
		})
		return &Missing{What: "the scope " + strings.Join(lacks, " ")}
	}
	switch {
	case giteaHidden.MatchString(said.Message):
		return ErrNotFound
	case strings.Contains(said.Message, "allowed to sudo"):
		return &Missing{What: "the rights of a site administrator"}
	case giteaBarred.MatchString(said.Message):
		return &ForeignToken{Why: "its account may not sign in at the code host now"}
	}
	return nil
}

// voice is who talks to the host: a user by their own token, or the site
// administrator, alone or in the stead of a user.
type voice struct {
	token   string
	service bool
	login   string // of the user in whose stead
}

func (g *Gitea) admin() (voice, error) {
	if g.config.Token == "" {
		return voice{}, ErrNoCredential
	}
	return voice{token: g.config.Token, service: true}, nil
}

// voice is how to ask for somebody. With the service credential it is
// ErrNotFound when there is no such user any more, or none who may sign in.
func (g *Gitea) voice(ctx context.Context, as Asker) (voice, error) {
	if as.Token != "" {
		return voice{token: as.Token}, nil
	}
	v, err := g.admin()
	if err == nil {
		v.login, err = g.login(ctx, v, as.User)
	}
	return v, err
}

// looker is how to look something up. With the service credential and without a
// user, the question is the operator's own.
func (g *Gitea) looker(ctx context.Context, as Asker) (voice, error) {
	if as == (Asker{}) {
		return g.admin()
	}
	return g.voice(ctx, as)
}

// seer is how to ask for what does not depend on who asks: in the user's voice,
// or as the administrator, who sees everything.
func (g *Gitea) seer(as Asker) (voice, error) {
	if as.Token != "" {
		return voice{token: as.Token}, nil
	}
	return g.admin()
}

// login is what a user is called today.
func (g *Gitea) login(ctx context.Context, admin voice, user User) (string, error) {
	if _, err := giteaID(user.ID); err != nil {
		return "", err
	}
	g.mu.Lock()
	known, ok := g.logins[user.ID]
	g.mu.Unlock()
	if ok && g.config.Now().Before(known.until) {
		return known.login, nil
	}
	login, err := user.Login, ErrNotFound
	if login != "" {
		err = g.holds(ctx, admin, login, user.ID)
	}
	if errors.Is(err, ErrNotFound) {
		var now giteaUser
		if now, err = g.userByID(ctx, admin, user.ID); err != nil {
			return "", err
		}
		login = now.Login
		err = g.holds(ctx, admin, login, user.ID)
	}
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.logins) >= giteaLogins {
		clear(g.logins)
	}
	g.logins[user.ID] = giteaLogin{login, g.config.Now().Add(giteaLoginLife)}
	return login, nil
}

// holds asks whether a login is that of a user who may sign in; otherwise it is
// ErrNotFound.
func (g *Gitea) holds(ctx context.Context, admin voice, login, id string) error {
	admin.login = login
	now, err := g.self(ctx, admin)
	if err == nil && (format64(now.ID) != id || !now.Active || now.ProhibitLogin) {
		err = ErrNotFound
	}
	return err
}

// userByID looks a user up. An id that the host does not understand would find
// everybody.
func (g *Gitea) userByID(ctx context.Context, v voice, id string) (giteaUser, error) {
	if _, err := giteaID(id); err != nil {
		return giteaUser{}, err
	}
	var found struct{ Data []giteaUser }
	if _, err := g.get(ctx, v, "/users/search", url.Values{"uid": {id}}, &found); err != nil {
		return giteaUser{}, err
	}
	for _, u := range found.Data {
		if format64(u.ID) == id {
			return u, nil
		}
	}
	return giteaUser{}, ErrNotFound
}

// self is whom the host takes a voice for.
func (g *Gitea) self(ctx context.Context, v voice) (giteaUser, error) {
	var u giteaUser
	_, err := g.get(ctx, v, "/user", nil, &u)
	return u, err
}

type giteaUser struct {
	ID            int64
	Login         string
	Email         string
	AvatarURL     string `json:"avatar_url"`
	HTMLURL       string `json:"html_url"`
	Visibility    string
	IsAdmin       bool `json:"is_admin"`
	Active        bool
	ProhibitLogin bool `json:"prohibit_login"`
	Restricted    bool
}

func (u giteaUser) whole() bool { return u.ID != 0 && u.Login != "" }

func (u giteaUser) user() User {
	return User{ID: format64(u.ID), Login: u.Login, Email: u.Email, AvatarURL: u.AvatarURL}
}

func (g *Gitea) question(v voice, path string, query url.Values) question {
	q := question{path: path, query: query, token: v.token}
	if v.login != "" {
		q.header = http.Header{"Sudo": {v.login}}
	}
	return q
}

func (g *Gitea) get(ctx context.Context, v voice, path string, query url.Values, out any) (http.Header, error) {
	h, err := g.wire.ask(ctx, g.question(v, path, query), out)
	return h, v.explain(err)
}

// found reports whether what path says is so: 204, or false for 404.
func (g *Gitea) found(ctx context.Context, v voice, path string) (bool, error) {
	q := g.question(v, path, nil)
	q.nobody, q.only = true, http.StatusNoContent
	_, err := g.wire.ask(ctx, q, nil)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, v.explain(err)
}

// explain tells a fault of the service credential from one of the user's token.
func (v voice) explain(err error) error {
	if !v.service {
		return err
	}
	if lacks, ok := errors.AsType[*Missing](err); ok {
		return &Missing{What: lacks.What, Service: true}
	}
	if errors.Is(err, ErrToken) {
		return fmt.Errorf("%w: the code host turned the service credential down", ErrNoCredential)
	}
	return err
}

// giteaList drains a list. One that does not say how long it is, or that changed
// its length meanwhile, may lack something, and is none.
func giteaList[T any](ctx context.Context, g *Gitea, v voice, path string) ([]T, error) {
	total, seen, page := "", 0, 1
	var fault error
	query := func() url.Values {
		return url.Values{"page": {strconv.Itoa(page)}, "limit": {strconv.Itoa(giteaPage)}}
	}
	all, err := list[T](ctx, g.wire, g.question(v, path, query()), func(q question, h http.Header, n int) (question, bool) {
		now := h.Get("X-Total-Count")
		most, err := strconv.Atoi(now)
		switch {
		case err != nil:
			fault = &Unavailable{Err: errors.New("it does not say how long a list is; is a proxy in between?")}
		case total != "" && now != total:
			fault = &Unavailable{Err: errors.New("a list changed while it was read")}
		}
		total, seen, page = now, seen+n, page+1
		q.query = query()
		// Lists with a Link header may leave out what is not to be seen; those
		// without leave out nothing.
		more := strings.Contains(h.Get("Link"), `rel="next"`) || n > 0 && seen < most
		return q, more && fault == nil
	})
	if err = errors.Join(v.explain(err), fault); err != nil {
		return nil, err
	}
	return all, nil
}

// errMoved is for names that changed hands between two questions.
var errMoved = &Unavailable{Err: errors.New("names changed hands there while it was asked")}

func format64(id int64) string { return strconv.FormatInt(id, 10) }

// giteaID reads an id. The host's own accounts, of CI and of the deleted, have
// negative ones, and no record of ours is about them.
func giteaID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || format64(id) != text {
		return 0, ErrNotFound
	}
	return id, nil
}
