package forge

import (
	"context"
	"time"
)

// Grant is what a user let us do at the code host by signing in there. Its
// tokens are secret: they are sealed at rest and in no message.
type Grant struct {
	Access  string
	Refresh string    // "" where access tokens do not expire
	Expires time.Time // of Access; zero is never
}

// SignIn is a forge where people sign in in the browser, by OAuth's code flow
// with PKCE (S256). The built-in code host has passwords instead.
type SignIn interface {
	// AuthorizeURL is where to send the browser. It asks for the scopes that
	// this package needs, always. It is "" when no application is configured that
	// people could sign in through.
	AuthorizeURL(state, challenge string) string

	// Exchange turns a code into a grant and says whose it is. A code that is
	// wrong, used or expired, or another verifier than the challenge's, is an
	// ErrToken; a grant without the scopes we need is a *Missing.
	Exchange(ctx context.Context, code, verifier string) (Grant, User, error)

	// Refresh gets a new access token, and where the host rotates them a new
	// refresh token: the old one may be dead from then on. ErrGrantEnded is only
	// said when the host says that the grant is over.
	Refresh(ctx context.Context, refresh string) (Grant, error)

	// Self is the user that an access token of a grant belongs to, as of now.
	Self(ctx context.Context, access string) (User, error)

	// Revoke ends a grant at the host, where the host can do that.
	Revoke(ctx context.Context, g Grant) error
}
