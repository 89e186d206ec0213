package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Check tries the address, the sign-in application, the App and the webhook's
// secret.
func (g *github) Check(ctx context.Context) []Finding {
	findings := []Finding{g.checkAddress(ctx)}
	if findings[0].Level == FindingFailed {
		return findings // all else would only fail for the same reason
	}
	findings = append(findings, g.checkSignIn(ctx))
	findings = append(findings, g.checkApp(ctx)...)
	if g.config.WebhookSecret == "" {
		return append(findings, warning("webhooks", "no webhook secret is configured: what changes at GitHub is noticed later, by asking"))
	}
	return append(findings, fine("webhooks", "a secret is configured"))
}

func fine(what, detail string) Finding    { return Finding{what, FindingOK, detail} }
func warning(what, detail string) Finding { return Finding{what, FindingWarning, detail} }
func failed(what, detail string) Finding  { return Finding{what, FindingFailed, detail} }

// checkAddress asks for the API's root, which needs no token but on a private
// Enterprise Server.
func (g *github) checkAddress(ctx context.Context) Finding {
	const what = "address"
	var root struct {
		CurrentUserURL string `json:"current_user_url"`
	}
	h, err := g.api.get(ctx, "", "/", nil, &root)
	switch {
	case err != nil && !errors.Is(err, ErrToken):
		return failed(what, fmt.Sprintf("the API at %s cannot be used: %v", g.config.APIURL, err))
	case err == nil && root.CurrentUserURL == "":
		return failed(what, fmt.Sprintf("what answers at %s is not the API of GitHub", g.config.APIURL))
	}
	if at, err := http.ParseTime(h.Get("Date")); err == nil && at.Sub(g.api.now()).Abs() > time.Minute {
		return warning(what, fmt.Sprintf("the API at %s answers, but its clock and this server's differ by %s: set the clock right, or GitHub turns the App down",
			g.config.APIURL, at.Sub(g.api.now()).Abs().Round(time.Second)))
	}
	return fine(what, fmt.Sprintf("the API at %s answers", g.config.APIURL))
}

// checkSignIn asks about a token that does not exist: whoever is told so is known.
func (g *github) checkSignIn(ctx context.Context) Finding {
	const what = "sign-in application"
	if g.config.ClientID == "" || g.config.ClientSecret == "" {
		return warning(what, "client id or client secret is not configured: nobody can sign in with GitHub")
	}
	_, err := g.api.ask(ctx, g.application(http.MethodPost, "gho_"+strings.Repeat("0", 36)), nil)
	switch {
	case errors.Is(err, ErrNotFound), hasStatus(err, http.StatusUnprocessableEntity):
		return fine(what, "GitHub knows the client id and the client secret")
	case errors.Is(err, ErrToken):
		return failed(what, "GitHub turned the client id or the client secret down: make a new secret in the application's settings")
	case err == nil:
		return failed(what, "GitHub took a token that nobody has; is this GitHub?")
	}
	return failed(what, fmt.Sprintf("the application could not be tried: %v", err))
}

// githubTopics are the events that the App should be sent.
var githubTopics = []string{"member", "membership", "organization", "repository", "team"}

func (g *github) checkApp(ctx context.Context) []Finding {
	const what = "GitHub App"
	if g.app == nil {
		return []Finding{warning(what, "none is configured: roles are asked with each user's own sign-in, and API keys work only as long as that lasts")}
	}
	app, err := g.app.about(ctx)
	if err != nil {
		return []Finding{failed(what, "it could not be tried: "+appFault(err))}
	}
	findings := []Finding{fine(what, fmt.Sprintf("GitHub knows %q by its id and private key", app.Name))}
	unsent := slices.DeleteFunc(slices.Clone(githubTopics), func(t string) bool { return slices.Contains(app.Events, t) })
	if g.config.WebhookSecret != "" && len(unsent) > 0 {
		findings = append(findings, warning("events of the App", "subscribe it to the events "+strings.Join(unsent, ", ")))
	}
	return append(findings, g.checkInstallations(ctx)...)
}

// appFault is an error without the words that are for askers.
func appFault(err error) string { return strings.TrimPrefix(err.Error(), ErrNoCredential.Error()+": ") }

func (g *github) checkInstallations(ctx context.Context) []Finding {
	all, err := g.app.installations(ctx)
	if err != nil {
		return []Finding{failed("installations of the App", "they could not be listed: "+appFault(err))}
	}
	if len(all) == 0 {
		return []Finding{warning("installations of the App", "it is installed nowhere: install it on the organizations whose repositories have vaults")}
	}
	var findings []Finding
	for _, i := range all {
		what := "App on " + i.Account.Login
		switch {
		case i.SuspendedAt != "":
			findings = append(findings, failed(what, "the installation is suspended: let an owner of the account resume it"))
		case i.Permissions["metadata"] == "":
			findings = append(findings, failed(what, "it lacks the repository permission Metadata: read"))
		case i.Account.kind() == OwnerOrg && !i.readsMembers():
			findings = append(findings, failed(what, "it "+noMembers+": add it to the App, and let an owner of the organization accept it"))
		default:
			findings = append(findings, fine(what, "it is installed, with the permissions that are needed"))
		}
	}
	return findings
}
