package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Check tries the address, the sign-in application, the service credential and
// whether there is a webhook secret.
func (g *Gitea) Check(ctx context.Context) []Finding {
	all := []Finding{g.checkAddress(ctx)}
	if all[0].Level == FindingFailed {
		return all
	}
	all = append(all, g.wire.clockFinding()...)
	all = append(all, g.checkApplication(ctx), g.checkService(ctx))
	if g.config.WebhookSecret == "" {
		return append(all, Finding{"webhook secret", FindingWarning, "none is configured, so webhooks are refused: deleted repositories are noticed later"})
	}
	return append(all, Finding{"webhook secret", FindingOK, "configured"})
}

func (g *Gitea) checkAddress(ctx context.Context) Finding {
	f := Finding{What: "address", Level: FindingFailed}
	var host struct{ Version string }
	_, err := g.get(ctx, voice{}, "/version", nil, &host)
	switch {
	case errors.Is(err, ErrToken), errors.Is(err, ErrRefused):
		f.Level, f.Detail = FindingOK, "answers, but shows its version to nobody who is not signed in"
	case errors.Is(err, ErrNotFound), hasStatus(err, http.StatusNotFound), err == nil && host.Version == "":
		f.Detail = fmt.Sprintf("there is no Gitea or Forgejo at %s: is forge.url complete?", g.config.URL)
	case err != nil:
		f.Detail = fmt.Sprintf("%s: %v", g.config.URL, err)
	case strings.Contains(host.Version, "+gitea-"):
		f.Level, f.Detail = FindingOK, "Forgejo "+host.Version
	default:
		f.Level, f.Detail = FindingOK, "Gitea "+host.Version
	}
	return f
}

// checkApplication asks about a token that is none: who may ask is told so, and
// who is not known is turned away.
func (g *Gitea) checkApplication(ctx context.Context) Finding {
	f := Finding{What: "sign-in application", Level: FindingOK, Detail: "the code host knows it; its redirect URI must be exactly " + g.config.RedirectURL}
	if g.config.ClientID == "" || g.config.ClientSecret == "" {
		f.Level, f.Detail = FindingWarning, "none is configured, so nobody can sign in with the browser: "+
			"make an OAuth2 application there, and configure its client id and secret here"
		return f
	}
	if _, err := g.introspect(ctx, ""); err != nil {
		f.Level, f.Detail = FindingFailed, err.Error()
	}
	return f
}

const giteaAdvice = "make a token of a site administrator there, with read:user, read:repository, read:organization"

func (g *Gitea) checkService(ctx context.Context) Finding {
	f := Finding{What: "service credential", Level: FindingFailed}
	v, err := g.admin()
	if err != nil {
		f.Level, f.Detail = FindingWarning, "none is configured: API keys work only while their makers' sign-ins last; "+giteaAdvice+", and set forge.token_file"
		return f
	}
	who, err := g.self(ctx, v)
	if err == nil && !who.IsAdmin {
		f.Detail = who.Login + " is no site administrator, so it cannot ask about others: " + giteaAdvice
		return f
	}
	if err == nil {
		v.login = who.Login
		err = g.suffices(ctx, v)
	}
	lacks := (*Missing)(nil)
	switch {
	case errors.Is(err, ErrNoCredential):
		f.Detail = "the code host turned it down, it is wrong or revoked: " + giteaAdvice
	case errors.As(err, &lacks):
		f.Detail = "it lacks " + lacks.What + ": " + giteaAdvice
	case err != nil:
		f.Detail = "it could not be tried: " + err.Error()
	}
	if err != nil {
		return f
	}
	return g.checkPower(ctx, v, who, f)
}

// checkPower tries whether the service credential can do more than it should. One
// that may look into the host's administration was given more scopes than we use.
func (g *Gitea) checkPower(ctx context.Context, v voice, who giteaUser, f Finding) Finding {
	var page json.RawMessage
	_, err := g.get(ctx, v, "/admin/orgs", url.Values{"limit": {"1"}}, &page)
	f.Level, f.Detail = FindingOK, who.Login+" is a site administrator and may ask for others"
	if err == nil {
		f.Level = FindingWarning
		f.Detail += "; its token can do more than that: " + strings.ReplaceAll(giteaNeeds, " ", ", ") + " suffice"
	}
	return f
}
