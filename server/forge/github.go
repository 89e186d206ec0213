package forge

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// github is github.com, GitHub with data residency, and Enterprise Server.
//
// Repositories and organizations are addressed by id wherever the host lets us:
// /repositories/ID and /organizations/ID are where it redirects old names to,
// and where its own lists say that they go on. People it knows by login only;
// see today.
//
// API: https://docs.github.com/rest
type github struct {
	config Config
	api    *wire
	web    *wire // where people sign in
	app    *githubApp
}

// newGitHub makes the client of the GitHub at c.URL, or of github.com.
func newGitHub(c Config) (*github, error) {
	if c.URL == "" {
		c.URL = "https://github.com"
	}
	if c.APIURL == "" {
		c.APIURL = githubAPI(c.URL)
	}
	api, err := newWire(c, c.APIURL)
	if err != nil {
		return nil, err
	}
	web, err := newWire(c, c.URL)
	if err != nil {
		return nil, err
	}
	g := &github{config: c, api: api, web: web}
	api.header = http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
	api.refusal = g.refusal
	if c.App != nil {
		g.app = newGitHubApp(api, *c.App)
	}
	return g, nil
}

// githubAPI is where the API of the GitHub at root is.
func githubAPI(root string) string {
	u, err := url.Parse(root)
	if err != nil {
		return root
	}
	switch host := strings.ToLower(u.Host); {
	case host == "github.com", host == "www.github.com":
		return "https://api.github.com"
	case strings.HasSuffix(host, ".ghe.com"):
		return u.Scheme + "://api." + host
	}
	return root + "/api/v3"
}

// Kind is "github".
func (g *github) Kind() string { return KindGitHub }

// githubKey is what a question is asked with: the asker's own token or, if at is
// set, the App's token for one account.
type githubKey struct {
	token string
	at    *installation
}

// key is the asker's own token, or the App's for an account. The account is named
// by id or, if that is not known, by login.
func (g *github) key(ctx context.Context, as Asker, id, login string) (githubKey, error) {
	if as.Token != "" {
		return githubKey{token: as.Token}, nil
	}
	return g.app.key(ctx, id, login)
}

func (g *github) get(ctx context.Context, k githubKey, path string, out any) (http.Header, error) {
	h, err := g.api.get(ctx, k.token, path, nil, out)
	return h, g.within(k, err)
}

// within says of a failed question whether it was beyond the App's reach.
func (g *github) within(k githubKey, err error) error {
	if k.at == nil || err == nil {
		return err
	}
	return g.app.short(err)
}

func githubList[T any](ctx context.Context, g *github, k githubKey, path string, query url.Values) ([]T, error) {
	all, err := list[T](ctx, g.api, question{token: k.token, path: path, query: query}, githubNext)
	return all, g.within(k, err)
}

// Repository finds a repository by its name of today, or by one that GitHub still
// redirects.
func (g *github) Repository(ctx context.Context, as Asker, owner, name string) (Repository, error) {
	for _, s := range []string{owner, name} {
		if s == "" || s == "." || s == ".." {
			return Repository{}, ErrNotFound
		}
	}
	return g.shown(ctx, as, Repository{Owner: owner}, "/repos/"+segment(owner)+"/"+segment(name))
}

// RepositoryByID finds a repository by its id. GitHub never says that one is
// gone: it looks like one that is hidden.
func (g *github) RepositoryByID(ctx context.Context, as Asker, repo Repository) (Repository, error) {
	return g.shown(ctx, as, repo, "/repositories/"+segment(repo.ID))
}

// shown finds a repository that the asker may see. The App sees what its user
// perhaps may not know of.
func (g *github) shown(ctx context.Context, as Asker, repo Repository, path string) (Repository, error) {
	there, k, err := g.find(ctx, as, repo, path)
	if err == nil && k.at != nil && as.User.ID != "" && !there.public() {
		var role Role
		if role, err = g.roleByApp(ctx, k, as.User, there); err == nil && role == None {
			err = ErrNotFound
		}
	}
	if err != nil {
		return Repository{}, err
	}
	return there.repository(), nil
}

// find fetches repo from path, and says with which key its owner can be asked
// about.
func (g *github) find(ctx context.Context, as Asker, repo Repository, path string) (githubRepo, githubKey, error) {
	k, err := g.key(ctx, as, repo.OwnerID, repo.Owner)
	var there githubRepo
	var h http.Header
	if err == nil {
		h, err = g.get(ctx, k, path, &there)
	}
	if as.Token == "" && g.app != nil && (errors.Is(err, ErrNotFound) || errors.Is(err, errNotInstalled)) {
		// Perhaps the repository or its owner is called otherwise today, or it has
		// another owner.
		if k, err = g.app.keyOf(ctx, path); err == nil {
			_, err = g.get(ctx, k, path, &there)
		}
		if errors.Is(err, ErrNotFound) {
			err = errAppUnseen
		}
	}
	switch {
	case as.Token != "" && errors.Is(err, ErrNotFound) && !strings.HasPrefix(as.Token, "ghu_") && githubLacks(h, "repo"):
		// Without it GitHub hides every private repository, which says nothing.
		err = &Missing{What: "the scope repo"}
	case err != nil:
	case repo.ID != "" && githubID(there.ID) != repo.ID:
		err = &Unavailable{Err: errors.New("it answered with another repository")}
	case k.at != nil && there.Owner.ID != k.at.Account.ID:
		k, err = g.app.key(ctx, githubID(there.Owner.ID), "") // it changed hands, and is public
	}
	return there, k, err
}

