package httpd

import (
	"net/http"
	"reflect"

	"coffer/server/api"
)

// known finds out who asks for a page.
func (x *exchange) known() error {
	if err := x.identify(); err != nil {
		return err
	}
	return x.limit()
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
