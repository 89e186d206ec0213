package httpd

import (
	"errors"
	"io"
	"net/http"

	"coffer/server/api"
)

// maxDelivery is how large the body of a webhook may be, in bytes.
const maxDelivery = 5 << 20

// webhook takes deliveries from a kind of code host. The warden checks their
// signatures over the bytes as they came.
func webhook(kind string) operation {
	return func(x *exchange) error {
		body, err := x.rawBody(maxDelivery)
		if err != nil {
			return err
		}
		if err := x.Warden.Webhook(x.ctx, kind, x.r.Header.Get, body); err != nil {
			return err
		}
		return x.writeJSON(http.StatusOK, &received{Received: true})
	}
}

// rawBody is the body as it came over the wire, which signatures are made over.
func (x *exchange) rawBody(most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, most))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, api.Errorf(api.TooLarge, "A webhook may have %d bytes.", most)
	}
	if err != nil {
		return nil, api.Errorf(api.BadRequest, "The body ended before its time.")
	}
	return body, nil
}

// received answers a webhook that was taken.
type received struct {
	Received bool `json:"received"`
}
