package forge

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// githubAccount is a user, a bot or an organization; in lists of collaborators
// with permissions.
type githubAccount struct {
	ID          int64             `json:"id"`
	Login       string            `json:"login"`
	Type        string            `json:"type"`
	Name        string            `json:"name"`
	Email       string            `json:"email"`
	AvatarURL   string            `json:"avatar_url"`
	HTMLURL     string            `json:"html_url"`
	SuspendedAt string            `json:"suspended_at"`
	Permissions githubPermissions `json:"permissions"`
}

func (a githubAccount) whole() bool { return a.ID > 0 && a.Login != "" }

func (a githubAccount) user() User {
	return User{ID: githubID(a.ID), Login: a.Login, Email: a.Email, AvatarURL: a.AvatarURL, Bot: a.Type == "Bot"}
}

func (a githubAccount) organization() Organization {
	return Organization{ID: githubID(a.ID), Login: a.Login, DisplayName: a.Name, AvatarURL: a.AvatarURL}
}

func (a githubAccount) kind() OwnerKind {
	if a.Type == "Organization" {
		return OwnerOrg
	}
	return OwnerUser
}

type githubPermissions struct {
	Admin    bool `json:"admin"`
	Maintain bool `json:"maintain"`
	Push     bool `json:"push"`
	Triage   bool `json:"triage"`
	Pull     bool `json:"pull"`
}

// role is the highest that is true: GitHub sets those below it as well, but an
// answer without any is a 200 all the same.
func (p githubPermissions) role() Role {
	switch {
	case p.Admin:
		return Admin
	case p.Maintain:
		return Maintain
	case p.Push:
		return Write
	case p.Triage:
		return Triage
	case p.Pull:
		return Read
	}
	return None
}

type githubRepo struct {
	ID          int64             `json:"id"`
	Name        string            `json:"name"`
	Private     bool              `json:"private"`
	Visibility  string            `json:"visibility"`
	Owner       githubAccount     `json:"owner"`
	Permissions githubPermissions `json:"permissions"`
}

func (r githubRepo) whole() bool { return r.ID > 0 && r.Name != "" && r.Owner.whole() }

func (r githubRepo) public() bool {
	return r.Visibility == "public" || r.Visibility == "" && !r.Private
}

// private means that nobody reads it who was not let in by name. An internal
// repository is neither private nor public.
func (r githubRepo) private() bool {
	return r.Visibility == "private" || r.Visibility == "" && r.Private
}

func (r githubRepo) repository() Repository {
	return Repository{
		ID: githubID(r.ID), Owner: r.Owner.Login, Name: r.Name,
		OwnerKind: r.Owner.kind(), OwnerID: githubID(r.Owner.ID), AvatarURL: r.Owner.AvatarURL,
		Public: r.public(),
	}
}

type githubMembership struct {
	State        string        `json:"state"`
	Role         string        `json:"role"`
	Organization githubAccount `json:"organization"`
	User         githubAccount `json:"user"`
}

func (m githubMembership) whole() bool {
	return m.State != "" && m.Role != "" && m.Organization.whole()
}

// standing leaves out who was only invited, and billing managers, who are no
// members.
func (m githubMembership) standing() string {
	switch {
	case m.State != "active":
		return ""
	case m.Role == "admin":
		return OrgOwner
	case m.Role == "member":
		return OrgMember
	}
	return ""
}

func githubID(id int64) string { return strconv.FormatInt(id, 10) }

// githubNext goes on where the Link header says. Only the query is taken from it,
// so that it does not matter under which name the host knows itself. A full page
// without the header is either the only one, or a proxy took it away: the next one
// tells.
func githubNext(q question, h http.Header, n int) (question, bool) {
	if len(h.Values("Link")) == 0 && n > 0 && strconv.Itoa(n) == q.query.Get("per_page") {
		page, _ := strconv.Atoi(q.query.Get("page")) // the first has no number
		q.query = maps.Clone(q.query)
		q.query.Set("page", strconv.Itoa(max(page, 1)+1))
		return q, true
	}
	for link := range strings.SplitSeq(strings.Join(h.Values("Link"), ","), ",") {
		address, parameters, _ := strings.Cut(strings.TrimSpace(link), ">")
		next, err := url.Parse(strings.TrimPrefix(address, "<"))
		if strings.Contains(parameters, `rel="next"`) && err == nil {
			q.query = next.Query()
			return q, true
		}
	}
	return q, false
}

// Words of GitHub's refusals, and what is lacking then.
var githubRefusals = []struct{ words, lacks string }{
	{"saml", "single sign-on (SAML) for the organization: authorize the token for it at GitHub"},
	{"ip allow list", "an entry of this server on the organization's IP allow list"},
	{"oauth app access restrictions", "the organization's approval of the sign-in application"},
}

// refusal reads what GitHub says in headers and words.
func (g *github) refusal(h http.Header, body []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &said) // a proxy's page has no words of GitHub's
	words := strings.ToLower(said.Message)
	limited := strings.Contains(words, "rate limit") || strings.Contains(words, "abuse detection")
	if limited || h.Get("X-RateLimit-Remaining") == "0" {
		return &Unavailable{RetryAfter: g.pause(h), Err: errors.New("its rate limit is used up")}
	}
	if strings.HasPrefix(h.Get("X-GitHub-SSO"), "required") {
		words = githubRefusals[0].words
	}
	for _, r := range githubRefusals {
		if strings.Contains(words, r.words) {
			return &Missing{What: r.lacks}
		}
	}
	switch accepted := githubWords(h.Get("X-Accepted-OAuth-Scopes")); {
	case strings.Contains(words, "not accessible by personal access token"):
		if p := h.Get("X-Accepted-GitHub-Permissions"); p != "" {
			return &Missing{What: "the permission " + p}
		}
	case strings.Contains(words, "not accessible by"): // an App's, which its user cannot change
	case len(accepted) > 0 && githubLacks(h, accepted...):
		return &Missing{What: "the scope " + githubScope(accepted)}
	}
	return nil
}

// pause is how long to leave GitHub alone. A secondary limit may come without a
// time; then a minute is what GitHub asks for.
func (g *github) pause(h http.Header) time.Duration {
	if d := g.api.wait(h); d > 0 {
		return d
	}
	if at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && h.Get("X-RateLimit-Remaining") == "0" {
		return min(max(time.Unix(at, 0).Sub(g.api.now()), time.Second), time.Hour)
	}
	return time.Minute
}

// lacksScope reports whether a token has scopes, as classic tokens do, but none
// of these.
func githubLacks(h http.Header, scopes ...string) bool {
	if len(h.Values("X-OAuth-Scopes")) == 0 {
		return false
	}
	has := githubWords(h.Get("X-OAuth-Scopes"))
	return !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(has, s) })
}

// wanted is the scope to name of those that would do: the one that we ask for.
func githubScope(scopes []string) string {
	for _, s := range githubScopes {
		if slices.Contains(scopes, s) {
			return s
		}
	}
	return strings.Join(scopes, " or ")
}

func githubWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
