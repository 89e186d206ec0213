package httpd

import (
	"context"
	"net/http"
	"reflect"

	"coffer/server/api"
	"coffer/server/warden"
)

// health tells that the process lives, and in which state.
func health(x *exchange) error {
	return x.writeJSON(http.StatusOK, &api.Health{Status: x.gate.State(), Version: x.Version})
}

// apiHealth tells whether the API serves.
func apiHealth(x *exchange) error {
	h := &api.APIHealth{Version: "v1", Status: x.gate.State(), Timestamp: api.At(x.Now())}
	return x.writeJSON(servingIf(h.Status == api.StateOK), h)
}

// ready tells whether a load balancer should send requests here.
func ready(x *exchange) error {
	answer := struct {
		Status string `json:"status"`
	}{"ready"}
	err := x.gate.Ready(x.ctx)
	if err != nil {
		answer.Status = "unavailable"
		if state := x.gate.State(); state != api.StateOK {
			answer.Status = state
		}
	}
	return x.writeJSON(servingIf(err == nil), &answer)
}

func servingIf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return kinds[api.Unavailable].status
}

func systemStatus(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	st := x.Warden.Status(x.ctx)
	return x.send(&st, nil)
}

var (
	initializeBinder = newBinder(reflect.TypeFor[api.Initialize]())
	setupBinder      = newBinder(reflect.TypeFor[api.Setup]())
	unsealBinder     = newBinder(reflect.TypeFor[api.Unseal]())
)

// initialize takes the claim token as proof, and the operator's socket for one.
func initialize(x *exchange) error {
	if x.operator {
		return initializeWith(x, setupBinder, x.Warden.InitializeHere)
	}
	return initializeWith(x, initializeBinder, x.Warden.Initialize)
}

func initializeWith[Req request](x *exchange, b *binder, make func(context.Context, Req) (*api.Initialized, error)) error {
	req, err := attempt[Req](x, b)
	if err != nil {
		return err
	}
	defer x.unseals.leave()
	made, err := make(x.ctx, *req)
	if err != nil {
		return err
	}
	return x.send(made, nil)
}

func unseal(x *exchange) error {
	req, err := attempt[api.Unseal](x, unsealBinder)
	if err != nil {
		return err
	}
	defer x.unseals.leave()
	if err := x.Warden.Unseal(x.ctx, *req); err != nil {
		return err
	}
	if st := x.Warden.Status(x.ctx); st.Sealed && st.Shares != nil {
		return x.writeJSON(http.StatusAccepted, &envelope{st.Shares, api.Meta{RequestID: x.id}})
	}
	x.write(http.StatusNoContent, nil)
	return nil
}

// proven is the operation of somebody who shows a key with it: it has the throttle
// of those who try one.
func proven[Req request, Res any](op func(*door, context.Context, warden.Caller, Req) (Res, error)) operation {
	b := newBinder(reflect.TypeFor[Req]())
	return func(x *exchange) error {
		req, err := ask[Req](x, b)
		if err != nil {
			return err
		}
		if err := x.enterThrottle(); err != nil {
			return err
		}
		defer x.unseals.leave()
		res, err := op(x.Warden, x.ctx, x.who, *req)
		if err != nil {
			return err
		}
		return x.send(res, nil)
	}
}

// attempt reads a request that tries a key, and enters the throttle for it.
// Without an error the caller must leave the throttle.
func attempt[Req request](x *exchange, b *binder) (*Req, error) {
	if err := x.readBody(); err != nil {
		return nil, err
	}
	req, err := bind[Req](b, x.input())
	if err != nil {
		return nil, err
	}
	if err := x.enterThrottle(); err != nil {
		return nil, err
	}
	return req, nil
}

// enterThrottle waits for the turn of a request that tries a key. Without an error
// the caller must leave the throttle.
func (x *exchange) enterThrottle() error {
	if !x.operator {
		if wait := x.unseals.count(x.clientIP()); wait > 0 {
			return &api.Error{
				Code:       api.RateLimited,
				Message:    "Too many attempts to open the vault from this address. Wait, or use coffer unseal on the server itself.",
				RetryAfter: wait,
			}
		}
	}
	if err := x.unseals.enter(x.ctx); err != nil {
		return api.Errorf(api.Unavailable, "Another attempt to open the vault is still running; try again.")
	}
	return nil
}
