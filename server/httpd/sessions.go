package httpd

import (
	"net/http"

	"coffer/server/api"
	"coffer/web"
)

// home is the first page of somebody who is signed in.
func home(x *exchange) error {
	if err := x.identify(); err != nil {
		return err
	}
	if err := x.limit(); err != nil {
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

// forgeNames are what people call the code hosts that they sign in with. The
// built-in one has no name of its own.
var forgeNames = map[string]string{"github": "GitHub", "gitea": "Gitea", "gitlab": "GitLab"}
