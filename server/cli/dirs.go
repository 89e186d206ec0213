package cli

import (
	"os"
	"path/filepath"
	"runtime"
)

// The three directories that coffer has for a user. Each is "" where the system
// knows no place, as for a user without a home.

// configDir holds what must not be lost: logins and keys.
func (e environ) configDir() string { return e.ours("XDG_CONFIG_HOME", os.UserConfigDir) }

// cacheDir holds what the server can give again: sealed copies.
func (e environ) cacheDir() string { return e.ours("XDG_CACHE_HOME", os.UserCacheDir) }

// stateDir holds what is remembered from one run to the next.
func (e environ) stateDir() string {
	return e.ours("XDG_STATE_HOME", func() (string, error) {
		switch runtime.GOOS {
		case "darwin", "windows", "ios", "plan9":
			return os.UserCacheDir()
		}
		home, err := os.UserHomeDir()
		return filepath.Join(home, ".local", "state"), err
	})
}

func (e environ) ours(variable string, usual func() (string, error)) string {
	if base := e.get(variable); base != "" {
		return filepath.Join(base, "coffer")
	}
	base, err := usual()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "coffer")
}
