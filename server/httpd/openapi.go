package httpd

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"coffer/server/httpd/openapi"
)

const openAPIPath = "/v1/openapi.json"

// description is the OpenAPI document of a face.
type description struct {
	text []byte
	etag string
}

func describe(publicURL string) description {
	text := openapi.Document(publicURL)
	sum := sha256.Sum256(text)
	return description{text, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

var keptIfUnchanged = []string{"public, no-cache"}

// openAPI shows the description of the API. It is the same for everybody, and
// there as soon as the process lives.
func openAPI(x *exchange) error {
	d := x.describe()
	h := x.w.Header()
	h["Cache-Control"] = keptIfUnchanged
	h.Set("ETag", d.etag)
	asked := strings.Join(x.r.Header["If-None-Match"], ",")
	if strings.TrimSpace(asked) == "*" || strings.Contains(asked, d.etag) {
		x.write(http.StatusNotModified, nil)
		return nil
	}
	h["Content-Type"] = jsonType
	x.write(http.StatusOK, d.text)
	return nil
}
