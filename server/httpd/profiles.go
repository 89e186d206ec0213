package httpd

import (
	"net/http"
	"net/http/pprof"
	"strings"
)

const profilesPath = "/debug/pprof/"

// withProfiles puts Go's profiles before the operator's face, which alone has them:
// they tell what the server is doing, and taking one costs time. Importing pprof
// registers them with the default mux, too, which nobody here listens with.
func withProfiles(operator http.Handler) http.Handler {
	profiles := http.NewServeMux()
	profiles.HandleFunc(profilesPath, pprof.Index)
	profiles.HandleFunc(profilesPath+"cmdline", pprof.Cmdline)
	profiles.HandleFunc(profilesPath+"profile", pprof.Profile)
	profiles.HandleFunc(profilesPath+"symbol", pprof.Symbol)
	profiles.HandleFunc(profilesPath+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, profilesPath) {
			profiles.ServeHTTP(w, r)
			return
		}
		operator.ServeHTTP(w, r)
	})
}
