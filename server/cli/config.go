package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"coffer/server"
)

// settings are everything a server can be told, by one name each: the key in the
// YAML file, with dashes the flag, in capitals after COFFER_ the variable. A flag
// comes before a variable, a variable before the file, the file before the default.
type settings struct {
	Listen          string         `key:"listen" default:"127.0.0.1:2633" help:"address to listen on, as HOST:PORT or unix:/path"`
	SocketMode      fs.FileMode    `key:"socket_mode" default:"0660" help:"who may connect where listen is a Unix socket, as for chmod"`
	PublicURL       string         `key:"public_url" help:"how clients reach the server (default: http:// or https://, and the listen address)"`
	Data            string         `key:"data" help:"data directory (default: ~/.local/share/coffer; for root /var/lib/coffer)"`
	TrustedProxies  []netip.Prefix `key:"trusted_proxies" help:"addresses of reverse proxies whose forwarding headers count"`
	CertFile        string         `key:"tls.cert_file" help:"certificate in PEM, with those between it and the authority's; read again when it changes"`
	CertKeyFile     string         `key:"tls.key_file" help:"its private key in PEM"`
	SelfSigned      bool           `key:"tls.self_signed" default:"false" help:"make a certificate that clients know by its fingerprint: true or false"`
	ACMEHosts       []string       `key:"tls.acme.hosts" help:"names that an ACME authority is to vouch for; setting them accepts its terms"`
	ACMEEmail       string         `key:"tls.acme.email" help:"where the authority may write to"`
	ACMEDirectory   string         `key:"tls.acme.directory" help:"address of the authority's directory (default: Let's Encrypt)"`
	ACMEListen      string         `key:"tls.acme.http_listen" help:"address where the authority may ask by HTTP, like 0.0.0.0:80 (default: it asks on the TLS port)"`
	ACMECA          string         `key:"tls.acme.ca_file" help:"certificates in PEM that vouch for the directory, instead of the system's"`
	RedirectListen  string         `key:"tls.redirect_listen" help:"address without TLS that leads browsers to public_url, like 0.0.0.0:80"`
	HSTS            bool           `key:"tls.hsts" default:"true" help:"tell browsers to come by HTTPS only, unless the certificate is self-signed: true or false"`
	MaxSize         int64          `key:"store.max_size" default:"0" help:"upper bound of the data file, like 2GiB; 0 is none"`
	KeyFile         string         `key:"unseal.key_file" flag:"key-file" help:"unseal with this key file"`
	PassphraseFile  string         `key:"unseal.passphrase_file" flag:"passphrase-file" help:"unseal with the passphrase in this file"`
	Passphrase      string         `key:"unseal.passphrase" only:"env"`
	Key             string         `key:"unseal.key" only:"env"`
	WorkFactor      int            `key:"unseal.work_factor" default:"18" help:"cost of a new passphrase, 17 to 20: memory doubles with each step, 256 MiB at 18"`
	ForgeKind       string         `key:"forge.kind" default:"local" oneof:"local,github,gitea,forgejo,gitlab" help:"code host that decides who may do what: local (built in), github, gitea, forgejo or gitlab"`
	ForgeURL        string         `key:"forge.url" help:"address of the code host (default: the public github.com or gitlab.com)"`
	ForgeAPI        string         `key:"forge.api_url" help:"address of its API (default: what follows from forge.url)"`
	ForgeMovedFrom  string         `key:"forge.moved_from" help:"address that the same code host had before"`
	ForgeClient     string         `key:"forge.client_id" help:"client id of the application that people sign in through"`
	ForgeSecretFile string         `key:"forge.client_secret_file" help:"file with that application's secret"`
	ForgeSecret     string         `key:"forge.client_secret" only:"env"`
	ForgeHookFile   string         `key:"forge.webhook_secret_file" help:"file with the secret that the code host signs webhooks with"`
	ForgeHook       string         `key:"forge.webhook_secret" only:"env"`
	ForgeTokenFile  string         `key:"forge.token_file" help:"file with the service token for gitea or gitlab"`
	ForgeToken      string         `key:"forge.token" only:"env"`
	ForgeApp        string         `key:"forge.app_id" help:"client id or number of the GitHub App that answers for everybody"`
	ForgeAppKey     string         `key:"forge.app_key_file" help:"file with that App's private key, in PEM"`
	GitLabAdmin     int            `key:"forge.gitlab.admin_level" default:"50" help:"GitLab access level that counts as admin: 50 (owner) or 40 (maintainer)"`
	ForgeCA         string         `key:"forge.ca_file" help:"certificates in PEM that vouch for the code host, instead of the system's"`
	ForgeProxy      string         `key:"forge.proxy" help:"proxy on the way to the code host (default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY)"`
	HostingOff      []string       `key:"hosting.disabled" help:"hosting providers that nobody may sync with: vercel, netlify, railway, github-actions"`
	VercelClient    string         `key:"hosting.vercel.client_id" help:"client id of the integration that users authorize at Vercel; without one they paste tokens"`
	VercelSecretF   string         `key:"hosting.vercel.client_secret_file" help:"file with that integration's secret"`
	VercelSecret    string         `key:"hosting.vercel.client_secret" only:"env"`
	VercelSlug      string         `key:"hosting.vercel.slug" help:"name of that integration in its address at Vercel"`
	VercelAPI       string         `key:"hosting.vercel.api_url" help:"address of Vercel's API (default: the public one)"`
	VercelWeb       string         `key:"hosting.vercel.web_url" help:"address where users authorize at Vercel (default: the public one)"`
	NetlifyClient   string         `key:"hosting.netlify.client_id" help:"client id of the application that users authorize at Netlify; without one they paste tokens"`
	NetlifySecretF  string         `key:"hosting.netlify.client_secret_file" help:"file with that application's secret"`
	NetlifySecret   string         `key:"hosting.netlify.client_secret" only:"env"`
	NetlifyAPI      string         `key:"hosting.netlify.api_url" help:"address of Netlify's API (default: the public one)"`
	NetlifyWeb      string         `key:"hosting.netlify.web_url" help:"address where users authorize at Netlify (default: the public one)"`
	RailwayClient   string         `key:"hosting.railway.client_id" help:"client id of the application that users authorize at Railway; without one they paste tokens"`
	RailwaySecretF  string         `key:"hosting.railway.client_secret_file" help:"file with that application's secret"`
	RailwaySecret   string         `key:"hosting.railway.client_secret" only:"env"`
	RailwayAPI      string         `key:"hosting.railway.api_url" help:"address of Railway's API (default: the public one)"`
	RailwayWeb      string         `key:"hosting.railway.web_url" help:"address where users authorize at Railway (default: the public one)"`
	ActionsAPI      string         `key:"hosting.github_actions.api_url" help:"address of the GitHub API whose Actions secrets are synced (default: the public one)"`
	AllowedOrigins  []string       `key:"allowed_origins" help:"other origins that a browser may be sent back to after it was at a hosting provider or the like"`
	RoleTTL         time.Duration  `key:"forge.role_ttl" default:"60s" help:"how long a role learned from the code host counts, at most 60s"`
	Reads           string         `key:"audit.reads" default:"durable" oneof:"durable,batched" help:"record reads before they are answered (durable) or within 10 ms (batched)"`
	Stream          string         `key:"audit.stream" help:"where new records of the activity log go too: file:/path, syslog:unix:///dev/log, syslog:udp://host:514 or syslog:tcp://host:601"`
	AdditiveClients []string       `key:"push.additive_clients" default:"keyway-mcp/" help:"clients, by the start of their User-Agent, whose pushes never trash keys unasked"`
	Plan            string         `key:"plans.default" default:"team" oneof:"free,pro,startup,team,enterprise" help:"plan of everybody while billing is off"`
	UpgradeURL      string         `key:"plans.upgrade_url" help:"where a higher plan is had while billing is off (default: the page of the error)"`
	StripeKeyFile   string         `key:"billing.stripe.secret_key_file" help:"file with the key that makes this a paid service"`
	StripeKey       string         `key:"billing.stripe.secret_key" only:"env"`
	StripeHookFile  string         `key:"billing.stripe.webhook_secret_file" help:"file with the secret that Stripe signs its events with"`
	StripeHook      string         `key:"billing.stripe.webhook_secret" only:"env"`
	StripeAPI       string         `key:"billing.stripe.api_url" help:"address of Stripe's API (default: the public one)"`
	General         server.Rate    `key:"limits.general" default:"100/15m" help:"requests that no other limit names, by credential, or else by address"`
	Bulk            server.Rate    `key:"limits.bulk" default:"30/15m" help:"pushes and pulls, by credential"`
	Value           server.Rate    `key:"limits.value" default:"10/1m" help:"reads of single values, by credential"`
	Verify          server.Rate    `key:"limits.verify" default:"5/1m" help:"device codes typed in, by address"`
	Poll            server.Rate    `key:"limits.poll" default:"30/1m" help:"polls of a device login, by device code"`
	Login           server.Rate    `key:"limits.login" default:"10/1m" help:"attempts to sign in and wrong credentials, by address"`
	UI              server.Rate    `key:"limits.ui" default:"1000/15m" help:"what limits.general covers, for somebody in the web UI"`
	SessionTTL      time.Duration  `key:"session.ttl" default:"30d" help:"how long somebody stays signed in, at most 30d"`
	Trash           time.Duration  `key:"retention.trash" default:"30d" help:"how long the trash keeps a secret"`
	Versions        retention      `key:"retention.versions" help:"how long a replaced value is kept: keep, plan or a time like 90d (default: keep, or plan while billing is on)"`
	Audit           retention      `key:"retention.audit" default:"plan" help:"how long activity is kept: keep, plan or a time like 90d"`
	BackupTo        string         `key:"backup.to" help:"where backups are kept: a directory, or s3://bucket/prefix; without one none is made by itself"`
	BackupEvery     time.Duration  `key:"backup.every" default:"24h" help:"how often a backup is made"`
	BackupKeep      int            `key:"backup.keep" default:"7" help:"how many of the newest backups stay"`
	BackupKeepDays  int            `key:"backup.keep_days" default:"7" help:"of how many days the last backup stays"`
	BackupKeepWeeks int            `key:"backup.keep_weeks" default:"4" help:"of how many weeks the last backup stays"`
	BackupPassFile  string         `key:"backup.passphrase_file" help:"file with a passphrase that opens backups, in place of the recovery key and key files"`
	BackupPass      string         `key:"backup.passphrase" only:"env"`
	DrillEvery      time.Duration  `key:"backup.drill_every" default:"7d" help:"how often the newest backup is fetched back and tried"`
	S3Endpoint      string         `key:"backup.s3.endpoint" help:"address of the store that speaks S3 (default: Amazon's)"`
	S3Region        string         `key:"backup.s3.region" default:"us-east-1" help:"region of the bucket"`
	S3Addressing    string         `key:"backup.s3.addressing" default:"auto" oneof:"auto,path,host" help:"where the bucket's name stands in an address: path, host, or auto"`
	S3AccessKey     string         `key:"backup.s3.access_key" help:"id of the key that opens the bucket"`
	S3SecretFile    string         `key:"backup.s3.secret_key_file" help:"file with the secret of that key"`
	S3Secret        string         `key:"backup.s3.secret_key" only:"env"`
	S3CA            string         `key:"backup.s3.ca_file" help:"certificates in PEM that vouch for the store, instead of the system's"`
	MetricsListen   string         `key:"metrics.listen" help:"address for metrics alone, as HOST:PORT, open to whoever reaches it"`
	MetricsFile     string         `key:"metrics.token_file" help:"file with the token that opens /metrics on the main address"`
	MetricsToken    string         `key:"metrics.token" only:"env"`
	Level           string         `key:"log.level" default:"info" oneof:"debug,info,warn,error" help:"debug, info, warn or error"`
	Format          string         `key:"log.format" default:"text" oneof:"text,json" help:"text or json"`

	Credentials string // directory of systemd credentials, which systemd names

	PlanLimits []server.PlanLimit // keys plans.<plan>.<limit>: a table, so no field for each
	PlanPrices []server.PlanPrice // keys billing.stripe.prices.<plan>.monthly and yearly: likewise
}

