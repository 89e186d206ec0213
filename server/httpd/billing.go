package httpd

import "net/http"

// maxPaymentEvent is how large an event of the payment provider may be, in bytes.
const maxPaymentEvent = 1 << 20

// paymentEvent takes events from the payment provider. The warden checks their
// signatures over the bytes as they came.
func paymentEvent(x *exchange) error {
	body, err := x.rawBody(maxPaymentEvent)
	if err != nil {
		return err
	}
	if err := x.Warden.PaymentEvent(x.ctx, x.r.Header.Get("Stripe-Signature"), body); err != nil {
		return err
	}
	return x.writeJSON(http.StatusOK, &received{Received: true})
}
