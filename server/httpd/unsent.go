package httpd

import (
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/web"
)

// packedField is what the name of a field begins with whose text is packed.
const packedField = "packed."

// packer packs line ends. Browsers send those of a form's fields as CR LF, whatever
// they were; in a file, they are to stay.
var packer = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// neverBack are fields that no page gives back: what is typed into them proves
// something. A form that has one leads to the sign-in without it.
var neverBack = map[string]bool{
	"password": true, "passphrase": true, "again": true, "claim": true, "characters": true, confirmField: true, "token": true, "proof": true,
}

// keep answers a form of whoever is signed in no more: with a page that holds the
// form, to be sent again after signing in beside it. Who signs in there may be
// somebody else; what they may do is decided when the form comes, as ever.
//
// This is the one page with values in it that nobody asked to see. They are what was
// typed a moment ago and could not be saved, they go back to the browser that sent
// them, and like every page it is stored nowhere on its way.
func (x *exchange) keep(failure error) error {
	if api.CodeOf(failure) != api.Unauthorized {
		return failure
	}
	form, err := x.form()
	if err != nil {
		return err
	}
	p := web.Unsent{At: x.r.URL.RequestURI(), Return: besidePath}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if neverBack[name] {
			return failure
		}
		p.Fields = append(p.Fields, packed(name, form.Get(name)))
	}
	if len(p.Fields) == 0 {
		return failure
	}
	kind, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	p.Multipart = kind == multipartForm
	x.dropSession()
	x.advise(x.public(failure))
	return x.show(http.StatusUnauthorized, p)
}

// packed is a field that a browser sends back as it was. What is typed needs no
// packing, so that a form that was just short enough is so again.
func packed(name, text string) web.Kept {
	ends := strings.Count(text, "\r\n")
	if ends == strings.Count(text, "\r") && ends == strings.Count(text, "\n") {
		return web.Kept{Name: name, Value: text}
	}
	return web.Kept{Name: packedField + name, Value: packer.Replace(text)}
}

// unpack puts fields that were packed back under their own names.
func unpack(form url.Values) error {
	for _, packed := range slices.Collect(maps.Keys(form)) {
		name, ok := strings.CutPrefix(packed, packedField)
		if !ok {
			continue
		}
		for _, value := range form[packed] {
			text, err := url.PathUnescape(value)
			if err != nil {
				return err
			}
			form.Add(name, text)
		}
		form.Del(packed)
	}
	return nil
}

// signedInBeside is where a window ends up in which somebody signed in for another.
func signedInBeside(x *exchange) (web.Page, error) {
	return web.Message{
		Frame: x.frame(), Heading: "You are signed in",
		Text: "Close this window and go back to the other one. What you typed waits there to be sent again.",
		Next: []web.Link{{Text: "Home", Path: "/"}},
	}, nil
}
