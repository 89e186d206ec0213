package hostingtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/standin"
)

// githubAsk is one request and who makes it. The stand-in's lock is held.
type githubAsk struct {
	g     *GitHubActions
	rw    http.ResponseWriter
	r     *http.Request
	body  string
	token *GitHubToken
	size  int // of a page
}

func (g *GitHubActions) routes(mux *http.ServeMux) {
	at := func(pattern string, answer func(*githubAsk)) { mux.HandleFunc(pattern, g.asked(answer)) }
	repo := func(answer func(*githubAsk, *githubRepo)) func(*githubAsk) {
		return func(a *githubAsk) {
			name := a.r.PathValue("owner") + "/" + a.r.PathValue("repo")
			if r := g.named(a.token, name); r != nil {
				answer(a, r)
			} else if id := g.moved[name]; slices.Contains(a.token.Repos, id) {
				a.redirect(name, id)
			} else {
				a.fail(http.StatusNotFound, "Not Found")
			}
		}
	}
	place := func(answer func(*githubAsk, *githubPlace)) func(*githubAsk) {
		return repo(func(a *githubAsk, r *githubRepo) {
			p, ok := r.places[a.r.PathValue("environment")]
			switch {
			case !ok:
				a.fail(http.StatusNotFound, "Not Found")
			case r.readOnly || r.archived && a.r.Method != http.MethodGet:
				a.fail(http.StatusForbidden, "Must have admin rights to Repository.")
			default:
				answer(a, p)
			}
		})
	}
	at("/", func(a *githubAsk) { a.fail(http.StatusNotFound, "Not Found") })
	at("GET /user", func(a *githubAsk) { a.json(http.StatusOK, a.profile()) })
	at("GET /user/repos", (*githubAsk).ownRepos)
	at("GET /repositories/{id}", (*githubAsk).repoByID)
	at("GET /repos/{owner}/{repo}", repo(func(a *githubAsk, r *githubRepo) { a.json(http.StatusOK, a.show(r)) }))
	at("GET /repos/{owner}/{repo}/environments", repo((*githubAsk).environments))
	for _, base := range []string{"/repos/{owner}/{repo}/actions/secrets", "/repos/{owner}/{repo}/environments/{environment}/secrets"} {
		at("GET "+base, place((*githubAsk).list))
		at("GET "+base+"/public-key", place(func(a *githubAsk, p *githubPlace) {
			a.json(http.StatusOK, object{"key_id": p.keyID, "key": base64.StdEncoding.EncodeToString(p.public[:])})
		}))
		at("GET "+base+"/{name}", place((*githubAsk).one))
		at("PUT "+base+"/{name}", place((*githubAsk).put))
		at("DELETE "+base+"/{name}", place((*githubAsk).remove))
	}
}

type object = map[string]any

// asked lets in who may ask, one at a time.
func (g *GitHubActions) asked(answer func(*githubAsk)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		a := &githubAsk{g: g, rw: rw, r: r, body: bodyOf(r)}
		asked, _ := strconv.Atoi(r.URL.Query().Get("per_page")) // nonsense is the default
		a.size = g.PageSize(asked, 30, 100)
		for name, value := range map[string]string{
			"X-GitHub-Media-Type": "github.v3; format=json", "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999",
			"X-RateLimit-Reset": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10), "X-GitHub-Request-Id": "C0DE:1234",
		} {
			rw.Header().Set(name, value)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		token, ok := g.tokens[text]
		version := r.Header.Get("X-GitHub-Api-Version")
		switch {
		case r.Header.Get("User-Agent") == "":
			a.fail(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
		case version != "" && version != "2022-11-28" && version != "2026-03-10":
			a.fail(http.StatusBadRequest, fmt.Sprintf("%q is not a supported version", version))
		case !ok || token.Dead || !strings.EqualFold(scheme, "bearer"):
			a.fail(http.StatusUnauthorized, "Bad credentials")
		default:
			if a.token = token; token.Classic {
				rw.Header().Set("X-OAuth-Scopes", "repo")
			}
			answer(a)
		}
	}
}

