package server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"coffer/server/api"
	"coffer/server/warden"
)

// Names of systemd credentials that unseal without being configured.
const (
	credentialKey        = "coffer-key"
	credentialPassphrase = "coffer-passphrase"
)

// UnsealConfig is where the master key comes from at start. Everything that is set
// is tried, in the order of the fields; then the places of key files that were noted
// when they were added, then age plugins.
type UnsealConfig struct {
	KeyFile        string
	PassphraseFile string
	Passphrase     string // from the environment only
	Key            string // likewise: the text of a key
	Credentials    string // directory of systemd credentials, in which coffer-key and coffer-passphrase are looked for
	WorkFactor     int    // scrypt's log2 N for new passphrases; default 18, at least 17
}

// sources are the configured passphrases and keys but the key file.
func (c UnsealConfig) sources() []warden.Source {
	var all []warden.Source
	if c.PassphraseFile != "" {
		all = append(all, fileSource("The passphrase file "+c.PassphraseFile, api.MethodPassphrase, c.PassphraseFile))
	}
	if c.Passphrase != "" {
		all = append(all, textSource("COFFER_UNSEAL_PASSPHRASE", api.MethodPassphrase, c.Passphrase))
	}
	if c.Key != "" {
		all = append(all, textSource("COFFER_UNSEAL_KEY", api.MethodKeyFile, c.Key))
	}
	if c.Credentials == "" {
		return all
	}
	for _, credential := range []struct{ name, kind string }{
		{credentialKey, api.MethodKeyFile}, {credentialPassphrase, api.MethodPassphrase},
	} {
		path := filepath.Join(c.Credentials, credential.name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, fileSource("The systemd credential "+credential.name, credential.kind, path))
		}
	}
	return all
}

func textSource(name, kind, text string) warden.Source {
	return warden.Source{Name: name, Kind: kind, Read: func() ([]byte, error) { return []byte(text), nil }}
}

func fileSource(name, kind, path string) warden.Source {
	return warden.Source{Name: name, Kind: kind, Read: func() ([]byte, error) {
		text, err := os.ReadFile(path)
		if kind == api.MethodPassphrase {
			text = bytes.TrimRight(text, "\r\n")
		}
		return text, err
	}}
}