// config is what the server is made of.
func (s settings) config() server.Config {
	return server.Config{
		Listen: s.Listen, SocketMode: s.SocketMode, PublicURL: s.PublicURL, Data: s.Data, TrustedProxies: s.TrustedProxies,
		TLS: server.TLSConfig{
			CertFile: s.CertFile, KeyFile: s.CertKeyFile, SelfSigned: s.SelfSigned, RedirectListen: s.RedirectListen, NoHSTS: !s.HSTS,
			ACME: server.ACMEConfig{
				Hosts: s.ACMEHosts, Email: s.ACMEEmail, Directory: s.ACMEDirectory, HTTPListen: s.ACMEListen, CAFile: s.ACMECA,
			},
		},
		Store: server.StoreConfig{MaxSize: s.MaxSize},
		Unseal: server.UnsealConfig{
			Passphrase: s.Passphrase, PassphraseFile: s.PassphraseFile, Key: s.Key, KeyFile: s.KeyFile, Credentials: s.Credentials,
			WorkFactor: s.WorkFactor,
		},
		Forge: s.forge(), Hosting: s.hosting(), AllowedOrigins: s.AllowedOrigins,
		Audit: server.AuditConfig{Reads: s.Reads, Stream: s.Stream},
		Push:  server.PushConfig{AdditiveClients: s.AdditiveClients},
		Plans: server.PlansConfig{Default: s.Plan, UpgradeURL: s.UpgradeURL, Limits: s.PlanLimits},
		Billing: server.BillingConfig{Stripe: server.StripeConfig{
			SecretKey: s.StripeKey, SecretKeyFile: s.StripeKeyFile, WebhookSecret: s.StripeHook, WebhookSecretFile: s.StripeHookFile,
			APIURL: s.StripeAPI, Prices: s.PlanPrices,
		}},
		Limits: server.LimitsConfig{
			General: s.General, Bulk: s.Bulk, Value: s.Value, Verify: s.Verify, Poll: s.Poll, Login: s.Login, UI: s.UI,
		},
		Session:   server.SessionConfig{TTL: s.SessionTTL},
		Retention: server.RetentionConfig{Trash: s.Trash, Versions: s.Versions.Retention, Audit: s.Audit.Retention},
		Backup:    s.backup(),
		Metrics:   server.MetricsConfig{Listen: s.MetricsListen, Token: s.MetricsToken, TokenFile: s.MetricsFile},
		Log:       server.LogConfig{Level: s.Level, Format: s.Format},
		Version:   programVersion(),
	}
}

