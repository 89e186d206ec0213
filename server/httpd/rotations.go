package httpd

import (
	"reflect"

	"coffer/server/api"
)

var rekeyBinder = newBinder(reflect.TypeFor[api.Rekey]())

// rekey tries a key as unsealing does, so it goes through the same throttle.
func rekey(x *exchange) error {
	req, err := ask[api.Rekey](x, rekeyBinder)
	if err != nil {
		return err
	}
	made, err := x.rekey(*req)
	if err != nil {
		return err
	}
	return x.send(made, nil)
}

func (x *exchange) rekey(req api.Rekey) (*api.Rekeyed, error) {
	if err := x.enterThrottle(); err != nil {
		return nil, err
	}
	defer x.unseals.leave()
	return x.Warden.Rekey(x.ctx, x.who, req)
}
