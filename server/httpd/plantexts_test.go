package httpd

import (
	"testing"

	"coffer/server/api"
)

func TestPricesAreWrittenAsPeopleReadThem(t *testing.T) {
	for _, tt := range []struct {
		amount             int64
		currency, interval string
		want               string
	}{
		{1500, "eur", "month", "EUR 15.00 a month"},
		{1505, "usd", "year", "USD 15.05 a year"},
		{5, "eur", "", "EUR 0.05"},
		{0, "eur", "month", "EUR 0.00 a month"},
		{1500, "jpy", "month", "JPY 1500 a month"},
		{15005, "KWD", "month", "KWD 15.005 a month"},
	} {
		if got := priceText(api.Price{Price: &tt.amount, Currency: tt.currency, Interval: tt.interval}); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got := priceText(api.Price{Currency: "eur", Interval: "month"}); got != "a price that Stripe shows" {
		t.Errorf("got %q", got)
	}
}
