package forgetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// plain is a code host without any awkward habit, in order to try the rules that
// need one over the network. It answers in our own types.
type plain struct {
	*forgetest.Fake
	app forgetest.App
}

func newPlain(t *testing.T, w *forgetest.World) *plain {
	p := &plain{app: w.AddApp("coffer", "http://localhost/back")}
	w.SetOAuth(forgetest.OAuthRules{AccessLife: time.Hour, SingleUse: true})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ask/{question}", p.ask)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /revoke", p.revoke)
	p.Fake = forgetest.NewFake(t, w, mux)
	return p
}

// asker is who asks, and the status to answer with if nobody may.
func (p *plain) asker(r *http.Request) (user int64, status int) {
	token, live := p.World.Live(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	user = token.User
	switch {
	case !live, token.Kind == forgetest.CI, token.Kind == forgetest.OAuth && token.App != p.app.ClientID:
		return 0, http.StatusUnauthorized
	case token.Kind == forgetest.Installation:
		user = number(r, "user")
	case !token.Has("read"):
		return 0, http.StatusForbidden
	}
	if u, ok := p.World.User(user); !ok || u.Blocked {
		return 0, http.StatusUnauthorized
	}
	return user, 0
}

func number(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	return n
}

func (p *plain) ask(rw http.ResponseWriter, r *http.Request) {
	user, status := p.asker(r)
	if status != 0 {
		standin.Answer(rw, status, map[string]string{"missing": "read"})
		return
	}
	answer, found := p.answer(r, user)
	if !found {
		standin.Answer(rw, http.StatusNotFound, nil)
		return
	}
	if all, ok := answer.([]any); ok {
		page, last := standin.Page(all, int(number(r, "page")), p.PageSize(0, 100, 100))
		rw.Header().Set("X-More", strconv.FormatBool(int(number(r, "page")) < last))
		answer = page
	}
	standin.Answer(rw, http.StatusOK, answer)
}

func (p *plain) answer(r *http.Request, user int64) (answer any, found bool) {
	w, q := p.World, r.URL.Query()
	org, orgFound := w.Org(number(r, "id"))
	repo, repoFound := w.Repo(number(r, "id"))
	if q.Get("name") != "" {
		repo, _, repoFound = w.RepoNamed(q.Get("owner"), q.Get("name"))
	}
	sees := repoFound && w.Sees(repo.ID, user)
	switch r.PathValue("question") {
	case "user":
		u, ok := w.User(user)
		return p.user(u), ok
	case "repository":
		return p.repository(repo), sees
	case "role":
		return p.reachable(repo, user), sees
	case "collaborators":
		return collect(w.Everyone(repo.ID), func(g forgetest.Grant) any {
			return forge.Collaborator{User: p.user(g.User), Role: g.Role}
		}), sees
	case "repositories":
		var mine []any
		for _, r := range w.Repos() {
			if reachable := p.reachable(r, user); reachable.Role != forge.None {
				mine = append(mine, reachable)
			}
		}
		return mine, true
	case "organization":
		org, _, orgFound = w.OrgNamed(q.Get("owner"))
		return organization(org), orgFound
	case "standing":
		return w.Standing(org.ID, user), orgFound
	case "organizations":
		return collect(w.OrgsOf(user), func(o forgetest.Org) any {
			return forge.Membership{Organization: organization(o), Standing: w.Standing(o.ID, user)}
		}), true
	case "members":
		return collect(w.Members(org.ID), func(m forgetest.Member) any {
			return forge.Member{User: p.user(m.User), Standing: m.Standing}
		}), orgFound && w.Standing(org.ID, user) != ""
	}
	return nil, false
}

func collect[T any](all []T, each func(T) any) []any {
	found := make([]any, len(all))
	for i, v := range all {
		found[i] = each(v)
	}
	return found
}

func (p *plain) user(u forgetest.User) forge.User {
	return forge.User{ID: fmt.Sprint(u.ID), Login: u.Login}
}

func organization(o forgetest.Org) forge.Organization {
	return forge.Organization{ID: fmt.Sprint(o.ID), Login: o.Login}
}

func (p *plain) repository(r forgetest.Repo) forge.Repository {
	owner, _ := p.World.Owner(r.Owner)
	return forge.Repository{
		ID: fmt.Sprint(r.ID), Owner: owner.Login, Name: r.Name, OwnerKind: owner.Kind, OwnerID: fmt.Sprint(owner.ID),
		Public: r.Visibility == forgetest.Public && owner.Visibility == forgetest.Public,
	}
}

func (p *plain) reachable(r forgetest.Repo, user int64) forge.Reachable {
	return forge.Reachable{Repository: p.repository(r), Role: p.World.Role(r.ID, user)}
}

func (p *plain) token(rw http.ResponseWriter, r *http.Request) {
	if _, err := p.World.App(r.PostFormValue("client"), r.PostFormValue("secret")); err != nil {
		standin.Answer(rw, http.StatusUnauthorized, nil)
		return
	}
	var pair forgetest.Pair
	var err error
	if text := r.PostFormValue("refresh"); text != "" {
		pair, err = p.World.Refresh(p.app.ClientID, text)
	} else {
		pair, err = p.World.Redeem(p.app.ClientID, r.PostFormValue("code"), r.PostFormValue("verifier"), p.app.Redirect)
	}
	if err != nil {
		standin.Answer(rw, http.StatusBadRequest, nil)
		return
	}
	standin.Answer(rw, http.StatusOK, forge.Grant{Access: pair.Access.Text, Refresh: pair.Refresh, Expires: pair.Access.Expires})
}

func (p *plain) revoke(rw http.ResponseWriter, r *http.Request) {
	p.World.Revoke(r.PostFormValue("token"))
	standin.Answer(rw, http.StatusOK, nil)
}

// hooks is one delivery of each topic.
func (p *plain) hooks() []forgetest.Hook {
	var all []forgetest.Hook
	for i, topic := range []forge.Topic{forge.RolesChanged, forge.RosterChange, forge.RepoDeleted, forge.UserChanged, forge.Ignored} {
		want := forge.Event{Topic: topic, Repo: "1", Org: "2", User: "3"}
		body, err := json.Marshal(want)
		if err != nil {
			panic(err)
		}
		all = append(all, forgetest.Hook{
			Name: string(topic) + " changed", Body: body, Want: want, Signature: "X-Signature",
			Header: http.Header{"X-Event": {"changed"}, "X-Delivery": {strconv.Itoa(i)}},
			Needs:  []string{"X-Event", "X-Delivery"},
			Sign:   func(secret string, h forgetest.Hook) string { return forgetest.HMAC(secret, h.Body) },
		})
	}
	return all
}

// plainHost is the plain host with its client.
func plainHost(t *testing.T) *forgetest.Host {
	w := forgetest.NewWorld()
	p := newPlain(t, w)
	service := w.Token(0, forgetest.Installation)
	return &forgetest.Host{
		World: w, Fake: p.Fake, Hooks: p.hooks,
		OAuth: &forgetest.SignIn{App: p.app, Scopes: []string{"read"}},
		Token: func(user int64) string { return w.Token(user, forgetest.PAT, "read") },
		Limited: func(user int64) []forgetest.Limited {
			return []forgetest.Limited{{Token: w.Token(user, forgetest.PAT, "write"), Question: "Role", Scope: "read"}}
		},
		Forge: func(o forgetest.Options) forge.Forge {
			c := &plainClient{host: p.URL, app: p.app, hook: o.WebhookSecret, http: &http.Client{
				Transport:     http.DefaultTransport.(*http.Transport).Clone(),
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			}}
			if o.Service {
				c.service = service
			}
			return c
		},
		Features: forgetest.Features{
			Roles: []forge.Role{forge.Read, forge.Triage, forge.Write, forge.Maintain, forge.Admin},
			Teams: true, Base: true, Roleless: true, Internal: true, HiddenOrgs: true, Hides: true, Redirects: true,
			Machines: []forgetest.Kind{forgetest.CI}, Refreshes: true, SingleUse: true, Revokes: true,
		},
	}
}

func TestPlain(t *testing.T) { forgetest.Run(t, plainHost) }
