package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	installationsFor = 2 * time.Minute // a list of installations is believed
	tokenReserve     = 5 * time.Minute // before its end a token is replaced
	noMembers        = "lacks the organization permission Members: read"
)

// githubApp asks as the operator's GitHub App, with a token for each account that
// it is installed on. One goroutine at a time fetches what is missing; the others
// wait for it.
type githubApp struct {
	api    *wire
	app    App
	stale  atomic.Bool   // what follows is to be asked anew
	lock   chan struct{} // is full while nobody works on what follows
	listed time.Time
	known  []installation
	failed error              // instead of known
	tokens map[int64]appToken // by installation
	page   string             // where it is installed, once GitHub said so
	asked  time.Time          // when GitHub was asked for that
}

// installation is the App on one account.
type installation struct {
	ID          int64             `json:"id"`
	Account     githubAccount     `json:"account"`
	Permissions map[string]string `json:"permissions"`
	SuspendedAt string            `json:"suspended_at"`
}

func (i installation) whole() bool { return i.ID != 0 }

func (i installation) readsMembers() bool { return i.Permissions["members"] != "" }

type appToken struct {
	Text    string    `json:"token"`
	Expires time.Time `json:"expires_at"`
}

func newGitHubApp(api *wire, app App) *githubApp {
	a := &githubApp{api: api, app: app, lock: make(chan struct{}, 1), tokens: map[int64]appToken{}}
	a.lock <- struct{}{}
	return a
}

// beyondApp is an ErrNoCredential that says what the App does not reach.
func beyondApp(why string) error { return fmt.Errorf("%w: the GitHub App %s", ErrNoCredential, why) }

var (
	errNotInstalled = beyondApp("is not installed on the account")

	// errAppUnseen is both: what the App does not see may not be there.
	errAppUnseen = fmt.Errorf("%w, or %w: the GitHub App does not see it", ErrNoCredential, ErrNotFound)
)

// key is the App's token for an account, which is named by id or, if that is
// unknown, by login.
func (a *githubApp) key(ctx context.Context, id, login string) (githubKey, error) {
	if a == nil {
		return githubKey{}, ErrNoCredential
	}
	return a.locked(ctx, func() (installation, error) { return a.on(ctx, id, login) })
}

// keyOf is the App's token for whoever owns the repository at a path today: this
// much GitHub tells the App itself.
func (a *githubApp) keyOf(ctx context.Context, path string) (githubKey, error) {
	return a.locked(ctx, func() (installation, error) {
		jwt, err := a.sign()
		if err != nil {
			return installation{}, err
		}
		var i installation
		_, err = a.api.get(ctx, jwt, path+"/installation", nil, &i)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && i.SuspendedAt != "":
			return i, ErrNotFound
		}
		return i, a.turnedDown(err)
	})
}

// locked makes a key of what find finds, while nobody else does.
func (a *githubApp) locked(ctx context.Context, find func() (installation, error)) (githubKey, error) {
	select {
	case <-a.lock:
		defer func() { a.lock <- struct{}{} }()
	case <-ctx.Done():
		return githubKey{}, &Unavailable{Err: ctx.Err()}
	}
	if a.stale.Swap(false) {
		a.listed, a.tokens = time.Time{}, map[int64]appToken{}
	}
	i, err := find()
	if err != nil {
		return githubKey{}, err
	}
	token, err := a.token(ctx, i)
	if err != nil {
		return githubKey{}, err
	}
	return githubKey{token, &i}, nil
}

// on finds the installation on an account.
func (a *githubApp) on(ctx context.Context, id, login string) (installation, error) {
	if now := a.api.now(); a.listed.IsZero() || now.Sub(a.listed) >= installationsFor {
		all, err := a.installations(ctx)
		if err != nil && !errors.Is(err, ErrNoCredential) {
			return installation{}, err
		}
		a.known, a.failed, a.listed = all, err, now
	}
	if a.failed != nil {
		return installation{}, a.failed
	}
	for _, i := range a.known {
		// An enterprise has no type, and ids of its own that may be an account's.
		if i.Account.Type == "" || githubID(i.Account.ID) != id && (id != "" || !strings.EqualFold(i.Account.Login, login)) {
			continue
		}
		if i.SuspendedAt != "" {
			return installation{}, beyondApp("is suspended on " + i.Account.Login)
		}
		return i, nil
	}
	return installation{}, errNotInstalled
}

// installations lists all of them; the host is asked each time.
func (a *githubApp) installations(ctx context.Context) ([]installation, error) {
	jwt, err := a.sign()
	if err != nil {
		return nil, err
	}
	all, err := list[installation](ctx, a.api, question{token: jwt, path: "/app/installations", query: url.Values{"per_page": {"100"}}}, githubNext)
	return all, a.turnedDown(err)
}

// sign makes the App's own token. GitHub does not take one from the future, so
// that it is said to be older than it is, nor one for more than ten minutes.
func (a *githubApp) sign() (string, error) {
	now := a.api.now()
	jwt, err := a.app.Sign(a.app.ID, now.Add(-time.Minute), now.Add(9*time.Minute))
	if err != nil {
		return "", fmt.Errorf("sign as the GitHub App: %w", err)
	}
	return jwt, nil
}

