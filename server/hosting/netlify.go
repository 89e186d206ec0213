package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// netlify asks Netlify. A project is a site, a team is an account, and an
// environment is a deploy context, in which a variable of the site has a value.
type netlify struct{ wire *wire }

const (
	netlifyAPI = "https://api.netlify.com"
	netlifyWeb = "https://app.netlify.com"

	netlifyPage = 100 // sites on a page, the most that it gives
)

// netlifyEnvironments are those of every site. What users call local is called
// dev there.
var netlifyEnvironments = []Environment{
	{ID: "production", Name: "production"},
	{ID: "deploy-preview", Name: "deploy-preview"},
	{ID: "branch-deploy", Name: "branch-deploy"},
	{ID: netlifyDev, Name: "local"},
}

func newNetlify(c Config) (Provider, error) {
	w, err := newWire(c, netlifyAPI)
	if err != nil {
		return nil, err
	}
	w.judge = judgeNetlify
	n := &netlify{w}
	if c.ClientID == "" {
		return n, nil
	}
	return &netlifyOAuth{netlify: n, config: c}, nil
}

// judgeNetlify tells what an account's plan forbids from what a person may not
// do. It has no codes of its own, in either of its two forms.
func judgeNetlify(a *answer) error {
	var body struct{ Message, Msg string }
	if a.Status != http.StatusForbidden || json.Unmarshal(a.Body, &body) != nil {
		return nil
	}
	if strings.HasPrefix(cmp.Or(body.Message, body.Msg), "Upgrade your Netlify account") {
		return &Failure{Code: CodePlan, RequestID: a.requestID()}
	}
	return nil
}

func (n *netlify) Describe() Description {
	return Description{
		Name:    Netlify,
		Display: "Netlify",
		Environments: map[string]string{
			"production": "production", "staging": "deploy-preview", "development": "local", "dev": "local",
		},
		Synonyms:         map[string]string{netlifyDev: "local"},
		ReservedPrefixes: []string{"NETLIFY_"},
		NeedsTeam:        true,
	}
}

func (n *netlify) Check(ctx context.Context, c Credential) (Account, error) {
	var user struct {
		ID       string
		FullName string `json:"full_name"`
		Email    string
	}
	if _, err := n.wire.ask(ctx, call{path: "/api/v1/user", cred: c}, &user); err != nil {
		return Account{}, err
	}
	if user.ID == "" {
		return Account{}, errNetlifyHollow
	}
	a := Account{UserID: user.ID, UserName: cmp.Or(user.FullName, user.Email)}
	if c.Team == "" {
		return a, nil
	}
	team, err := n.team(ctx, c)
	if err != nil {
		return Account{}, err
	}
	a.TeamID, a.TeamName = team.ID, team.Name
	return a, nil
}

type netlifyTeam struct{ ID, Name, Slug string }

// team is the credential's, by its id or by the name that addresses have.
func (n *netlify) team(ctx context.Context, c Credential) (netlifyTeam, error) {
	teams, err := netlifyList[netlifyTeam](ctx, n, call{path: "/api/v1/accounts", cred: c}, 0)
	if err != nil {
		return netlifyTeam{}, err
	}
	for _, t := range teams {
		switch c.Team {
		case t.ID, t.Slug:
			return t, nil
		}
	}
	return netlifyTeam{}, ErrNotFound
}

func (t netlifyTeam) whole() bool { return t.ID != "" }

type netlifySite struct {
	ID          string
	Name        string
	AccountID   string `json:"account_id"`
	AccountName string `json:"account_name"`
	CreatedAt   string `json:"created_at"`
	Build       struct {
		Repository string `json:"repo_path"`
	} `json:"build_settings"`
	Deploy struct{ Framework string } `json:"published_deploy"`
}

func (s netlifySite) whole() bool { return s.ID != "" && s.AccountID != "" }

func (s netlifySite) project() Project {
	created, _ := time.Parse(time.RFC3339, s.CreatedAt) // zero is fine
	return Project{
		ID: s.ID, Name: s.Name, Team: s.AccountID, TeamName: s.AccountName,
		Repository: s.Build.Repository, Framework: s.Deploy.Framework, Created: created,
		Environments: slices.Clone(netlifyEnvironments),
	}
}

func (n *netlify) Projects(ctx context.Context, c Credential) ([]Project, error) {
	sites, err := netlifyList[netlifySite](ctx, n, call{path: "/api/v1/sites", query: url.Values{"filter": {"all"}}, cred: c}, netlifyPage)
	if err != nil {
		return nil, err
	}
	var all []Project
	for _, s := range sites {
		if c.Team == "" || s.AccountID == c.Team {
			all = append(all, s.project())
		}
	}
	return all, nil
}

func (n *netlify) Find(ctx context.Context, c Credential, project, service string) (Project, error) {
	if service != "" {
		return Project{}, ErrNotFound
	}
	var s netlifySite
	if _, err := n.wire.ask(ctx, call{path: "/api/v1/sites/" + segment(project), cred: c}, &s); err != nil {
		return Project{}, err
	}
	switch {
	case !s.whole():
		return Project{}, errNetlifyHollow
	case s.ID != project: // it also finds sites by their domains, which change hands
		return Project{}, ErrNotFound
	case c.Team != "" && s.AccountID != c.Team:
		return Project{}, ErrNotFound
	}
	return s.project(), nil
}

var errNetlifyHollow = &Unavailable{Err: errors.New("its answer leaves out what it should hold")}

// netlifyList asks for a list up to its last page. With a size, pages are asked
// for in it.
func netlifyList[T interface{ whole() bool }](ctx context.Context, n *netlify, c call, size int) ([]T, error) {
	var all []T
	c.query = cloneQuery(c.query)
	if size > 0 {
		c.query.Set("per_page", strconv.Itoa(size))
	}
	for number := 1; number <= maxPages; {
		var page []T
		a, err := n.wire.ask(ctx, c, &page)
		if err != nil {
			return nil, err
		}
		if page == nil || slices.ContainsFunc(page, func(item T) bool { return !item.whole() }) {
			return nil, errNetlifyHollow
		}
		all = append(all, page...)
		next, more := netlifyNext(a.Header)
		if !more && size > 0 && len(page) == size {
			next, more = number+1, true // a proxy may have dropped the header
		}
		if !more {
			return all, nil
		}
		if next <= number {
			break
		}
		number = next
		c.query.Set("page", strconv.Itoa(number))
	}
	return nil, &Unavailable{Err: fmt.Errorf("its list has no end within %d pages", maxPages)}
}

func cloneQuery(q url.Values) url.Values {
	out := url.Values{}
	for name, values := range q {
		out[name] = slices.Clone(values)
	}
	return out
}

// netlifyNext is the number of the next page, if the header Link names one.
func netlifyNext(h http.Header) (int, bool) {
	for _, link := range strings.Split(strings.Join(h.Values("Link"), ","), ",") {
		address, rest, _ := strings.Cut(link, ";")
		if !strings.Contains(rest, `rel="next"`) {
			continue
		}
		// Only the number is taken: a credential must not follow an address.
		u, err := url.Parse(strings.Trim(strings.TrimSpace(address), "<>"))
		if err != nil {
			return 0, true
		}
		number, err := strconv.Atoi(u.Query().Get("page"))
		if err != nil {
			return 0, true
		}
		return number, true
	}
	return 0, false
}
