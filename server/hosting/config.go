package hosting

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Providers that there are adapters for.
const (
	Vercel        = "vercel"
	Netlify       = "netlify"
	Railway       = "railway"
	GitHubActions = "github-actions"
)

// makers are all adapters, in the order in which users see them.
var makers = []maker{
	{Vercel, "Vercel", newVercel},
	{Netlify, "Netlify", newNetlify},
	{Railway, "Railway", newRailway},
	{GitHubActions, "GitHub Actions", newGitHubActions},
}

type maker struct {
	name, display string
	make          func(Config) (Provider, error)
}

// Names are the providers' names, in the order in which users see them.
func Names() []string {
	names := make([]string, len(makers))
	for i, m := range makers {
		names[i] = m.name
	}
	return names
}

// Display is what people call a provider.
func Display(name string) string {
	for _, m := range makers {
		if m.name == name {
			return m.display
		}
	}
	return name
}

// Config says how a provider is reached. It holds secrets: it is in no message
// and no log.
type Config struct {
	Name   string
	APIURL string // "" is the public one; only the operator changes it
	WebURL string // where users authorize; "" is the public one

	ClientID     string // of the application to authorize through; "" offers pasted tokens only
	ClientSecret string
	Slug         string // of the integration, at Vercel
	RedirectURL  string // where the provider sends the browser back to

	Agent string // User-Agent
	Now   func() time.Time

	// Sleep waits between tries, and Transport carries requests: tests only.
	Sleep     func(time.Duration)
	Transport http.RoundTripper
}

// New makes the client of the provider that c names. It asks nobody yet.
func New(c Config) (Provider, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	for _, u := range []*string{&c.APIURL, &c.WebURL} {
		*u = strings.TrimRight(*u, "/")
		if err := checkURL(*u); err != nil {
			return nil, err
		}
	}
	for _, m := range makers {
		if m.name == c.Name {
			return m.make(c)
		}
	}
	return nil, fmt.Errorf("there is no hosting provider %q; there are %s", c.Name, strings.Join(Names(), ", "))
}

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is no address of a hosting provider; write it like https://api.example", text)
	}
	return nil
}