// Role is the asker's explicit role. With the asker's token, a member of no
// organization who may only read a public repository cannot be told from a
// stranger, and has none.
func (g *github) Role(ctx context.Context, as Asker, repo Repository) (Reachable, error) {
	there, k, err := g.find(ctx, as, repo, "/repositories/"+segment(repo.ID))
	if as.Token != "" && errors.Is(err, ErrNotFound) {
		return Reachable{Repository: repo}, nil
	}
	if err != nil {
		return Reachable{}, err
	}
	var role Role
	if k.at != nil {
		role, err = g.roleByApp(ctx, k, as.User, there)
	} else {
		role, err = g.ownRole(ctx, k, there)
	}
	if err != nil {
		return Reachable{}, err
	}
	return Reachable{there.repository(), role}, nil
}

func (g *github) ownRole(ctx context.Context, k githubKey, there githubRepo) (Role, error) {
	role := there.Permissions.role()
	if role != Read || there.private() {
		return role, nil
	}
	if there.Owner.kind() != OwnerOrg {
		return None, nil // collaborators of a person's repository may always write
	}
	standing, err := g.ownStanding(ctx, k, there.Owner.Login, githubID(there.Owner.ID))
	switch {
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNotFound), err == nil && standing == "":
		return None, nil
	}
	return role, err
}

// ownStanding is what the token's user is to an organization. A name that belongs
// to another organization is ErrNotFound.
func (g *github) ownStanding(ctx context.Context, k githubKey, login, id string) (string, error) {
	var m githubMembership
	if _, err := g.get(ctx, k, "/user/memberships/orgs/"+segment(login), &m); err != nil {
		return "", err
	}
	if githubID(m.Organization.ID) != id {
		return "", ErrNotFound
	}
	return m.standing(), nil
}

// today is an account as it is called today. People and organizations are asked
// about by name, and names change hands; path finds one by id.
func (g *github) today(ctx context.Context, k githubKey, path, id string) (githubAccount, error) {
	var a githubAccount
	_, err := g.get(ctx, k, path+segment(id), &a)
	if err == nil && githubID(a.ID) != id {
		err = &Unavailable{Err: errors.New("it answered with another account")}
	}
	return a, err
}

// Repositories lists what the asker owns, collaborates on or reaches as an
// organization's member, by the rules of Role. An App cannot list for somebody
// else.
func (g *github) Repositories(ctx context.Context, as Asker) ([]Reachable, error) {
	if as.Token == "" {
		return nil, ErrNoCredential
	}
	found, err := githubList[githubRepo](ctx, g, githubKey{token: as.Token}, "/user/repos",
		url.Values{"affiliation": {"owner,collaborator,organization_member"}, "per_page": {"50"}})
	if err != nil {
		return nil, err
	}
	all := make([]Reachable, 0, len(found))
	readers := map[int64]Role{} // what reading the public repositories of an owner is
	for _, r := range found {
		role := r.Permissions.role()
		if role == Read && !r.private() {
			known := false
			if role, known = readers[r.Owner.ID]; !known {
				if role, err = g.ownRole(ctx, githubKey{token: as.Token}, r); err != nil {
					return nil, err
				}
				readers[r.Owner.ID] = role
			}
		}
		if role != None {
			all = append(all, Reachable{r.repository(), role})
		}
	}
	return all, nil
}

// Collaborators lists everybody with an explicit role. GitHub tells those who may
// push, members of its organization, and the App.
func (g *github) Collaborators(ctx context.Context, as Asker, repo Repository) ([]Collaborator, error) {
	k, err := g.key(ctx, as, repo.OwnerID, repo.Owner)
	if err != nil {
		return nil, err
	}
	found, err := githubList[githubAccount](ctx, g, k, "/repositories/"+segment(repo.ID)+"/collaborators",
		url.Values{"affiliation": {"all"}, "per_page": {"100"}})
	if err != nil {
		if k.at != nil && errors.Is(err, ErrNotFound) {
			err = errAppUnseen
		}
		return nil, err
	}
	all := make([]Collaborator, 0, len(found))
	for _, a := range found {
		if role := a.Permissions.role(); role != None {
			all = append(all, Collaborator{User: a.user(), Role: role, URL: a.HTMLURL})
		}
	}
	return all, nil
}
