package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"coffer/server/api"
)

// netlifyOAuth is Netlify with an application that users authorize through. It
// takes no code challenge, knows no scopes, and its grants usually have no end.
type netlifyOAuth struct {
	*netlify
	config Config
}

func (n *netlifyOAuth) Describe() Description {
	d := n.netlify.Describe()
	d.OAuth = true
	return d
}

func (n *netlifyOAuth) AuthorizeURL(state, _ string) string {
	return cmp.Or(n.config.WebURL, netlifyWeb) + "/authorize?" + url.Values{
		"response_type": {"code"},
		"client_id":     {n.config.ClientID},
		"redirect_uri":  {n.config.RedirectURL},
		"state":         {state},
	}.Encode()
}

func (n *netlifyOAuth) Exchange(ctx context.Context, callback map[string][]string, _ string) (Grant, error) {
	code := url.Values(callback).Get("code")
	if code == "" {
		return Grant{}, ErrCredential // the user said no
	}
	return n.token(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {n.config.RedirectURL}})
}

func (n *netlifyOAuth) Refresh(ctx context.Context, refresh api.Secret) (Grant, error) {
	if refresh.Len() == 0 {
		return Grant{}, ErrCredential
	}
	g, err := n.token(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}})
	if err == nil && g.Refresh.Len() == 0 {
		g.Refresh = refresh // it goes on
	}
	return g, err
}

// token has what the form holds redeemed.
func (n *netlifyOAuth) token(ctx context.Context, form url.Values) (Grant, error) {
	form.Set("client_id", n.config.ClientID)
	form.Set("client_secret", n.config.ClientSecret)
	var out struct {
		Access  api.Secret `json:"access_token"`
		Refresh api.Secret `json:"refresh_token"`
		Life    int64      `json:"expires_in"` // seconds
	}
	a, err := n.wire.ask(ctx, call{method: http.MethodPost, path: "/oauth/token", form: form}, &out)
	if err != nil {
		return Grant{}, whyNoGrant(a, err)
	}
	if out.Access.Len() == 0 {
		return Grant{}, errNetlifyHollow
	}
	g := Grant{Access: out.Access, Refresh: out.Refresh}
	if out.Life > 0 {
		g.Expires = n.config.Now().Add(time.Duration(out.Life) * time.Second)
	}
	return g, nil
}

// whyNoGrant tells a grant that is over from an application that is not taken:
// only the first is the user's to mend.
func whyNoGrant(a *answer, err error) error {
	if u := (*Unavailable)(nil); errors.As(err, &u) || a == nil {
		return err
	}
	var body struct{ Error string }
	if json.Unmarshal(a.Body, &body) == nil && body.Error == "invalid_grant" {
		return ErrCredential
	}
	return &Unavailable{RequestID: a.requestID(), Err: errors.New("it does not take the application; check the client's id, secret and redirect address in the configuration")}
}
