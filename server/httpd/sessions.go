package httpd

import (
	"net/http"
	"reflect"

	"coffer/server/api"
	"coffer/web"
)

// known finds out who asks for a page.
func (x *exchange) known() error {
	if err := x.identify(); err != nil {
		return err
	}
	return x.limit()
}

// home is the first page of somebody who is signed in.
func home(x *exchange) error {
	if err := x.known(); err != nil {
		return err
	}
	all, err := x.Warden.Sessions(x.ctx, x.who, api.Empty{})
	if err != nil {
		return err
	}
	p := web.Home{Frame: x.frame(), Forge: forgeNames[x.gate.ForgeKind()], Server: x.PublicURL}
	for _, s := range all.Sessions {
		p.Sessions = append(p.Sessions, shownSession(s))
	}
	return x.show(http.StatusOK, p)
}

// frame is what stands around the page of who is asking.
func (x *exchange) frame() web.Frame { return web.Frame{User: x.who.Username()} }

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

// endSession ends another session of who is asking, from their home page.
func endSession(x *exchange) error {
	if err := x.known(); err != nil {
		return err
	}
	id, ok := cleanID(x.c.Param("id"))
	if !ok {
		return errNoSuchAddress
	}
	err := x.Warden.EndSession(x.ctx, x.who, api.IDRef{ID: id})
	if err != nil && api.CodeOf(err) != api.NotFound { // it may have ended meanwhile
		return err
	}
	x.leadTo("/")
	return nil
}

// signOut ends the session of the browser that asks.
func signOut(x *exchange) error {
	if err := x.known(); err != nil {
		return err
	}
	if err := x.Warden.Logout(x.ctx, x.who, api.Empty{}); err != nil {
		return err
	}
	x.dropSession()
	x.leadTo(signInPath)
	return nil
}

var emptyBinder = newBinder(reflect.TypeFor[api.Empty]())

// logout ends the session that asks, and has a browser forget it.
func logout(x *exchange) error {
	if _, err := ask[api.Empty](x, emptyBinder); err != nil {
		return err
	}
	if err := x.Warden.Logout(x.ctx, x.who, api.Empty{}); err != nil {
		return err
	}
	if x.who.InBrowser() {
		x.dropSession()
	}
	x.write(http.StatusNoContent, nil)
	return nil
}

// forgeNames are what people call the code hosts that they sign in with. The
// built-in one has no name of its own.
var forgeNames = map[string]string{"github": "GitHub", "gitea": "Gitea", "gitlab": "GitLab"}
