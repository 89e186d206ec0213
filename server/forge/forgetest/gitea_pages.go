package forgetest

import (
	"html/template"
	"net/http"
	"net/url"
	"strconv"
)

// ShowPages has the host show its pages for sign-in and consent to people with
// real browsers, in place of whom [Gitea.SignIn] named and their consent. Nobody
// needs a password there.
func (g *Gitea) ShowPages() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages = true
}

// giteaSession is the cookie with the id of the user who is signed in. The name
// is not ours: cookies of one host are seen on all its ports.
const giteaSession = "i_like_gitea"

// visitor is who is signed in there, and whether pages are shown.
func (g *Gitea) visitor(r *http.Request) (user int64, shown bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.pages {
		return g.browser, false
	}
	c, err := r.Cookie(giteaSession)
	if err != nil {
		return 0, true
	}
	user, _ = strconv.ParseInt(c.Value, 10, 64)
	return user, true
}

var giteaPage = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>{{.Title}}</title><h1>{{.Title}}</h1>
<form method="post" action="{{.Action}}">
{{range $name, $values := .Hidden}}{{range $values}}<input type="hidden" name="{{$name}}" value="{{.}}">{{end}}{{end}}
{{if .Asks}}<label>Username <input name="user_name"></label> <button>Sign In</button>{{else}}
<button name="granted" value="true">Authorize Application</button>
<button name="granted" value="false">Cancel</button>{{end}}
</form>
</html>
`))

type giteaForm struct {
	Title, Action string
	Hidden        url.Values
	Asks          bool // who it is
}

func (f giteaForm) show(rw http.ResponseWriter) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = giteaPage.Execute(rw, f) // a client that left is no concern of ours
}

func (g *Gitea) signInPage(rw http.ResponseWriter, r *http.Request) {
	giteaForm{"Sign In", giteaBase(r) + "/user/login", url.Values{"redirect_to": {r.URL.Query().Get("redirect_to")}}, true}.show(rw)
}

func (g *Gitea) signInThere(rw http.ResponseWriter, r *http.Request) {
	user, _, known := g.World.UserNamed(r.FormValue("user_name"))
	if !known || user.Blocked {
		g.signInPage(rw, r)
		return
	}
	http.SetCookie(rw, &http.Cookie{Name: giteaSession, Value: strconv.FormatInt(user.ID, 10), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(rw, r, giteaBase(r)+r.FormValue("redirect_to"), http.StatusSeeOther)
}

// askConsent shows the page of consent.
func (g *Gitea) askConsent(rw http.ResponseWriter, app App, q url.Values) {
	giteaForm{"Authorize \"" + app.Name + "\" to access your account?", "grant", q, false}.show(rw)
}

// consent takes the answer to the page of consent.
func (g *Gitea) consent(rw http.ResponseWriter, r *http.Request) {
	user, _ := g.visitor(r)
	app, err := g.World.App(r.PostFormValue("client_id"), "")
	switch {
	case user == 0 || err != nil || r.PostFormValue("redirect_uri") != app.Redirect:
		http.Error(rw, "Bad Request", http.StatusBadRequest)
	case r.PostFormValue("granted") != "true":
		back := url.Values{"state": {r.PostFormValue("state")}, "error": {"access_denied"}, "error_description": {"the request is denied"}}
		http.Redirect(rw, r, app.Redirect+"?"+back.Encode(), http.StatusSeeOther)
	default:
		g.grant(rw, r, user, app, r.PostForm)
	}
}