func (a *githubAsk) json(status int, body any) { standin.Answer(a.rw, status, body) }

func (a *githubAsk) fail(status int, message string) {
	a.json(status, object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)})
}

// redirect leads from a repository's old name to where it has its id.
func (a *githubAsk) redirect(old string, id int64) {
	status := http.StatusMovedPermanently
	if a.r.Method != http.MethodGet {
		status = http.StatusTemporaryRedirect
	}
	to := fmt.Sprintf("%s/api/v3/repositories/%d%s", a.g.URL, id, strings.TrimPrefix(a.r.URL.Path, "/repos/"+old))
	a.rw.Header().Set("Location", to)
	a.json(status, object{"message": "Moved Permanently", "url": to, "documentation_url": "https://docs.github.com/rest"})
}

// githubPage cuts a page out of a list, and says in the Link header where the others
// are.
func githubPage[T any](a *githubAsk, all []T) []T {
	n, _ := strconv.Atoi(a.r.URL.Query().Get("page"))
	page, last := standin.Page(all, n, a.size)
	if n = max(n, 1); n < last {
		q := a.r.URL.Query()
		q.Set("page", strconv.Itoa(n+1))
		a.rw.Header().Set("Link", fmt.Sprintf(`<%s/api/v3%s?%s>; rel="next"`, a.g.URL, a.r.URL.Path, q.Encode()))
	}
	return page
}

func (a *githubAsk) ownRepos() {
	var all []*githubRepo
	for _, id := range a.token.Repos {
		all = append(all, a.g.repos[id])
	}
	slices.SortFunc(all, func(x, y *githubRepo) int { return strings.Compare(x.name, y.name) })
	shown := []object{}
	for _, r := range githubPage(a, all) {
		shown = append(shown, a.show(r))
	}
	a.json(http.StatusOK, shown)
}

