package stripetest

import (
	"html/template"
	"net/http"
)

// page is one with a button, and a way back.
type page struct{ Title, Button, Back string }

var pages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><title>{{.Title}}</title>
<h1>{{.Title}}</h1>
<form method="post"><button>{{.Button}}</button></form>
<p><a href="{{.Back}}">Back</a></p>
`))

func show(rw http.ResponseWriter, p page) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.Execute(rw, p) // a browser that left is no concern of ours
}
