package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
)

// HostingConfig says which hosting providers values may be synced with, and how.
// With none of it all of them may be, with tokens that users paste; nobody is asked
// anything before somebody connects.
type HostingConfig struct {
	Disabled []string // names of providers

	Vercel, Netlify, Railway, GitHubActions ProviderConfig
}

// ProviderConfig is what the operator knows of one provider. Of a secret and its
// file, the secret counts.
type ProviderConfig struct {
	ClientID         string // of the application that users authorize
	ClientSecret     string
	ClientSecretFile string
	Slug             string // vercel: of the integration
	APIURL, WebURL   string // default the public ones
}

// connectCallback is where a provider sends a browser back to.
func connectCallback(provider string) string {
	return "/v1/integrations/" + provider + "/callback"
}

// providers makes the clients of all providers that are not turned off. It asks
// nobody.
func (c HostingConfig) providers(public, version string, now func() time.Time) (map[string]hosting.Provider, error) {
	for _, name := range c.Disabled {
		if !slices.Contains(hosting.Names(), name) {
			return nil, fmt.Errorf("hosting.disabled names %q; there are %s", name, strings.Join(hosting.Names(), ", "))
		}
	}
	by := map[string]ProviderConfig{
		hosting.Vercel: c.Vercel, hosting.Netlify: c.Netlify, hosting.Railway: c.Railway, hosting.GitHubActions: c.GitHubActions,
	}
	all := make(map[string]hosting.Provider)
	for _, name := range hosting.Names() {
		if slices.Contains(c.Disabled, name) {
			continue
		}
		adapter, err := by[name].adapter(name, public, version, now)
		if err != nil {
			return nil, err
		}
		if all[name], err = hosting.New(adapter); err != nil {
			return nil, fmt.Errorf("hosting.%s: %w", key(name), err)
		}
	}
	return all, nil
}

// key is a provider's name in the configuration.
func key(name string) string { return strings.ReplaceAll(name, "-", "_") }

func (c ProviderConfig) adapter(name, public, version string, now func() time.Time) (hosting.Config, error) {
	out := hosting.Config{
		Name: name, APIURL: c.APIURL, WebURL: c.WebURL, ClientID: c.ClientID, Slug: c.Slug,
		RedirectURL: public + connectCallback(name), Agent: "coffer/" + cmp.Or(version, "dev"), Now: now,
	}
	section := "hosting." + key(name)
	var err error
	if out.ClientSecret, err = secretOf(section+".client_secret", c.ClientSecret, c.ClientSecretFile); err != nil {
		return out, err
	}
	switch {
	case c.ClientID == "" && out.ClientSecret != "":
		return out, fmt.Errorf("there is a secret of an application at %s but no id: set %s.client_id", hosting.Display(name), section)
	case c.ClientID != "" && out.ClientSecret == "":
		return out, fmt.Errorf("%s.client_id is set: the secret belongs to it, set %s.client_secret_file", section, section)
	case name == hosting.Vercel && (c.ClientID == "") != (c.Slug == ""):
		return out, errors.New("hosting.vercel.client_id and hosting.vercel.slug belong together: set both or neither")
	}
	return out, nil
}

// origins puts the origins that a browser may be sent back to into one spelling.
func origins(public string, more []string) ([]string, error) {
	all := []string{api.Origin(public)}
	for _, text := range more {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("allowed_origins: %q is no origin; write it like https://app.example", text)
		}
		all = append(all, api.Origin(text))
	}
	return all, nil
}
