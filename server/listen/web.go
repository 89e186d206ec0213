package listen

import (
	"net/http"
	"strings"
)

// StrictTransport has browsers come back by HTTPS only, for a year, where they
// came by it.
func StrictTransport(h http.Handler) http.Handler {
	value := []string{"max-age=31536000"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header()["Strict-Transport-Security"] = value
		}
		h.ServeHTTP(w, r)
	})
}

// Redirect leads whoever reads to the same path at an address with TLS. What
// carries a credential or a change is refused instead: it was open to everybody
// on the way, and its sender should learn of that.
func Redirect(to string) http.Handler {
	to = strings.TrimRight(to, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads || r.Header.Get("Authorization") != "" {
			http.Error(w, "Nothing was done. This address is not encrypted and only leads to "+to+"\n"+
				"What you sent could be read on the way: if a token or a value was in it, replace it.", http.StatusForbidden)
			return
		}
		path := r.URL.RequestURI()
		if !strings.HasPrefix(path, "/") {
			path = "/"
		}
		http.Redirect(w, r, to+path, http.StatusTemporaryRedirect)
	})
}
