package httpd

import (
	"cmp"
	"fmt"
	"net/url"

	"coffer/server/api"
	"coffer/web"
)

const accountPath = "/account"

// accountPages are about whoever is signed in.
func accountPages() []route {
	return []route{
		{method: get, path: accountPath, bucket: inGeneral, run: signedIn(account)},
		{method: post, path: "/sessions/:id/end", bucket: inGeneral, run: act(endSession)},
	}
}

func account(x *exchange) (web.Page, error) {
	usage, err := x.Warden.Usage(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	all, err := x.Warden.Sessions(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.Account{Frame: x.frame(), Forge: x.forgeName(), Server: x.address(), Plan: usage.Plan, Paid: x.Warden.BillingEnabled(), Usage: []web.Usage{
		{Name: "Vaults of private repositories", Used: usage.Usage.Private, Limit: limitText(usage.Limits.MaxPrivateRepos)},
		{Name: "Vaults of public repositories", Used: usage.Usage.Public, Limit: limitText(usage.Limits.MaxPublicRepos)},
	}}
	p.Limited = p.Paid || usage.Limits.MaxPrivateRepos >= 0 || usage.Limits.MaxPublicRepos >= 0
	for _, s := range all.Sessions {
		p.Sessions = append(p.Sessions, shownSession(s))
	}
	return p, nil
}

func limitText(l api.Limit) string {
	if l < 0 {
		return "unlimited"
	}
	return fmt.Sprint(int(l))
}

func shownSession(s api.Session) web.Session {
	shown := web.Session{ID: s.ID, Created: s.CreatedAt.Time, End: s.ExpiresAt.Time, Current: s.Current}
	if s.IP != nil {
		shown.Where = *s.IP
	}
	if s.UserAgent != nil {
		shown.With = *s.UserAgent
	}
	if s.LastUsedAt != nil {
		shown.Used = s.LastUsedAt.Time
	}
	return shown
}

// endSession ends another session of who is asking.
func endSession(x *exchange, _ url.Values) error {
	ref, err := asked[api.IDRef](x)
	if err != nil {
		return err
	}
	err = x.Warden.EndSession(x.ctx, x.who, *ref)
	if err != nil && api.CodeOf(err) != api.NotFound { // it may have ended meanwhile
		return err
	}
	x.done(accountPath, sessionEnded)
	return nil
}

// forgeNames are what people call the code hosts that they sign in with. The
// built-in one has no name of its own.
var forgeNames = map[string]string{"github": "GitHub", "gitea": "Gitea", "gitlab": "GitLab"}

// forgeName is what people call the code host, or "" for the built-in one.
func (x *exchange) forgeName() string { return cmp.Or(x.ForgeName, forgeNames[x.gate.ForgeKind()]) }
