package httpd

import (
	"net/http"

	"coffer/web"
)

// signInPage asks who somebody is.
func signInPage(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	p := web.SignIn{Forge: forgeNames[x.gate.ForgeKind()]}
	if to := ownPage(x.r.URL.Query().Get("return")); to != "/" {
		p.Return = to
	}
	return x.show(http.StatusOK, p)
}
