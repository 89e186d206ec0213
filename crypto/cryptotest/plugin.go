package cryptotest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/plugin"
)

// pluginName is the name of the age plugin that every test binary with this
// package is, when it is called by the name of its program.
const pluginName = "coffertest"

// Behaviours of the plugin.
const (
	PluginOpens    = "opens"
	PluginAsks     = "asks"     // wants a PIN
	PluginConfirms = "confirms" // wants a yes
	PluginSpeaks   = "speaks"   // says something, and opens
	PluginHangs    = "hangs"
	PluginFails    = "fails"
)

var behaviours = []string{PluginOpens, PluginAsks, PluginConfirms, PluginSpeaks, PluginHangs, PluginFails}

func init() {
	if testing.Testing() && filepath.Base(os.Args[0]) == "age-plugin-"+pluginName {
		os.Exit(servePlugin())
	}
}

// Device names the variable with the file without which the plugin finds no device.
const Device = "AGE_PLUGIN_COFFERTEST_DEVICE"

// InstallPlugin puts the plugin's program into the PATH of this test.
func InstallPlugin(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "age-plugin-"+pluginName)); err != nil {
		t.Skipf("no links here: %v", err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// PluginIdentity is the identity file of a new key of the plugin, which behaves
// as told when it is asked to open. Its comment names the recipient.
func PluginIdentity(behaviour string) []byte {
	for n, known := range behaviours {
		if known == behaviour {
			data := make([]byte, 17)
			_, _ = rand.Read(data)
			data[0] = byte(n)
			return fmt.Appendf(nil, "# Recipient: %s\n%s\n", plugin.EncodeRecipient(pluginName, data), plugin.EncodeIdentity(pluginName, data))
		}
	}
	panic("cryptotest: no behaviour " + behaviour)
}

// servePlugin is the program. What it calls encryption hides nothing.
func servePlugin() int {
	p, err := plugin.New(pluginName)
	if err != nil {
		return 1
	}
	p.HandleRecipient(func(data []byte) (age.Recipient, error) { return toy{p, data}, nil })
	p.HandleIdentityAsRecipient(func(data []byte) (age.Recipient, error) { return toy{p, data}, nil })
	p.HandleIdentity(func(data []byte) (age.Identity, error) { return toy{p, data}, nil })
	p.RegisterFlags(nil)
	for _, arg := range os.Args[1:] {
		if machine, ok := strings.CutPrefix(arg, "--age-plugin="); ok {
			switch machine {
			case "recipient-v1":
				return p.RecipientV1()
			case "identity-v1":
				return p.IdentityV1()
			}
		}
	}
	return 2
}

type toy struct {
	p    *plugin.Plugin
	data []byte
}

func (k toy) mask(b []byte) []byte {
	out := bytes.Clone(b)
	for i := range out {
		out[i] ^= k.data[1+i%16]
	}
	return out
}

// Wrap hides a file key.
func (k toy) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: pluginName, Args: []string{fmt.Sprintf("%x", k.data[1:4])}, Body: k.mask(fileKey)}}, nil
}

// Unwrap finds a file key again, or behaves as told.
func (k toy) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if at := os.Getenv(Device); at != "" {
		if _, err := os.Stat(at); err != nil {
			return nil, errors.New("no device is plugged in")
		}
	}
	switch behaviours[k.data[0]] {
	case PluginAsks:
		if _, err := k.p.RequestValue("enter PIN for serial 1234", true); err != nil {
			return nil, err
		}
	case PluginConfirms:
		if _, err := k.p.Confirm("use the key?", "yes", "no"); err != nil {
			return nil, err
		}
	case PluginSpeaks:
		if err := k.p.DisplayMessage("touch your key"); err != nil {
			return nil, err
		}
	case PluginHangs:
		time.Sleep(time.Hour)
	case PluginFails:
		return nil, errors.New("the hardware is broken")
	}
	for _, s := range stanzas {
		if s.Type == pluginName && len(s.Args) == 1 && s.Args[0] == fmt.Sprintf("%x", k.data[1:4]) {
			return k.mask(s.Body), nil
		}
	}
	return nil, age.ErrIncorrectIdentity
}
