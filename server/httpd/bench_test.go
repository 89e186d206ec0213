package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
)

func pushBody(values, size int) []byte {
	secrets := make(map[string]string)
	for i := range values {
		secrets[fmt.Sprintf("SOME_KEY_%04d", i)] = strings.Repeat("v", size)
	}
	body, _ := json.Marshal(map[string]any{"repoFullName": "acme/api", "environment": "production", "secrets": secrets})
	return body
}

func BenchmarkBindPush(b *testing.B) {
	for _, size := range [][2]int{{50, 60}, {1000, 900}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			binder := newBinder(reflect.TypeFor[api.PushSecrets]())
			in := &input{body: pushBody(size[0], size[1]), hasBody: true}
			b.SetBytes(int64(len(in.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bind[api.PushSecrets](binder, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBindView(b *testing.B) {
	binder := newBinder(reflect.TypeFor[api.ViewSecret]())
	in := &input{query: "repo=acme%2Fapi&environment=production&key=DATABASE_URL"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bind[api.ViewSecret](binder, in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPull compares the answer of a pull of 50 values, but for the
// warden's part, with gin alone and the same bytes.
func BenchmarkPull(b *testing.B) {
	content := api.Revealed(strings.Repeat("SOME_KEY_0001=\"postgres://user:password@host.example:5432/db\"\n", 50))
	pulled := &api.Pulled{Content: &content, Count: 50, Total: 50, Revision: 42}
	pull := answer(func(*warden.Warden, context.Context, warden.Caller, api.PullSecrets) (*api.Pulled, error) {
		return pulled, nil
	})
	f := newFace(Config{Limits: Limits{Bulk: Rate{Requests: 1 << 40}}}, &doorman{}, false)
	ours := f.router([]route{{get, "/v1/secrets/pull", access.Pull, inBulk, revalidated(pull)}})

	releaseMode()
	bare := gin.New()
	bytes := call(ours, "GET", "/v1/secrets/pull?repo=acme/api", "").Body.Bytes()
	bare.GET("/v1/secrets/pull", func(c *gin.Context) { c.Data(200, "application/json; charset=utf-8", bytes) })

	for name, h := range map[string]http.Handler{"coffer": ours, "gin": bare} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/v1/secrets/pull?repo=acme/api&environment=production", nil)
			r.Header.Set("Authorization", "Bearer t")
			w := &discard{header: make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
			if w.status != http.StatusOK {
				b.Fatal(w.status)
			}
		})
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
