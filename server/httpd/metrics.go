package httpd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"coffer/server/api"
	"coffer/server/metrics"
)

// Metrics are the page of metrics, and the token that opens it to whoever scrapes.
// Without a token only the operator's face has the page.
type Metrics struct {
	Page     func() []byte
	Token    string
	Requests *metrics.Requests // counted here
}

// NewMetrics is the face of a listener that has nothing but the page of metrics,
// for everyone who reaches it.
func NewMetrics(cfg Config) http.Handler {
	return newFace(cfg, cfg.Warden, false).router([]route{{method: get, path: "/metrics", run: scrape}})
}

// guardedScrape is the page of metrics among other pages.
func guardedScrape(x *exchange) error {
	switch {
	case x.operator:
	case x.Metrics.Token == "":
		return errNoSuchAddress
	case !sameText(bearer(x.r.Header), x.Metrics.Token):
		return api.Errorf(api.Unauthorized, "This needs the token of the metrics: send it as \"Authorization: Bearer <token>\".")
	}
	return scrape(x)
}

// sameText compares in a time that says nothing of either.
func sameText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

var metricsType = []string{metrics.ContentType}

func scrape(x *exchange) error {
	if x.Metrics.Page == nil {
		return errNoSuchAddress
	}
	x.w.Header()["Content-Type"] = metricsType
	x.write(http.StatusOK, x.Metrics.Page())
	return nil
}
