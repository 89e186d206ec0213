package cli

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"coffer/server"
)

// load reads settings from a file's text, variables and flags.
func load(t *testing.T, text string, env environ, flags ...string) (*settings, error) {
	t.Helper()
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	settingFlags(f)
	if text != "" {
		file := filepath.Join(t.TempDir(), "coffer.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--config", file)
	}
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return loadSettings(f, append(env, "XDG_DATA_HOME=/xdg"))
}

func TestExampleListsEveryKeyWithItsDefault(t *testing.T) {
	text, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, string(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, retention{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the example differs from the defaults:\n%s", diff)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	if err := checkKeys("example", "", doc.Content[0], lines); err != nil {
		t.Fatal(err)
	}
	for _, s := range allSettings() {
		if lines[s.key] == 0 && !s.envOnly {
			t.Errorf("the example lacks %s", s.key)
		}
		if !strings.Contains(string(text), s.variable) && s.envOnly {
			t.Errorf("the example does not name %s", s.variable)
		}
	}
}

func TestFlagBeatsVariableBeatsFileBeatsDefault(t *testing.T) {
	const file = "log: {level: error}\nlisten: 127.0.0.1:1\ndata: /file\nplans: {default: pro}\n"
	s, err := load(t, file, environ{"COFFER_LISTEN=127.0.0.1:2", "COFFER_DATA=/variable", "COFFER_PUBLIC_URL="}, "--data", "/flag")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.Format, s.Level, s.Listen, s.Data}
	if diff := cmp.Diff([]string{"text", "error", "127.0.0.1:2", "/flag"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryTypeIsRead(t *testing.T) {
	const file = `
trusted_proxies: [10.1.2.3/8, "::1"]
store: {max_size: 2GiB}
unseal: {work_factor: 17}
push: {additive_clients: []}
retention: {trash: 12h, versions: 90d, audit: keep}
plans: {free: {private_repos: 3, private_org_repos: true}}
`
	s, err := load(t, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if !slices.Equal(s.TrustedProxies, proxies) || s.MaxSize != 2<<30 || s.WorkFactor != 17 || s.Trash != 12*time.Hour {
		t.Errorf("got %+v", s)
	}
	if s.Versions.Retention != server.For(90*24*time.Hour) || s.Audit.Retention != server.Keep {
		t.Errorf("got %+v, %+v", s.Versions, s.Audit)
	}
	for _, want := range []server.PlanLimit{{Plan: "free", Limit: "private_repos", Value: "3"}, {Plan: "free", Limit: "private_org_repos", Value: "true"}, {Plan: "pro", Limit: "private_repos", Value: "5"}} {
		if !slices.Contains(s.PlanLimits, want) {
			t.Errorf("no %v in %v", want, s.PlanLimits)
		}
	}
	if s.AdditiveClients == nil || len(s.AdditiveClients) != 0 {
		t.Errorf("an emptied list is not the default: got %#v", s.AdditiveClients)
	}
	s, err = load(t, "", environ{"COFFER_PUSH_ADDITIVE_CLIENTS=a/, b/", "COFFER_TRUSTED_PROXIES=192.0.2.7"})
	if err != nil || !slices.Equal(s.AdditiveClients, []string{"a/", "b/"}) || len(s.TrustedProxies) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestConfigMistakesAreNamed(t *testing.T) {
	for _, c := range []struct {
		file string
		env  environ
		want string
	}{
		{"log:\n  levle: info\n", nil, "line 2: there is no key log.levle. Did you mean log.level?"},
		{"lisen: x\n", nil, "line 1: there is no key lisen. Did you mean listen?"},
		{"utterly_different_thing: x\n", nil, "there is no key utterly_different_thing."},
		{"store: 5\n", nil, "line 1: here stand keys with values"},
		{"- a\n", nil, "here stand keys with values"},
		{"log: {level: loud}\n", nil, `log.level: "loud" is none of debug, info, warn, error`},
		{"plans: {default: taem}\n", nil, `plans.default: "taem" is none of free, pro, startup, team, enterprise; the nearest is team`},
		{"plans:\n  free:\n    privat_repos: 2\n", nil, "line 3: there is no key plans.free.privat_repos. Did you mean plans.free.private_repos?"},
		{"plans: {fre: {secrets: 2}}\n", nil, "there is no key plans.fre. Did you mean plans.free"},
		{"plans: {free: {push_batch: 5000}}\n", nil, `plans.free.push_batch: "5000" is no number from 1 to 1000`},
		{"", environ{"COFFER_PLANS_PRO_SECRETS=all"}, `COFFER_PLANS_PRO_SECRETS: "all" is neither unlimited nor a number from 0`},
		{"store: {max_size: lots}\n", nil, `store.max_size: "lots" is no size; write it like 512MiB`},
		{"retention: {trash: 30}\n", nil, `retention.trash: "30" is no duration; write it like 30d`},
		{"retention: {versions: never}\n", nil, `"never" is neither keep nor plan nor a time; write that like 90d`},
		{"metrics: {token: x}\n", nil, "Set COFFER_METRICS_TOKEN"},
		{"retention: {trash: 0d}\n", nil, "is no duration"},
		{"unseal: {work_factor: many}\n", nil, `"many" is no whole number`},
		{"trusted_proxies: [here]\n", nil, `"here" is no address`},
		{"listen: [a, b]\n", nil, "listen: takes one value"},
		{"unseal: {passphrase: x}\n", nil, "Set COFFER_UNSEAL_PASSPHRASE"},
		{"a: [\n", nil, "is no YAML"},
		{"", environ{"COFFER_STORE_MAX_SIZE=lots"}, "COFFER_STORE_MAX_SIZE: "},
	} {
		_, err := load(t, c.file, c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) || exitCode(err) != exitInvalid {
			t.Errorf("%q %v: got %v, want %q", c.file, c.env, err, c.want)
		}
	}
}

func TestAFreshInstanceGetsOneUnsealMethod(t *testing.T) {
	env := environ{"COFFER_UNSEAL_PASSPHRASE=canary", "COFFER_UNSEAL_KEY_FILE=/env"}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s, err := load(t, "unseal: {passphrase_file: /file}\n", env)
	if err != nil || s.Passphrase != "canary" || s.KeyFile != "/env" || s.PassphraseFile != "/file" {
		t.Errorf("a start tries all: got %+v, %v", s, err)
	}
	if err := oneMethod(s, flags, env); err != nil || s.Passphrase != "canary" || s.KeyFile != "" || s.PassphraseFile != "" {
		t.Errorf("got %+v, %v", s, err)
	}
	settingFlags(flags)
	if err := flags.Parse([]string{"--key-file", "/flag"}); err != nil {
		t.Fatal(err)
	}
	s, err = loadSettings(flags, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := oneMethod(s, flags, env); err != nil || s.KeyFile != "/flag" || s.Passphrase != "" {
		t.Errorf("got %+v, %v", s, err)
	}
	s, err = load(t, "unseal: {key_file: a, passphrase_file: b}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = oneMethod(s, pflag.NewFlagSet("", pflag.ContinueOnError), nil)
	if err == nil || !strings.Contains(err.Error(), "Keep one of them") || exitCode(err) != exitInvalid {
		t.Errorf("got %v", err)
	}
}

func TestVariablesOfUsersAreNoSettings(t *testing.T) {
	env := environ{"COFFER_URL=u", "COFFER_TOKEN=t", "COFFER_REPO=r", "COFFER_ENV=e", "COFFER_PORT=tcp://10.0.0.1:80", "COFFER_SERVICE_HOST=10.0.0.1"}
	s, err := load(t, "", env)
	if err != nil {
		t.Fatal(err)
	}
	none, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(none, s, cmpopts.EquateComparable(netip.Prefix{}, retention{})); diff != "" {
		t.Error(diff)
	}
	if got := misspelled(env); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	want := []string{"There is no variable COFFER_LOG_LEVL. Did you mean COFFER_LOG_LEVEL?"}
	if diff := cmp.Diff(want, misspelled(environ{"COFFER_LOG_LEVL=info"})); diff != "" {
		t.Error(diff)
	}
}