// backup is where backups are kept.
func (s settings) backup() server.BackupConfig {
	return server.BackupConfig{
		To: s.BackupTo, Every: s.BackupEvery, DrillEvery: s.DrillEvery,
		Keep:       server.KeepBackups{Newest: s.BackupKeep, Days: s.BackupKeepDays, Weeks: s.BackupKeepWeeks},
		Passphrase: s.BackupPass, PassphraseFile: s.BackupPassFile,
		S3: server.S3Config{
			Endpoint: s.S3Endpoint, Region: s.S3Region, Addressing: s.S3Addressing, AccessKey: s.S3AccessKey,
			SecretKey: s.S3Secret, SecretKeyFile: s.S3SecretFile, CAFile: s.S3CA,
		},
	}
}

// forge is what binds the server to a code host.
func (s settings) hosting() server.HostingConfig {
	return server.HostingConfig{
		Disabled: s.HostingOff,
		Vercel: server.ProviderConfig{
			ClientID: s.VercelClient, ClientSecret: s.VercelSecret, ClientSecretFile: s.VercelSecretF, Slug: s.VercelSlug, APIURL: s.VercelAPI, WebURL: s.VercelWeb,
		},
		Netlify: server.ProviderConfig{
			ClientID: s.NetlifyClient, ClientSecret: s.NetlifySecret, ClientSecretFile: s.NetlifySecretF, APIURL: s.NetlifyAPI, WebURL: s.NetlifyWeb,
		},
		Railway: server.ProviderConfig{
			ClientID: s.RailwayClient, ClientSecret: s.RailwaySecret, ClientSecretFile: s.RailwaySecretF, APIURL: s.RailwayAPI, WebURL: s.RailwayWeb,
		},
		GitHubActions: server.ProviderConfig{APIURL: s.ActionsAPI},
	}
}

