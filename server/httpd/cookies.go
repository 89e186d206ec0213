package httpd

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"coffer/server/api"
)

// Cookies of ours. One signs a browser in, the other is its ticket while it is at
// the code host.
const (
	sessionCookie = "coffer_session"
	ticketCookie  = "coffer_login"
)

// maxToken is how long a cookie may be that we look at.
const maxToken = 4 << 10

// cookie is the value of a cookie that came once. Two of one name are none: one
// of them could have been set by a neighbour under the same domain, and nothing
// tells which.
func (x *exchange) cookie(name string) string {
	all := x.r.CookiesNamed(name)
	if len(all) != 1 || len(all[0].Value) > maxToken {
		return ""
	}
	return all[0].Value
}

// setCookie gives the browser a cookie until then. Scripts never see it, and
// other sites' forms come without it.
func (x *exchange) setCookie(name, path, value string, until time.Time) {
	c := x.baseCookie(name, path)
	c.Value = value
	c.Expires = until.UTC()
	c.MaxAge = max(1, int((until.Sub(x.Now())+time.Second-1)/time.Second))
	http.SetCookie(x.w, c)
}

// dropCookie has the browser forget a cookie.
func (x *exchange) dropCookie(name, path string) {
	c := x.baseCookie(name, path)
	c.MaxAge = -1
	http.SetCookie(x.w, c)
}

func (x *exchange) baseCookie(name, path string) *http.Cookie {
	return &http.Cookie{
		Name: name, Path: path, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: x.encrypted(),
	}
}

// sessionPath is below what a browser shows its session: all that is ours, and
// nothing that a proxy serves beside it.
func (x *exchange) sessionPath() string { return cmp.Or(x.pages.Path(""), "/") }

// dropSession has the browser forget its session, if it has one.
func (x *exchange) dropSession() {
	if _, err := x.r.Cookie(sessionCookie); err == nil {
		x.dropCookie(sessionCookie, x.sessionPath())
	}
}

// newOrigins is what tells our own pages' requests from those of others.
func newOrigins(own string) *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	if own != "" {
		// Behind a proxy that changes Host, only this says where we are.
		_ = p.AddTrustedOrigin(own)
	}
	return p
}

// encrypted reports whether browsers reach us by HTTPS.
func (f *face) encrypted() bool { return strings.HasPrefix(f.origin, "https://") }

// ours refuses a request that changes something and was sent by a page of
// somebody else's: browsers send cookies along with those, too.
func (x *exchange) ours() error {
	if x.origins.Check(x.r) != nil || x.fromPlain() {
		return api.Errorf(api.Forbidden, "This was sent by a page of another site. Open %s and do it there.", x.PublicURL)
	}
	return nil
}

// fromPlain reports whether a page of plain HTTP sent a request to us who are
// reached by HTTPS. Browsers that say no more than the origin leave it to us to
// see that the scheme is another.
func (x *exchange) fromPlain() bool {
	h := x.r.Header
	return x.encrypted() && h.Get("Sec-Fetch-Site") == "" && strings.HasPrefix(h.Get("Origin"), "http://")
}
