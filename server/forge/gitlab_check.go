package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// gitlabWarn is how long before its end the service token's end is warned of.
const gitlabWarn = 14 * 24 * time.Hour

// Check tries the address, the application, the service token, and looks whether
// there is a webhook secret.
func (g *gitlab) Check(ctx context.Context) []Finding {
	all := []Finding{g.checkAddress(ctx)}
	if all[0].Level == FindingFailed {
		return all // all else would only fail for the same reason
	}
	all = append(all, g.api.clockFinding()...)
	all = append(all, g.checkSignIn(ctx))
	all = append(all, g.checkService(ctx)...)
	return append(all, g.checkHooks())
}

func (g *gitlab) checkAddress(ctx context.Context) Finding {
	const what = "address"
	var is struct{ Version string }
	_, err := g.api.get(ctx, g.c.Token, "/version", nil, &is)
	missing := (*Missing)(nil)
	switch {
	case err == nil && is.Version != "":
		return Finding{what, FindingOK, fmt.Sprintf("GitLab %s answers at %s.", is.Version, g.c.URL)}
	case errors.Is(err, ErrToken), errors.Is(err, ErrRefused), errors.As(err, &missing):
		return Finding{what, FindingOK, fmt.Sprintf("A GitLab answers at %s. It tells its version to a service token only.", g.c.URL)}
	case err == nil, errors.Is(err, ErrNotFound), hasStatus(err, http.StatusNotFound):
		return Finding{what, FindingFailed, fmt.Sprintf("There is no API of a GitLab at %s. Is the address right?", g.c.APIURL)}
	}
	return Finding{what, FindingFailed, fmt.Sprintf("No GitLab can be asked at %s. Are the address, the proxy and the certificate right? (%v)", g.c.URL, err)}
}

// checkSignIn offers a code that GitLab cannot have made. It looks first whether
// it knows who is asking.
func (g *gitlab) checkSignIn(ctx context.Context) Finding {
	const what = "sign-in application"
	if g.c.ClientID == "" {
		return Finding{what, FindingWarning, "None is configured, so nobody can sign in with GitLab. Make one there with the scope " + gitlabScope + " and set forge.client_id."}
	}
	_, _, err := g.grant(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {"coffer-check"}, "code_verifier": {"coffer-check"}})
	switch {
	case errors.Is(err, ErrGrantEnded):
		return Finding{what, FindingOK, fmt.Sprintf("GitLab knows the application. It must have the redirect address %s and the scope %s.", g.c.RedirectURL, gitlabScope)}
	case errors.Is(err, errGitLabClient):
		return Finding{what, FindingFailed, "GitLab does not know the application, or not by this secret. Copy both anew from its page there."}
	}
	return Finding{what, FindingFailed, fmt.Sprintf("It could not be tried: %v.", orElse(err, errGitLabAnswer))}
}

func (g *gitlab) checkService(ctx context.Context) []Finding {
	const what = "service token"
	if g.c.Token == "" {
		return []Finding{{what, FindingWarning, "None is configured: API keys work only as long as their owner's sign-in lasts. Make a group access token there with the role Reporter and the scope " + gitlabScope + ", and set forge.token_file."}}
	}
	token, err := g.pat(ctx, g.c.Token)
	foreign, isForeign := errors.AsType[*ForeignToken](err)
	switch {
	case isForeign:
		return []Finding{{what, FindingFailed, "GitLab takes it, but " + foreign.Why + ". Make a group access token."}}
	case errors.Is(err, ErrToken):
		return []Finding{{what, FindingFailed, "GitLab turned it down: it is wrong, expired or revoked. Make a new one."}}
	case err != nil:
		return []Finding{{what, FindingFailed, fmt.Sprintf("It could not be tried: %v.", err)}}
	case !g.reads(token.Scopes):
		return []Finding{{what, FindingFailed, "It lacks the scope " + gitlabScope + ". Make a new one that has it."}}
	}
	all, err := g.administers(ctx, gitlabKey{g.c.Token, true})
	if err != nil {
		return []Finding{{what, FindingFailed, fmt.Sprintf("It could not be tried: %v.", err)}}
	}
	return []Finding{g.checkKind(ctx, all), checkGitLabScopes(token), g.checkExpiry(token), g.checkReach(ctx, all)}
}

func (g *gitlab) checkKind(ctx context.Context, all bool) Finding {
	const what = "service token"
	self, err := g.self(ctx, g.c.Token)
	switch {
	case err != nil:
		return Finding{what, FindingFailed, fmt.Sprintf("It does not say whose it is: %v.", err)}
	case all:
		return Finding{what, FindingOK, fmt.Sprintf("It is the administrator %s's, and reaches everything.", self.Login)}
	case self.Bot && strings.HasPrefix(self.Login, "group_"):
		return Finding{what, FindingOK, "It is a group's, and reaches what is in the group."}
	case self.Bot && strings.HasPrefix(self.Login, "project_"):
		return Finding{what, FindingWarning, "It is a project's, and reaches that project alone. Make one of a group."}
	}
	return Finding{what, FindingWarning, fmt.Sprintf("It is the user %s's, and reaches what they are a member of, as long as they are. Make one of a group.", self.Login)}
}

func checkGitLabScopes(token gitlabPAT) Finding {
	const what = "service token's scopes"
	if slices.Equal(token.Scopes, []string{gitlabScope}) {
		return Finding{what, FindingOK, gitlabScope + ", as needed."}
	}
	return Finding{what, FindingWarning, fmt.Sprintf("It has %s; %s is enough.", strings.Join(token.Scopes, ", "), gitlabScope)}
}

func (g *gitlab) checkExpiry(token gitlabPAT) Finding {
	const what = "service token's end"
	if token.ExpiresAt == "" {
		return Finding{what, FindingOK, "It does not expire."}
	}
	day, err := time.Parse(time.DateOnly, token.ExpiresAt)
	if err != nil {
		return Finding{what, FindingWarning, "GitLab does not say clearly when it expires."}
	}
	level, advice := FindingOK, ""
	if day.Sub(g.c.Now()) < gitlabWarn {
		level, advice = FindingWarning, " Make a new one before."
	}
	return Finding{what, level, fmt.Sprintf("It expires on %s.%s", token.ExpiresAt, advice)}
}

func (g *gitlab) checkReach(ctx context.Context, all bool) Finding {
	const what = "service token's reach"
	query := url.Values{"per_page": {"1"}, "simple": {"true"}}
	if !all {
		query.Set("membership", "true")
	}
	var some []gitlabProject
	h, err := g.api.get(ctx, g.c.Token, "/projects", query, &some)
	switch {
	case err != nil:
		return Finding{what, FindingFailed, fmt.Sprintf("Projects could not be listed: %v.", err)}
	case len(some) == 0:
		return Finding{what, FindingWarning, "It sees no project. Is it of the right group, with the role Reporter?"}
	}
	count := h.Get("X-Total")
	if count == "" {
		count = "very many" // GitLab stops counting at 10,000
	}
	return Finding{what, FindingOK, fmt.Sprintf("Projects it sees: %s.", count)}
}

func (g *gitlab) checkHooks() Finding {
	const what = "webhook secret"
	if g.c.WebhookSecret == "" {
		return Finding{what, FindingWarning, "None is configured, so changes at GitLab are noticed later. Make a system hook there, or a group hook, with a secret, and set forge.webhook_secret_file."}
	}
	if g.hookKey == nil {
		return Finding{what, FindingOK, "One is configured. GitLab must send it as the hook's secret token."}
	}
	return Finding{what, FindingOK, "A signing token is configured. GitLab must sign with it."}
}
