// Package server joins the parts of coffer into a running instance. It holds no
// logic: rules live in warden, the wire in httpd.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/server/httpd"
	"coffer/server/jobs"
	"coffer/server/listen"
	"coffer/server/logging"
	"coffer/server/metrics"
	"coffer/server/stream"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
)

// DataFile is the name of the data file in the data directory.
const DataFile = "coffer.db"

// keyFileName is where a key file is put when a fresh instance is claimed over
// the network and asks for one.
const keyFileName = "coffer.key"

// Server is one instance.
type Server struct {
	c          Config
	log        *slog.Logger
	plans      billing.Table
	plan       billing.Plan
	mu         sync.RWMutex // of what follows up to claim: a restore replaces it
	serving    bool
	db         *bolt.DB
	store      *store.Store
	warden     *warden.Warden
	jobs       *jobs.Runner
	metrics    *metrics.Registry
	forgeCalls func(answered bool, took time.Duration)
	scraped    http.Handler // on a listener of its own
	public     http.Handler
	operator   http.Handler
	claim      string
	ready      chan struct{}
	stopping   chan struct{}
	stop       func() // closes stopping
	addr       string

	started time.Time // by the wall clock, which tests may set
	begun   time.Time // by the process's own

	metricsAddr string
	broken      chan error // why the instance cannot go on

	certificates *listen.Certificates // nil without TLS
	service      *listen.Service      // nil unless a service manager is told
}

// New opens the data in cfg.Data, makes it when there is none, and tries to
// unseal as configured. An instance that cannot be unsealed is no error: it
// stays sealed and says why. Close it when done.
func New(cfg Config) (*Server, error) {
	if cfg.Log.Output == nil {
		cfg.Log.Output = os.Stderr
	}
	log, err := logging.New(cfg.Log.Level, cfg.Log.Format, cfg.Log.Output)
	if err != nil {
		return nil, err
	}
	plans, plan, err := cfg.Plans.table(cfg.Billing.enabled())
	if err != nil {
		return nil, err
	}
	if cfg.Metrics.Token, err = cfg.Metrics.token(); err != nil {
		return nil, err
	}
	if cfg.Audit.Reads != "" && cfg.Audit.Reads != "durable" && cfg.Audit.Reads != "batched" {
		return nil, fmt.Errorf("audit.reads is %q; it is durable or batched", cfg.Audit.Reads)
	}
	cfg.PublicURL = cfg.publicURL()
	if err := errors.Join(cfg.Session.check(), cfg.checkTLS()); err != nil {
		return nil, err
	}
	switch {
	case cfg.Billing.enabled():
		cfg.Plans.UpgradeURL = cfg.PublicURL + upgradePage
	case cfg.Plans.UpgradeURL == "":
		cfg.Plans.UpgradeURL = cfg.PublicURL + "/errors/" + string(api.PlanLimit)
	}
	s := &Server{
		c: cfg, log: log, plans: plans, plan: plan, metrics: metrics.New(),
		broken: make(chan error, 1), ready: make(chan struct{}), stopping: make(chan struct{}),
	}
	s.forgeCalls = s.measureForge()
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	if err := s.open(); err != nil {
		return nil, err
	}
	s.measure()
	return s, nil
}

