package crypto

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/crypto/cryptotest"
)

func mustPlugin(t *testing.T, behaviour string) *Plugin {
	t.Helper()
	p, err := ParsePlugin(cryptotest.PluginIdentity(behaviour), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPluginOpensTheMaster(t *testing.T) {
	cryptotest.InstallPlugin(t)
	m := mustMaster(t)
	for _, behaviour := range []string{cryptotest.PluginOpens, cryptotest.PluginSpeaks} {
		p := mustPlugin(t, behaviour)
		file, err := WrapPlugin(t.Context(), m, p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := UnwrapPlugin(t.Context(), file, p)
		if err != nil || got.Recipient() != m.Recipient() {
			t.Errorf("%s: %v", behaviour, err)
		}
		// Kept as two texts, it is the same key.
		again, err := ParsePlugin([]byte(p.Identity()), p.Recipient())
		if err != nil || again.Fingerprint() != p.Fingerprint() || again.Name() != "coffertest" {
			t.Errorf("%v", err)
		}
		other := mustPlugin(t, behaviour)
		if _, err := UnwrapPlugin(t.Context(), file, other); !errors.Is(err, ErrWrongKey) {
			t.Errorf("another key: %v", err)
		}
		if _, err := UnwrapPlugin(t.Context(), file[:len(file)-1], p); !errors.Is(err, ErrDamaged) {
			t.Errorf("a damaged file: %v", err)
		}
	}
	// Without a recipient the plugin encrypts to the identity.
	bare, err := ParsePlugin([]byte(strings.ToLower(mustPlugin(t, cryptotest.PluginOpens).Identity())), "")
	if err != nil {
		t.Fatal(err)
	}
	file, err := WrapPlugin(t.Context(), m, bare)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := UnwrapPlugin(t.Context(), file, bare); err != nil || bare.Recipient() != "" {
		t.Error(err)
	}
}

func TestAPluginThatDoesNotOpenSaysWhy(t *testing.T) {
	m := mustMaster(t)
	p := mustPlugin(t, cryptotest.PluginOpens)
	if _, err := WrapPlugin(t.Context(), m, p); !errors.Is(err, ErrPluginMissing) || !strings.Contains(err.Error(), "age-plugin-coffertest is in no directory") {
		t.Errorf("no program: %v", err)
	}
	cryptotest.InstallPlugin(t)
	for behaviour, want := range map[string]struct {
		kind error
		text string
	}{
		cryptotest.PluginAsks:     {ErrPluginAsks, "enter PIN for serial 1234"},
		cryptotest.PluginConfirms: {ErrPluginAsks, "use the key?"},
		cryptotest.PluginFails:    {ErrPlugin, "the hardware is broken"},
	} {
		p := mustPlugin(t, behaviour)
		file, err := WrapPlugin(t.Context(), m, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := UnwrapPlugin(t.Context(), file, p); !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v", behaviour, err)
		}
	}
	file, err := WrapPlugin(t.Context(), m, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(cryptotest.Device, filepath.Join(t.TempDir(), "none"))
	if _, err := UnwrapPlugin(t.Context(), file, p); !errors.Is(err, ErrPlugin) || !strings.Contains(err.Error(), "no device is plugged in") {
		t.Errorf("no device: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "age-plugin-coffertest")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(bad))
	if _, err := UnwrapPlugin(t.Context(), file, p); !errors.Is(err, ErrPlugin) {
		t.Errorf("another program: %v", err)
	}
}

// TestAPluginThatHangsIsKilled: with its child processes, or they would pile up.
func TestAPluginThatHangsIsKilled(t *testing.T) {
	m := mustMaster(t)
	cryptotest.InstallPlugin(t)
	p := mustPlugin(t, cryptotest.PluginHangs)
	file, err := WrapPlugin(t.Context(), m, p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	began := time.Now()
	if _, err := UnwrapPlugin(ctx, file, p); !errors.Is(err, ErrPluginSlow) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	for range 50 {
		if !runs(t, "age-plugin-coffertest") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the plugin still runs")
}

// runs looks for a child's program among the processes that this test's are.
func runs(t *testing.T, program string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		t.Skip("no processes to look at")
	}
	dir := strings.SplitN(os.Getenv("PATH"), string(os.PathListSeparator), 2)[0]
	for _, at := range all {
		line, _ := os.ReadFile(at)
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(at), "environ"))
		if strings.Contains(string(line), program) && strings.Contains(string(environment), dir) {
			return true
		}
	}
	return false
}

// TestAPluginSeesNoSecretOfTheServer: it is other people's program.
func TestAPluginSeesNoSecretOfTheServer(t *testing.T) {
	t.Setenv("COFFER_UNSEAL_PASSPHRASE", "canary")
	t.Setenv("AGE_PLUGIN_X", "kept")
	env := strings.Join(helperEnvironment(), "\n")
	if strings.Contains(env, "canary") || !strings.Contains(env, "AGE_PLUGIN_X=kept") || !strings.Contains(env, "PATH=") {
		t.Error(env)
	}
}

func TestUnusablePluginTextsSayWhy(t *testing.T) {
	good := string(cryptotest.PluginIdentity(cryptotest.PluginOpens))
	line := strings.Split(good, "\n")[1]
	for name, test := range map[string]struct{ text, recipient, want string }{
		"nothing":            {"", "", "no line begins with AGE-PLUGIN-"},
		"a key":              {mustIdentity(t).Reveal(), "", "no line begins with AGE-PLUGIN-"},
		"two":                {line + "\n" + line, "", "more than one key"},
		"cut":                {line[:len(line)-1], "", "incomplete or mistyped"},
		"a path":             {"AGE-PLUGIN-../X-1QQQQ", "", "incomplete or mistyped"},
		"long":               {strings.Repeat("#\n", 40<<10), "", "too long"},
		"another recipient":  {good, mustIdentity(t).Recipient(), "begins with age1coffertest1"},
		"a secret recipient": {good, "AGE-SECRET-KEY-1CANARY", "begins with age1coffertest1"},
	} {
		_, err := ParsePlugin([]byte(test.text), test.recipient)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParsePlugin(f *testing.F) {
	f.Add([]byte("AGE-PLUGIN-X-1QQQQ"), "age1x1qqqq")
	f.Add(cryptotest.PluginIdentity(cryptotest.PluginOpens), "")
	f.Fuzz(func(t *testing.T, text []byte, recipient string) {
		p, err := ParsePlugin(text, recipient)
		if err != nil {
			if !errors.Is(err, ErrIdentity) && !errors.Is(err, ErrRecipient) {
				t.Error(err)
			}
			return
		}
		if again, err := ParsePlugin([]byte(p.Identity()), p.Recipient()); err != nil || again.Fingerprint() != p.Fingerprint() {
			t.Errorf("it does not survive its texts: %v", err)
		}
	})
}
