package forge

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Kinds of code hosts.
const (
	KindLocal  = "local"
	KindGitHub = "github"
	KindGitea  = "gitea" // and Forgejo
	KindGitLab = "gitlab"
)

// KindForgejo is another name of KindGitea in a [Config], for people to see the
// name that they know. The host is of the kind KindGitea all the same.
const KindForgejo = "forgejo"

// Config binds an instance to a code host elsewhere. It holds secrets: it is in
// no message and no log.
type Config struct {
	Kind   string
	URL    string // of the host for people, without a trailing slash; "" is the public one, where there is one
	APIURL string // of its API; "" derives it from URL

	ClientID     string // of the application that people sign in through
	ClientSecret string
	RedirectURL  string // where the host sends the browser back to

	Token         string // service credential of gitea and gitlab
	App           *App   // service credential of github
	WebhookSecret string
	AdminLevel    int // gitlab: access level that counts as admin; 0 means 50

	Roots *x509.CertPool // who may vouch for the host; nil means the system's
	Proxy string         // of the way to the host; "" means the environment's
	Agent string         // User-Agent
	Now   func() time.Time

	// Watch, if it is set, is told of each call: whether the host answered it in
	// time, with whatever, and how long that took.
	Watch func(answered bool, took time.Duration)
}

// App is a GitHub App. Sign makes the App's own token: an RS256 JWT with these
// times whose issuer is ID.
type App struct {
	ID   string // client id, or the number
	Sign func(issuer string, issued, expires time.Time) (string, error)
}

// New makes the client of the code host that c names. It asks nobody yet.
func New(c Config) (Forge, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Watch == nil {
		c.Watch = func(bool, time.Duration) {}
	}
	c.URL, c.APIURL = strings.TrimRight(c.URL, "/"), strings.TrimRight(c.APIURL, "/")
	for _, u := range []string{c.URL, c.APIURL} {
		if err := checkURL(u); err != nil {
			return nil, err
		}
	}
	switch c.Kind {
	case KindGitLab:
		return newGitLab(c)
	case KindGitea, KindForgejo:
		return newGitea(c)
	case KindGitHub:
		return newGitHub(c)
	default:
		return nil, fmt.Errorf("there is no kind of code host %q; it is local, github, gitea, forgejo or gitlab", c.Kind)
	}
}

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is no address of a code host; write it like https://git.example", text)
	}
	return nil
}