func (a *githubAsk) repoByID() {
	id, _ := strconv.ParseInt(a.r.PathValue("id"), 10, 64)
	if !slices.Contains(a.token.Repos, id) {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	a.json(http.StatusOK, a.show(a.g.repos[id]))
}

func (a *githubAsk) environments(r *githubRepo) {
	if a.token.Blind {
		a.fail(http.StatusForbidden, "Resource not accessible by personal access token")
		return
	}
	all := []object{}
	for _, name := range githubPage(a, r.order) {
		at := a.g.URL + "/api/v3/repos/" + r.name + "/environments/" + name
		all = append(all, object{
			"id": r.places[name].id, "node_id": "EN_1", "name": name, "url": at, "html_url": at, "created_at": stamp(a.g.clock), "updated_at": stamp(a.g.clock),
			"protection_rules": []object{}, "deployment_branch_policy": nil, "can_admins_bypass": true,
		})
	}
	a.json(http.StatusOK, object{"total_count": len(r.order), "environments": all})
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (s githubSecret) show(name string) object {
	return object{"name": name, "created_at": stamp(s.created), "updated_at": stamp(s.updated)}
}

func (a *githubAsk) list(p *githubPlace) {
	shown := []object{}
	for _, name := range githubPage(a, slices.Sorted(maps.Keys(p.secrets))) {
		shown = append(shown, p.secrets[name].show(name))
	}
	a.json(http.StatusOK, object{"total_count": len(p.secrets), "secrets": shown})
}

func (a *githubAsk) one(p *githubPlace) {
	name := strings.ToUpper(a.r.PathValue("name"))
	s, ok := p.secrets[name]
	if !ok {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	a.json(http.StatusOK, s.show(name))
}

var githubNames = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

func (a *githubAsk) put(p *githubPlace) {
	var body struct {
		Sealed *string `json:"encrypted_value"`
		KeyID  *string `json:"key_id"`
	}
	read := json.NewDecoder(strings.NewReader(a.body))
	read.DisallowUnknownFields()
	if err := read.Decode(&body); err != nil || a.r.Header.Get("Content-Type") != "application/json" {
		a.fail(http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	name := strings.ToUpper(a.r.PathValue("name"))
	_, had := p.secrets[name]
	switch {
	case !githubNames.MatchString(name):
		a.fail(http.StatusUnprocessableEntity, "Secret names can only contain alphanumeric characters ([a-z], [A-Z], [0-9]) or underscores (_). Spaces are not allowed.")
	case strings.HasPrefix(name, "GITHUB_"):
		a.fail(http.StatusUnprocessableEntity, "Secret names must not start with GITHUB_.")
	case body.Sealed == nil || body.KeyID == nil || *body.KeyID != p.keyID:
		a.fail(http.StatusUnprocessableEntity, "Invalid request.")
	case !had && len(p.secrets) >= 100:
		a.fail(http.StatusUnprocessableEntity, "There are too many secrets.")
	default:
		a.keep(p, name, *body.Sealed)
	}
}

func (a *githubAsk) keep(p *githubPlace, name, sealed string) {
	value, ok := p.openSealed(sealed)
	switch {
	case !ok || len(value) > 48<<10:
		a.fail(http.StatusUnprocessableEntity, "Invalid request.")
	case a.g.set(p, name, value):
		a.json(http.StatusCreated, object{})
	default:
		a.rw.WriteHeader(http.StatusNoContent)
	}
}

func (a *githubAsk) remove(p *githubPlace) {
	name := strings.ToUpper(a.r.PathValue("name"))
	if _, ok := p.secrets[name]; !ok {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	delete(p.secrets, name)
	a.rw.WriteHeader(http.StatusNoContent)
}

// account is what GitHub calls a simple user.
func (a *githubAsk) account(login string) object {
	base := a.g.URL + "/api/v3/users/" + login
	shown := object{"id": 7, "login": login, "type": "User", "node_id": "U_7", "site_admin": false, "gravatar_id": "", "avatar_url": base + "/avatar", "html_url": base, "url": base}
	for _, name := range strings.Fields("followers following gists starred subscriptions organizations repos events received_events") {
		shown[name+"_url"] = base + "/" + name
	}
	return shown
}

func (a *githubAsk) profile() object {
	shown := a.account(a.token.Login)
	maps.Copy(shown, object{
		"name": nil, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil, "twitter_username": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0, "created_at": stamp(a.g.clock), "updated_at": stamp(a.g.clock),
		"user_view_type": "public",
	})
	return shown
}

// show is a repository as GitHub shows one. Most of it no client of ours reads.
func (a *githubAsk) show(r *githubRepo) object {
	owner, name, _ := strings.Cut(r.name, "/")
	base, now := a.g.URL+"/api/v3/repos/"+r.name, stamp(a.g.clock)
	shown := object{
		"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": name, "full_name": r.name, "owner": a.account(owner), "url": base,
		"private": true, "visibility": "private", "description": nil, "homepage": nil, "language": nil, "license": nil, "mirror_url": nil,
		"fork": false, "archived": r.archived, "disabled": false, "default_branch": "main", "pushed_at": now, "created_at": now, "updated_at": now,
		"permissions":   object{"pull": true, "triage": !r.readOnly, "push": !r.readOnly, "maintain": !r.readOnly, "admin": !r.readOnly},
		"network_count": 0, "subscribers_count": 0,
	}
	for _, name := range strings.Fields("archive assignees blobs branches collaborators comments commits compare contents contributors deployments " +
		"downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones " +
		"notifications pulls releases stargazers statuses subscribers subscription tags teams trees html git ssh clone svn") {
		shown[name+"_url"] = base + "/" + name
	}
	for _, name := range strings.Fields("forks_count forks stargazers_count watchers_count watchers size open_issues_count open_issues") {
		shown[name] = 0
	}
	for _, name := range strings.Fields("has_issues has_projects has_wiki has_pages has_downloads has_discussions") {
		shown[name] = true
	}
	return shown
}