func (s settings) forge() server.ForgeConfig {
	return server.ForgeConfig{
		Kind: s.ForgeKind, URL: s.ForgeURL, APIURL: s.ForgeAPI, MovedFrom: s.ForgeMovedFrom,
		ClientID: s.ForgeClient, ClientSecret: s.ForgeSecret, ClientSecretFile: s.ForgeSecretFile,
		WebhookSecret: s.ForgeHook, WebhookSecretFile: s.ForgeHookFile,
		Token: s.ForgeToken, TokenFile: s.ForgeTokenFile, AppID: s.ForgeApp, AppKeyFile: s.ForgeAppKey,
		GitLabAdminLevel: s.GitLabAdmin, CAFile: s.ForgeCA, Proxy: s.ForgeProxy, RoleTTL: s.RoleTTL,
	}
}

// setting is one field of settings, as its tags describe it.
type setting struct {
	key, flag, variable string
	def, help           string
	oneOf               []string
	envOnly, isBool     bool
	index               int
	cell                *server.PlanLimit // of the table of plans; such a setting has no field
	price               *server.PlanPrice // likewise
}

func allSettings() []setting {
	t := reflect.TypeFor[settings]()
	var all []setting
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key := tag.Get("key")
		if key == "" {
			continue
		}
		s := setting{
			key:      key,
			flag:     first(tag.Get("flag"), flagOf(key)),
			variable: variable(key),
			def:      tag.Get("default"), help: tag.Get("help"),
			envOnly: tag.Get("only") == "env", isBool: t.Field(i).Type.Kind() == reflect.Bool, index: i,
		}
		if words := tag.Get("oneof"); words != "" {
			s.oneOf = strings.Split(words, ",")
		}
		all = append(all, s)
	}
	for _, cell := range server.PlanLimits() {
		key := "plans." + cell.Plan + "." + cell.Limit
		all = append(all, setting{
			key: key, flag: flagOf(key), variable: variable(key), def: cell.Value,
			help: "limit of the plan " + cell.Plan, cell: &cell,
		})
	}
	for _, price := range server.PlanPrices() {
		key := "billing.stripe.prices." + price.Plan + "." + price.Every()
		all = append(all, setting{
			key: key, flag: flagOf(key), variable: variable(key), help: "id or lookup key of a price of the plan " + price.Plan, price: &price,
		})
	}
	return all
}

