package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// githubEvents says what an event's action is about. Those that are not here are
// of no interest.
var githubEvents = map[string]Topic{
	"organization member_added":   RosterChange,
	"organization member_removed": RosterChange,
	"organization renamed":        RosterChange,
	"organization deleted":        RosterChange,

	"membership added":   RolesChanged,
	"membership removed": RolesChanged,
	"member added":       RolesChanged,
	"member edited":      RolesChanged,
	"member removed":     RolesChanged,

	"team added_to_repository":     RolesChanged,
	"team removed_from_repository": RolesChanged,
	"team edited":                  RolesChanged,
	"team deleted":                 RolesChanged,

	"repository renamed":     RepoChanged,
	"repository transferred": RepoChanged,
	"repository privatized":  RepoChanged,
	"repository publicized":  RepoChanged,
	"repository archived":    RepoChanged,
	"repository unarchived":  RepoChanged,
	"repository deleted":     RepoDeleted,

	"installation created":                  AppInstalled,
	"installation unsuspend":                AppInstalled,
	"installation new_permissions_accepted": AppInstalled,
	"installation deleted":                  AppRemoved,
	"installation suspend":                  AppRemoved,
	"installation_repositories added":       AppInstalled,
	"installation_repositories removed":     AppInstalled,

	"installation_target renamed":      UserChanged, // of an organization: RosterChange
	"github_app_authorization revoked": UserChanged,
}

// githubPayload is the little that is taken from a delivery. Who may do what is
// never taken from one.
type githubPayload struct {
	Action       string        `json:"action"`
	Repository   githubAccount `json:"repository"`
	Organization githubAccount `json:"organization"`
	Member       githubAccount `json:"member"`
	Account      githubAccount `json:"account"`
	Sender       githubAccount `json:"sender"`
	Membership   struct {
		User githubAccount `json:"user"`
	} `json:"membership"`
	Installation struct {
		Account githubAccount `json:"account"`
	} `json:"installation"`
}

// Event checks a delivery's signature and says what it is about.
func (g *github) Event(d Delivery) (Event, error) {
	if g.config.WebhookSecret == "" {
		return Event{}, ErrNoSecret
	}
	e := Event{ID: d.Header("X-GitHub-Delivery"), Name: d.Header("X-GitHub-Event")}
	signature := d.Header("X-Hub-Signature-256")
	if e.ID == "" || e.Name == "" || signature == "" {
		return Event{}, ErrNoSignature
	}
	if !githubSigned(g.config.WebhookSecret, signature, d.Body) {
		return Event{}, ErrSignature
	}
	body := d.Body
	if kind, _, _ := mime.ParseMediaType(d.Header("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return Event{}, errors.New("the delivery's form cannot be read; let GitHub send application/json")
		}
		body = []byte(form.Get("payload"))
	}
	var p githubPayload
	if err := json.Unmarshal(body, &p); err != nil {
		return Event{}, fmt.Errorf("the delivery's JSON cannot be read: %w", err)
	}
	p.fill(&e)
	switch {
	case e.Topic != Ignored && e.Repo == "" && e.Org == "" && e.User == "":
		return Event{}, errors.New("the delivery does not say whom it is about")
	case e.Topic == AppInstalled, e.Topic == AppRemoved:
		g.app.forget()
	}
	return e, nil
}

func githubSigned(secret, signature string, body []byte) bool {
	digits, prefixed := strings.CutPrefix(signature, "sha256=")
	got, err := hex.DecodeString(digits)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return prefixed && err == nil && hmac.Equal(got, mac.Sum(nil))
}

func (p githubPayload) fill(e *Event) {
	event := e.Name
	if p.Action != "" {
		e.Name += " " + p.Action
	}
	e.Topic = githubEvents[e.Name]
	if e.Topic == Ignored {
		return
	}
	e.Repo, e.User, e.Org, e.Login = githubRef(p.Repository), githubRef(p.Member), githubRef(p.Organization), p.Organization.Login
	switch event {
	case "organization":
		e.User = githubRef(p.Membership.User)
	case "installation", "installation_repositories":
		e.Org, e.Login = githubRef(p.Installation.Account), p.Installation.Account.Login
	case "installation_target":
		if p.Account.kind() == OwnerOrg {
			e.Topic, e.Org, e.Login = RosterChange, githubRef(p.Account), p.Account.Login
		} else {
			e.User = githubRef(p.Account)
		}
	case "github_app_authorization":
		e.User = githubRef(p.Sender)
	}
}

// githubRef is an id, or "" where a delivery has none.
func githubRef(a githubAccount) string {
	if a.ID <= 0 {
		return ""
	}
	return githubID(a.ID)
}