func (s *Server) open() (err error) {
	host, err := s.c.codeHost(s.forgeCalls)
	if err != nil {
		return err
	}
	providers, err := s.c.Hosting.providers(s.c.PublicURL, s.c.Version, s.c.TestOnlyNow)
	if err != nil {
		return err
	}
	back, err := origins(s.c.PublicURL, s.c.AllowedOrigins)
	if err != nil {
		return err
	}
	payments, offers, err := s.c.payments(s.plans)
	if err != nil {
		return err
	}
	replaced := Keep
	if payments != nil {
		replaced = ByPlan
	}
	target, err := openStream(s.c.Audit.Stream)
	if err != nil {
		return err
	}
	kept, err := s.c.Backup.depot(s.c.Version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.c.Data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	ctx := context.Background()
	if err := s.openRecovered(ctx); err != nil {
		return err
	}
	additive := s.c.Push.AdditiveClients
	if additive == nil {
		additive = []string{"keyway-mcp/"}
	}
	s.warden = warden.New(warden.Config{
		Store: s.store, File: s.db, Copier: s.db, OldCopies: func() ([]string, error) { return oldCopies(s.c.Data) },
		Backups: s.backups(kept), Log: s.log, Version: s.c.Version, WorkFactor: s.c.Unseal.WorkFactor,
		BatchReads: s.c.Audit.Reads == "batched", AdditiveClients: additive,
		Plans: s.plans, Plan: s.plan, UpgradeURL: s.c.Plans.UpgradeURL,
		Payments: payments, Offers: offers, Origins: back,
		SessionTTL:     s.c.Session.TTL,
		TrashRetention: s.c.Retention.Trash, Status: httpd.Status, Now: s.c.TestOnlyNow,
		VersionRetention: s.c.Retention.Versions.or(replaced), AuditRetention: s.c.Retention.Audit.or(ByPlan),
		Stream: target, StreamName: s.c.Audit.Stream,
		Forge: host.client, ForgeURL: host.url, ForgeMovedFrom: host.before, RoleTTL: s.c.Forge.RoleTTL,
		ForgeCredential: s.c.Forge.credential(), Hosting: providers, SyncWait: s.c.TestOnlySyncWait,
	})
	s.jobs = jobs.New(s.warden, s.log, jobs.Table(s.warden))
	s.started, s.begun = s.warden.Now(), time.Now()
	start := warden.Start{
		KeyFile: s.c.Unseal.KeyFile, Sources: s.c.Unseal.sources(),
		NewKeyFile: filepath.Join(s.c.Data, keyFileName),
	}
	if s.claim, err = s.warden.Open(ctx, start); err != nil {
		s.jobs.Close()
		return errors.Join(err, s.warden.Close(), s.store.Close())
	}
	s.face(back)
	return nil
}

// face makes what clients, the operator and whoever collects metrics see. Back are
// the origins that a browser may be sent back to from elsewhere.
func (s *Server) face(back []string) {
	face := httpd.Config{
		Warden: s.warden, PublicURL: s.c.PublicURL, TrustedProxies: s.c.TrustedProxies,
		Limits: httpd.Limits(s.c.Limits), Version: s.c.Version, Log: s.log, Now: s.c.TestOnlyNow, Jobs: s.jobs, Examine: s.Examine,
		Metrics:     httpd.Metrics{Page: s.metricsPage, Token: s.c.Metrics.Token, Requests: s.metrics.Requests},
		Fingerprint: s.Fingerprint,
		Restore:     s.restoreHere,
		Stopping:    s.stopping, ForgeName: s.c.Forge.name(), Subgroups: s.c.Forge.Kind == forge.KindGitLab, Origins: back,
	}
	s.public, s.operator, s.scraped = httpd.New(face), httpd.NewOperator(face), httpd.NewMetrics(face)
}

// openStream is where records go too, nil for nowhere.
func openStream(config string) (stream.Target, error) {
	if config == "" {
		return nil, nil
	}
	target, err := stream.Open(config)
	if err != nil {
		return nil, fmt.Errorf("audit.stream: %w", err)
	}
	return target, nil
}

// InitOptions is what a fresh instance is made with: a Passphrase, or a KeyFile
// that is read if it is there and written if it is not; and a first user, who
// is an operator, unless AdminName is empty.
type InitOptions struct {
	Passphrase    string
	KeyFile       string
	AdminName     string
	AdminPassword string
}

// Initialize makes the keys of a fresh instance and leaves it unsealed.
func (s *Server) Initialize(ctx context.Context, o InitOptions) (*api.Initialized, error) {
	setup := warden.Setup{Passphrase: o.Passphrase, KeyFile: o.KeyFile}
	if o.AdminName != "" {
		setup.Admin = &api.NewOperator{Username: o.AdminName, Password: api.NewSecret(o.AdminPassword)}
	}
	made, err := s.warden.SetUp(ctx, setup)
	if err == nil {
		s.claim = ""
	}
	return made, err
}

// ClaimToken is what whoever initialises a fresh instance over the network must
// know. It is "" once the instance is initialised.
func (s *Server) ClaimToken() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.claim
}

// Ready is closed once the instance listens.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Addr is where the instance listens, as HOST:PORT, once it is ready.
func (s *Server) Addr() string { return s.addr }

// garbage is how much the heap may grow before it is collected, in per cent of
// what lives in it. A few megabytes live in ours: with Go's 100 the collector
// would run a hundred times a second under load, for a fifth of the processor.
const garbage = 400

// Run serves until ctx ends, then lets requests under way finish.
func (s *Server) Run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	all, err := s.listen()
	if err != nil {
		return err
	}
	failed := make(chan error, len(all))
	for _, a := range all {
		go func() { failed <- a.server.Serve(a.Listener) }()
	}
	s.mu.Lock()
	s.serving = true
	s.jobs.Start()
	state := s.warden.State()
	s.mu.Unlock()
	attended := s.attend(ctx)
	close(s.ready)
	s.log.Info("listening", "address", s.addr, "url", s.c.PublicURL, "state", state)

	running := len(all)
	select {
	case err = <-failed:
		running--
	case err = <-s.broken:
	case <-ctx.Done():
	}
	s.log.Info("stopping")
	attended()
	s.halt()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 35*time.Second)
	defer cancel()
	for _, a := range all {
		err = errors.Join(err, a.server.Shutdown(grace))
	}
	for range running {
		<-failed
	}
	return err
}

// Close ends the use of the data. Run must have returned.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.Close()
	s.stop()
	return errors.Join(s.warden.Close(), s.store.Close())
}

// Operator is a transport to the instance in this process, with the powers of
// the operator.
func (s *Server) Operator() http.RoundTripper {
	return inProcess{facade{s, func(s *Server) http.Handler { return s.operator }}}
}
