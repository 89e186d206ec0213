package server

import (
	"io"
	"net/netip"
	"time"

	"coffer/store/kv"
)

// Config is everything an instance can be told. The zero value of every field
// but Data and Listen means its default.
type Config struct {
	Listen         string         // HOST:PORT
	PublicURL      string         // how clients reach the instance; default http://Listen
	Data           string         // the data directory, made when missing
	TrustedProxies []netip.Prefix // whose forwarding headers count

	Store  StoreConfig
	Unseal UnsealConfig
	Audit  AuditConfig
	Push   PushConfig
	Plans  PlansConfig

	Retention RetentionConfig
	Log       LogConfig
	Version   string // shown by health and status
}

// StoreConfig bounds the data file.
type StoreConfig struct {
	MaxSize int64 // bytes; 0 = as much as the disk has

	// TestOnlyWrap stands between the records and the data file in tests.
	TestOnlyWrap func(kv.DB) kv.DB
}

// UnsealConfig is where the master key comes from at start. With none set, the
// key file that init recorded is tried.
type UnsealConfig struct {
	Passphrase     string // from the environment only
	PassphraseFile string
	KeyFile        string
	WorkFactor     int // scrypt's log2 N for new passphrases; default 18, at least 17
}

// AuditConfig says how reads of values are recorded: "durable" before they are
// answered (default), or "batched" within 10 ms. Stream is where new records go
// too: file:/path, syslog:unix:///dev/log, syslog:udp://host:514 or
// syslog:tcp://host:601; default nowhere.
type AuditConfig struct{ Reads, Stream string }

// PushConfig names the clients, by the beginning of their User-Agent, whose
// pushes merge unless they say otherwise. Nil means the default.
type PushConfig struct{ AdditiveClients []string }

// PlansConfig names the plan of everybody while billing is off.
type PlansConfig struct{ Default string }

// RetentionConfig says how long the trash keeps a secret; default 30 days.
type RetentionConfig struct{ Trash time.Duration }

// LogConfig says what is logged, and how: Level debug, info, warn or error;
// Format text or json.
type LogConfig struct {
	Level  string
	Format string
	Output io.Writer // default os.Stderr
}
