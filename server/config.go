package server

import (
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"time"

	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/server/httpd"
	"coffer/server/warden"
	"coffer/store/kv"
)

// Config is everything an instance can be told. The zero value of every field
// but Data and Listen means its default.
type Config struct {
	Listen         string         // HOST:PORT, or unix:/path
	SocketMode     fs.FileMode    // of a Unix socket; default 0660
	PublicURL      string         // how clients reach the instance; default http://Listen, or 127.0.0.1 for every address
	Data           string         // the data directory, made when missing
	TrustedProxies []netip.Prefix // whose forwarding headers count

	// Systemd takes the sockets that a service manager opened, instead of Listen,
	// and tells it how the server fares.
	Systemd bool

	// Upgrade brings data of an earlier schema to the present one, after a snapshot
	// of it. Without it such data is refused with ErrOlder.
	Upgrade bool

	TLS     TLSConfig
	Store   StoreConfig
	Unseal  UnsealConfig
	Forge   ForgeConfig
	Hosting HostingConfig

	// AllowedOrigins are origins besides the server's own that a browser may be
	// sent back to after it was at a hosting or payment provider.
	AllowedOrigins []string

	Audit   AuditConfig
	Push    PushConfig
	Plans   PlansConfig
	Billing BillingConfig
	Limits  LimitsConfig

	Session   SessionConfig
	Retention RetentionConfig
	Backup    BackupConfig
	Metrics   MetricsConfig
	Log       LogConfig
	Version   string // shown by health and status

	// TestOnlyNow is the clock of tests.
	TestOnlyNow func() time.Time

	// TestOnlySyncWait is for how long a request waits for its sync in tests.
	TestOnlySyncWait time.Duration

	// TestOnlyForge makes the code host in tests, whatever Forge says.
	TestOnlyForge func(forge.Directory) forge.Forge
}

// SessionConfig says how long somebody stays signed in: TTL at most and by
// default 30 days.
type SessionConfig struct{ TTL time.Duration }

// check holds TTL against its bounds.
func (c SessionConfig) check() error {
	if c.TTL < 0 || c.TTL > warden.MaxSessionTTL || c.TTL > 0 && c.TTL < time.Minute {
		return fmt.Errorf("session.ttl is %s; it is at least one minute and at most 30 days", c.TTL)
	}
	return nil
}

// StoreConfig bounds the data file.
type StoreConfig struct {
	MaxSize int64 // bytes; 0 = as much as the disk has

	// TestOnlyWrap stands between the records and the data file in tests.
	TestOnlyWrap func(kv.DB) kv.DB

	// TestOnlyStep is called after each step of an upgrade and of a rollback.
	TestOnlyStep func(step string)
}

func (c StoreConfig) step(name string) {
	if c.TestOnlyStep != nil {
		c.TestOnlyStep(name)
	}
}

// AuditConfig says how reads of values are recorded: "durable" before they are
// answered (default), or "batched" within 10 ms. Stream is where new records go
// too: file:/path, syslog:unix:///dev/log, syslog:udp://host:514 or
// syslog:tcp://host:601; default nowhere.
type AuditConfig struct{ Reads, Stream string }

// PushConfig names the clients, by the beginning of their User-Agent, whose
// pushes merge unless they say otherwise. Nil means the default.
type PushConfig struct{ AdditiveClients []string }

// PlansConfig says what plans allow. Default is the plan of everybody while
// billing is off; UpgradeURL is where a higher one is had then, by default the page
// of the error; Limits change cells of the contract's table.
type PlansConfig struct {
	Default    string
	UpgradeURL string
	Limits     []PlanLimit
}

// LimitsConfig says how many requests one caller may send, in each bucket of
// the contract.
type LimitsConfig struct {
	General, Bulk, Value, Verify, Poll, Login, UI Rate
}

// Rate is how many requests fit into a window, which opens with the first of
// them.
type Rate = httpd.Rate

// NoLimits lets every caller send as many requests as they like.
func NoLimits() LimitsConfig {
	off := Rate{Off: true}
	return LimitsConfig{General: off, Bulk: off, Value: off, Verify: off, Poll: off, Login: off, UI: off}
}

// PlanLimit is one cell of the table of plans.
type PlanLimit = billing.Setting

// PlanLimits are all cells with their defaults.
func PlanLimits() []PlanLimit { return billing.Plans().Settings() }

// CheckPlanLimit holds one cell against its rule.
func CheckPlanLimit(l PlanLimit) error { return billing.Plans().Set(l) }

// table is the table of plans, and the plan of whoever has nothing that gives a
// higher one.
func (c PlansConfig) table(billed bool) (billing.Table, billing.Plan, error) {
	plans := billing.Plans()
	for _, l := range c.Limits {
		if err := plans.Set(l); err != nil {
			return nil, billing.Plan{}, fmt.Errorf("plans.%s.%s: %w", l.Plan, l.Limit, err)
		}
	}
	base := c.Default
	if billed {
		base = billing.FreePlan
	}
	plan, err := plans.Find(base)
	return plans, plan, err
}

// RetentionConfig says how long things are kept that nobody removes: secrets in
// the trash (30 days), values that were replaced (Keep, or ByPlan while billing is
// on), and activity (ByPlan).
type RetentionConfig struct {
	Trash    time.Duration
	Versions Retention
	Audit    Retention
}

// Retention is Keep, ByPlan or For a time; the zero value means the default.
type Retention struct {
	how string
	d   time.Duration
}

// Kinds of retention.
var (
	Keep   = Retention{how: "keep"}
	ByPlan = Retention{how: "plan"}
)

// For keeps things for a time.
func For(d time.Duration) Retention { return Retention{"for", d} }

func (r Retention) or(standard Retention) billing.Retention {
	if r.how == "" {
		r = standard
	}
	return billing.Retention{ByPlan: r == ByPlan, For: r.d}
}

// LogConfig says what is logged, and how: Level debug, info, warn or error;
// Format text or json.
type LogConfig struct {
	Level  string
	Format string
	Output io.Writer // default os.Stderr
}
