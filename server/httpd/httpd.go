// Package httpd is the HTTP face of coffer: it turns a request into one typed
// struct, asks the warden, and turns the answer or the error back into HTTP.
//
// It knows no rules: who may do what, and what is recorded, is the warden's.
// It knows no storage and no cryptography. Its one invariant: every answer of
// the API leaves through [exchange.send] or [exchange.fail], so that no handler
// names a status code and no error shows more than an *[api.Error] says.
//
// A request takes this way: enter (id, headers) → sealed? → route and method →
// size of the body → credential → rate limit → parse → scope and kind of
// credential → what parsing found wrong → the warden's operation.
package httpd

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// requestTime is how long a request may take.
const requestTime = 30 * time.Second

// Config is what a face needs. Only Warden must be set.
type Config struct {
	Warden         *warden.Warden
	PublicURL      string         // how clients reach us, without a trailing slash
	TrustedProxies []netip.Prefix // whose X-Forwarded-For counts
	Limits         Limits         // of requests; the operator's face has none
	Jobs           Jobs           // what runs by itself
	Examine        Examination
	Metrics        Metrics
	ForgeName      string   // what people call the code host, where its kind has several names
	Subgroups      bool     // owners of repositories may be GitLab's groups in groups
	Origins        []string // where a browser may be sent back to from elsewhere

	// Fingerprint is what clients know a server by that nobody vouches for, as it
	// stands behind the # of its address. "" or nil is for others.
	Fingerprint func() string

	Version string       // shown by health and status
	Log     *slog.Logger // default: none
	Now     func() time.Time

	// Restore makes what a backup holds the data of a server that nobody has set up.
	// Nil is never.
	Restore func(ctx context.Context, file io.Reader, with api.OpenBackup) (*api.Restored, error)

	// Stopping is closed when the server stops: requests without a time limit
	// end then. Nil is never.
	Stopping <-chan struct{}
}

// New is the face that clients see.
func New(cfg Config) http.Handler {
	return newFace(cfg, cfg.Warden, false).router(append(routes(), pages()...))
}

// NewOperator is the face for whoever runs the instance: everyone who reaches
// it acts as the operator. It belongs on a socket that only they can open.
func NewOperator(cfg Config) http.Handler {
	return withProfiles(newFace(cfg, cfg.Warden, true).router(routes()))
}

// Jobs are what the server does by itself, and how to have it done now.
type Jobs interface {
	List(ctx context.Context) ([]api.Job, error)
	RunNow(ctx context.Context, name string) (*api.Job, error)
}

// gate is what of the warden stands before every operation.
type gate interface {
	State() string
	ForgeKind() string
	Ready(ctx context.Context) error
	Identify(ctx context.Context, c warden.Credential) (warden.Caller, error)
	Admit(ctx context.Context, who warden.Caller, a access.Action, repo string) error
}

// face is one way into the instance.
type face struct {
	Config
	gate     gate
	operator bool
	unseals  *throttle
	made     spentForms
	limits   limits
	patience time.Duration // requestTime, but for tests
	describe func() description
	pages    *web.Pages
	origin   string // of the public URL
	origins  *http.CrossOriginProtection
	there    map[string]bool // pages that have a route
}

func newFace(cfg Config, g gate, operator bool) *face {
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	cfg.TrustedProxies = unmapped(cfg.TrustedProxies)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	f := &face{
		Config: cfg, gate: g, operator: operator, unseals: newThrottle(cfg.Now), patience: requestTime,
		describe: sync.OnceValue(func() description { return describe(cfg.PublicURL) }),
		pages:    web.New(basePath(cfg.PublicURL)),
		origin:   api.Origin(cfg.PublicURL),
	}
	f.origins = newOrigins(f.origin)
	if !operator {
		f.limits = newLimits(cfg.Limits, cfg.Now())
	}
	return f
}

// address is the server's as the command line is told it.
func (f *face) address() string {
	if f.Fingerprint == nil || f.Fingerprint() == "" {
		return f.PublicURL
	}
	return f.PublicURL + "#" + f.Fingerprint()
}

// basePath is what stands before the paths of pages, where a proxy serves us
// below a path of its own.
func basePath(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return u.Path
}

// releaseMode keeps gin from writing its banner. The mode is gin's global.
var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// router joins a route table with gin, which is trusted with nothing but
// finding the route.
func (f *face) router(routes []route) *gin.Engine {
	releaseMode()
	f.leadsTo(routes)
	g := gin.New()
	_ = g.SetTrustedProxies(nil)
	g.ForwardedByClientIP = false
	g.RedirectTrailingSlash = false
	g.HandleMethodNotAllowed = true
	// A %2F inside a segment must not end it. gin would decode + to a blank,
	// so pathField decodes.
	g.UseRawPath = true
	g.UnescapePathValues = false

	g.NoRoute(f.handle(route{bucket: exempt, run: noSuchAddress}))
	g.NoMethod(f.handle(route{bucket: exempt, run: methodNotAllowed}))
	for _, r := range routes {
		h := f.handle(r)
		g.Handle(r.method, r.path, h)
		if r.method == http.MethodGet {
			g.Handle(http.MethodHead, r.path, h)
		}
	}
	return g
}

// noSuchAddress tells people with a page, and programs with an error.
func noSuchAddress(x *exchange) error { return x.lost(errNoSuchAddress, errNoSuchAddress) }

// methodNotAllowed does the same. People get there with the address of a page
// that answered a form.
func methodNotAllowed(x *exchange) error {
	return x.lost(
		api.Errorf(api.MethodNotAllowed, "This address only takes what one of our forms sends. Start from the home page."),
		api.Errorf(api.MethodNotAllowed, "%s is not possible here; use %s.", x.r.Method, x.w.Header().Get("Allow")))
}

// lost says that nothing is here, to people or to programs.
func (x *exchange) lost(people, programs error) error {
	if path := x.r.URL.Path; x.wantsPage() && path != "/v1" && !strings.HasPrefix(path, "/v1/") {
		return screen(func(*exchange) error { return people })(x)
	}
	return programs
}
