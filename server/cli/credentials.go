package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"coffer/server/api"
)

// credentials are the logins of this user: tokens in the operating system's
// keyring, else in a file only this user may read.
type credentials struct {
	dir  string // the user's configuration directory for coffer, or ""
	ring *ring
}

// loginFile is the file of logins.
type loginFile struct {
	Last    string           `json:"last"` // the server of the last login
	Servers map[string]login `json:"servers"`
}

type login struct {
	Username string `json:"username,omitempty"`
	Token    string `json:"token,omitempty"`
	Keyring  bool   `json:"keyring,omitempty"` // the token is in the keyring

	ExpiresAt *api.Time `json:"expiresAt,omitempty"` // null for an API key

	Pin string `json:"pin,omitempty"` // what the server is known by
}

func (a *app) credentials() *credentials {
	return &credentials{a.env.configDir(), openRing(a.env)}
}

func (s *credentials) path() string { return filepath.Join(s.dir, "credentials.json") }

func (s *credentials) load() (*loginFile, error) {
	f := &loginFile{Servers: map[string]login{}}
	if s.dir == "" {
		return f, nil
	}
	data, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the logins: %w", err)
	}
	// The decoder's words may quote the file, which holds tokens.
	if json.Unmarshal(data, f) != nil {
		return nil, failf(exitError, "%s is damaged. Remove it and sign in again: coffer login URL", s.path())
	}
	if f.Servers == nil {
		f.Servers = map[string]login{}
	}
	return f, nil
}

func (s *credentials) save(f *loginFile) error {
	if s.dir == "" {
		return failf(exitError, "There is no place to keep the login: set HOME or XDG_CONFIG_HOME. Or use COFFER_TOKEN.")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	return writePrivate(s.path(), append(data, '\n'))
}

func (s *credentials) last() (string, error) {
	f, err := s.load()
	if err != nil {
		return "", err
	}
	return f.Last, nil
}

// login is what is stored for a server, with its token. Without a login there is
// no token in it.
func (s *credentials) login(server string) (login, error) {
	f, err := s.load()
	if err != nil {
		return login{}, err
	}
	l := f.Servers[server]
	if !l.Keyring {
		return l, nil
	}
	if l.Token, err = s.ring.token(server); err != nil {
		return login{}, failf(exitAuth, "The keyring that holds your login does not answer.\nUnlock it, set COFFER_TOKEN, or sign in again with COFFER_KEYRING=off: coffer login %s", server)
	}
	return l, nil
}

// remember keeps a login and reports where: in the keyring or in the file.
func (s *credentials) remember(server string, l login) (where string, err error) {
	f, err := s.load()
	if err != nil {
		return "", err
	}
	where = s.path()
	if s.ring.store(server, l.Token) == nil {
		l.Token, l.Keyring = "", true
		where = "the keyring"
	}
	f.Servers[server] = l
	f.Last = server
	return where, s.save(f)
}

// forget drops a login and reports whether there was one.
func (s *credentials) forget(server string) (bool, error) {
	f, err := s.load()
	if err != nil {
		return false, err
	}
	l, known := f.Servers[server]
	if !known {
		return false, nil
	}
	if l.Keyring {
		if err := s.ring.forget(server); err != nil {
			return false, failf(exitError, "The keyring that holds the login does not answer. Unlock it and try again.")
		}
	}
	delete(f.Servers, server)
	if f.Last == server {
		f.Last = ""
	}
	return true, s.save(f)
}