func flagOf(key string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(key) }

// settingFlags adds the flags of settings: those named, or with no name all.
func settingFlags(f *pflag.FlagSet, names ...string) {
	f.String("config", "", "configuration file (COFFER_CONFIG)")
	for _, s := range allSettings() {
		if s.envOnly || len(names) > 0 && !slices.Contains(names, s.flag) {
			continue
		}
		help := s.help
		if s.def != "" {
			help += " (default: " + s.def + ")"
		}
		f.String(s.flag, "", help)
		if s.isBool {
			f.Lookup(s.flag).NoOptDefVal = "true"
		}
		if s.cell != nil || strings.HasPrefix(s.key, "billing.") {
			// A page of numbers, and what only those need who run a paid service: the
			// example file shows them better.
			_ = f.MarkHidden(s.flag)
		}
	}
}

// loadSettings reads flags, variables and the file, in this order of rank.
func loadSettings(f *pflag.FlagSet, env environ) (*settings, error) {
	file, _ := f.GetString("config")
	file = first(file, env.get("COFFER_CONFIG"))
	v := viper.New()
	lines := map[string]int{}
	if file != "" {
		var err error
		if lines, err = readFile(v, file); err != nil {
			return nil, err
		}
	}
	var out settings
	for _, s := range allSettings() {
		source := fmt.Sprintf("%s, line %d: %s", file, lines[s.key], s.key)
		v.SetDefault(s.key, s.def)
		if value := env.get(s.variable); value != "" {
			source = s.variable
			v.Set(s.key, value)
		}
		if flag := f.Lookup(s.flag); flag != nil && flag.Changed && !s.envOnly {
			source = "--" + s.flag
			v.Set(s.key, flag.Value.String())
		}
		if err := s.read(v.Get(s.key), &out); err != nil {
			return nil, failf(exitInvalid, "%s: %s.", source, err)
		}
	}
	out.Credentials = env.get("CREDENTIALS_DIRECTORY")
	if out.Data == "" {
		out.Data = defaultData(env)
	}
	return &out, nil
}

// oneMethod keeps the unseal method of the highest rank where several are set, for
// a fresh instance: it gets one.
func oneMethod(s *settings, f *pflag.FlagSet, env environ) error {
	byFlag := func(name string) bool { fl := f.Lookup(name); return fl != nil && fl.Changed }
	switch {
	case byFlag("key-file"):
		s.Passphrase, s.PassphraseFile = "", ""
	case byFlag("passphrase-file"):
		s.Passphrase, s.KeyFile = "", ""
	case env.get("COFFER_UNSEAL_PASSPHRASE") != "":
		s.PassphraseFile, s.KeyFile = "", ""
	case env.get("COFFER_UNSEAL_PASSPHRASE_FILE") != "":
		s.KeyFile = ""
	case env.get("COFFER_UNSEAL_KEY_FILE") != "":
		s.PassphraseFile = ""
	case s.KeyFile != "" && s.PassphraseFile != "":
		return failf(exitInvalid, "unseal.key_file and unseal.passphrase_file are both set. Keep one of them.")
	}
	return nil
}

// defaultData is where the data lies when nobody says.
func defaultData(env environ) string {
	if os.Geteuid() == 0 {
		return "/var/lib/coffer"
	}
	if base := env.get("XDG_DATA_HOME"); base != "" {
		return filepath.Join(base, "coffer")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "coffer-data"
	}
	return filepath.Join(home, ".local", "share", "coffer")
}

// readFile reads a YAML file into v and returns the line of each key.
func readFile(v *viper.Viper, name string) (map[string]int, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, failf(exitInvalid, "%s is no YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	lines := map[string]int{}
	if len(doc.Content) > 0 {
		if err := checkKeys(name, "", doc.Content[0], lines); err != nil {
			return nil, err
		}
	}
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		return nil, failf(exitInvalid, "%s cannot be read: %s", name, err)
	}
	return lines, nil
}
