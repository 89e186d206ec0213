package httpd

import (
	"net/http"
	"reflect"

	"coffer/server/api"
	"coffer/server/warden"
)

const devicePath = "/device"

var (
	startDeviceBinder = newBinder(reflect.TypeFor[api.StartDevice]())
	pollDeviceBinder  = newBinder(reflect.TypeFor[api.PollDevice]())
)

// stranger is whoever asks, whatever credential they brought along.
func (x *exchange) stranger() (warden.Caller, error) {
	return x.Warden.Stranger(x.credential())
}

// startDevice begins a device login for a program.
func startDevice(x *exchange) error {
	if err := x.readBody(); err != nil {
		return err
	}
	if err := x.limit(); err != nil {
		return err
	}
	req, err := bind[api.StartDevice](startDeviceBinder, x.input())
	if err != nil {
		return err
	}
	who, err := x.stranger()
	if err != nil {
		return err
	}
	made, err := x.Warden.StartDevice(x.ctx, who, *req)
	if err != nil {
		return err
	}
	made.VerificationURI = x.PublicURL + devicePath
	made.VerificationURIComplete = made.VerificationURI + "?user_code=" + made.UserCode
	return sendFlat(x, *made)
}

// pollDevice tells a program how its device login stands.
func pollDevice(x *exchange) error {
	if err := x.readBody(); err != nil {
		return err
	}
	req, wrong := bind[api.PollDevice](pollDeviceBinder, x.input())
	if err := x.limitPoll(req.DeviceCode); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	who, err := x.stranger()
	if err != nil {
		return err
	}
	status, err := x.Warden.PollDevice(x.ctx, who, *req)
	if err != nil {
		return err
	}
	return sendFlat(x, *status)
}

// limitPoll counts polls by their device code, so that programs behind one address
// are not in each other's way, and guesses by address.
func (x *exchange) limitPoll(code api.Secret) error {
	who := addressOf(x.clientIP())
	if code.Len() > 0 {
		key, known, err := x.Warden.DeviceKey(x.ctx, code)
		if err != nil {
			return err
		}
		if known {
			who = subject{credential: true, id: key}
		}
	}
	return x.take(x.route.bucket, who)
}

// flat is the envelope of an answer whose fields stand at the top as well, where
// clients that know no envelope look for them.
type flat[T any] struct {
	Top  T        `json:",embed"`
	Data T        `json:"data"`
	Meta api.Meta `json:"meta"`
}

func sendFlat[T any](x *exchange, data T) error {
	return x.writeJSON(http.StatusOK, &flat[T]{data, data, api.Meta{RequestID: x.id}})
}
