package httpd

import (
	"context"
	"reflect"

	"coffer/server/api"
)

const doctorPath = "/v1/operator/doctor"

// Examination has the server examine itself and its setup. Quick leaves out what asks
// others.
type Examination func(ctx context.Context, quick bool) *api.Report

var examineBinder = newBinder(reflect.TypeFor[api.Examine]())

// examine tells the operator what there is to know. On the operator's socket it does so
// while the server is sealed, too, when nobody can be identified.
func examine(x *exchange) error {
	look := ask[api.Examine]
	if x.operator {
		look = func(x *exchange, b *binder) (*api.Examine, error) {
			if err := x.readBody(); err != nil {
				return nil, err
			}
			return bind[api.Examine](b, x.input())
		}
	}
	req, err := look(x, examineBinder)
	if err != nil {
		return err
	}
	return x.send(x.Examine(x.ctx, req.Quick), nil)
}