// turnedDown is for questions of the App itself, where no user's token is at
// stake.
func (a *githubApp) turnedDown(err error) error {
	if errors.Is(err, ErrToken) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		return beyondApp("was turned down: its id or private key is wrong, or this server's clock")
	}
	return err
}

// token is good for an installation for some minutes at least.
func (a *githubApp) token(ctx context.Context, i installation) (string, error) {
	if t, ok := a.tokens[i.ID]; ok && t.Expires.Sub(a.api.now()) > tokenReserve {
		return t.Text, nil
	}
	jwt, err := a.sign()
	if err != nil {
		return "", err
	}
	// No more than is needed, whatever else the App was given. Asking for what it
	// was not given is an error.
	permissions := map[string]string{"metadata": "read"}
	if i.readsMembers() {
		permissions["members"] = "read"
	}
	var t appToken
	_, err = a.api.ask(ctx, question{
		method: http.MethodPost, path: "/app/installations/" + githubID(i.ID) + "/access_tokens",
		token: jwt, json: map[string]any{"permissions": permissions},
	}, &t)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrRefused), hasStatus(err, http.StatusUnprocessableEntity):
		a.listed = time.Time{}
		return "", beyondApp("is suspended on " + i.Account.Login + ", or was just removed from there")
	case err != nil:
		return "", a.turnedDown(err)
	case t.Text == "":
		return "", &Unavailable{Err: errors.New("it answered without a token for the GitHub App")}
	}
	a.tokens[i.ID] = t
	return t.Text, nil
}

// forget has installations and tokens asked for anew, at the next question.
func (a *githubApp) forget() {
	if a != nil {
		a.stale.Store(true)
	}
}

// short is for answers to an installation's token. They say nothing of a user's
// token, and a refusal says that the App does not reach so far.
func (a *githubApp) short(err error) error {
	missing, lacks := errors.AsType[*Missing](err)
	switch {
	case errors.Is(err, ErrToken):
		a.forget()
		return beyondApp("had its token turned down; perhaps it was just suspended or removed")
	case lacks:
		return beyondApp("lacks " + missing.What)
	case errors.Is(err, ErrRefused):
		return beyondApp("was not given this repository")
	}
	return err
}

// roleByApp is a user's explicit role as the App sees it.
func (g *github) roleByApp(ctx context.Context, k githubKey, user User, there githubRepo) (Role, error) {
	who, err := g.person(ctx, k, user.ID)
	if errors.Is(err, ErrNotFound) {
		return None, nil
	}
	if err != nil {
		return None, err
	}
	var about githubPermission
	at := "/repositories/" + githubID(there.ID) + "/collaborators/" + segment(who.Login)
	_, err = g.get(ctx, k, at+"/permission", &about)
	switch role := githubRole(about.RoleName, about.Permission); {
	case errors.Is(err, ErrNotFound), err == nil && about.User.ID != who.ID:
		return None, nil
	case err != nil:
		return None, err
	case role != Read || there.private():
		return role, nil
	}
	if there.Owner.kind() == OwnerOrg {
		standing, err := g.standingByApp(ctx, k, who, githubID(there.Owner.ID))
		if err == nil && standing != "" {
			return Read, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return None, err
		}
	}
	explicit, err := g.api.found(ctx, k.token, at)
	if err != nil || !explicit {
		return None, g.within(k, err)
	}
	return Read, nil
}

type githubPermission struct {
	Permission string        `json:"permission"`
	RoleName   string        `json:"role_name"`
	User       githubAccount `json:"user"`
}

func (p githubPermission) whole() bool { return p.Permission != "" && p.User.whole() }

// person is a user as called today, or ErrNotFound for one who may not sign in.
func (g *github) person(ctx context.Context, k githubKey, id string) (githubAccount, error) {
	who, err := g.today(ctx, k, "/user/", id)
	if err == nil && who.SuspendedAt != "" {
		return githubAccount{}, ErrNotFound
	}
	return who, err
}

// githubRole reads a role's name. A name of an organization's own making stands
// for at least the old permission beside it, which knows neither maintain nor
// triage.
func githubRole(name, permission string) Role {
	for _, text := range []string{name, permission} {
		switch Role(text) {
		case Admin, Maintain, Write, Triage, Read:
			return Role(text)
		}
	}
	return None
}

// standingByApp is what a user is to the organization with an id.
func (g *github) standingByApp(ctx context.Context, k githubKey, who githubAccount, id string) (string, error) {
	if !k.at.readsMembers() {
		return "", beyondApp(noMembers)
	}
	var m githubMembership
	if _, err := g.get(ctx, k, "/organizations/"+segment(id)+"/memberships/"+segment(who.Login), &m); err != nil {
		return "", err
	}
	if m.User.ID != who.ID {
		return "", ErrNotFound
	}
	return m.standing(), nil
}
