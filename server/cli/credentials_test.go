package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

const vault = "https://vault.example"

// memoryRing is a keyring that works.
func memoryRing() (*ring, map[string]string) {
	kept := map[string]string{}
	return &ring{
		get: func(_, user string) (string, error) {
			token, ok := kept[user]
			if !ok {
				return "", keyring.ErrNotFound
			}
			return token, nil
		},
		set:    func(_, user, token string) error { kept[user] = token; return nil },
		delete: func(_, user string) error { delete(kept, user); return nil },
		wait:   time.Minute,
	}, kept
}

func brokenRing(call func() error) *ring {
	return &ring{
		get:    func(_, _ string) (string, error) { return "", call() },
		set:    func(_, _, _ string) error { return call() },
		delete: func(_, _ string) error { return call() },
		wait:   10 * time.Millisecond,
	}
}

func TestLoginIsKeptInTheKeyring(t *testing.T) {
	r, kept := memoryRing()
	s := &credentials{dir: filepath.Join(t.TempDir(), "coffer"), ring: r}
	where, err := s.remember(vault, login{Username: "ann", Token: "canary"})
	if err != nil || where != "the keyring" || kept[vault] != "canary" {
		t.Fatalf("got %q, %v, %q", where, err, kept)
	}
	file, err := os.ReadFile(s.path())
	if err != nil || strings.Contains(string(file), "canary") {
		t.Errorf("the file holds the token, or %v", err)
	}
	if l, err := s.login(vault); err != nil || l.Token != "canary" {
		t.Errorf("got %q, %v", l.Token, err)
	}
	if known, err := s.forget(vault); !known || err != nil || len(kept) > 0 {
		t.Errorf("got %v, %v, %q", known, err, kept)
	}
}

func TestLoginFallsBackToAPrivateFile(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for name, r := range map[string]*ring{
		"no keyring":  nil,
		"an error":    brokenRing(func() error { return errors.New("no bus") }),
		"one silent":  brokenRing(func() error { <-hang; return nil }),
		"unsupported": brokenRing(func() error { return keyring.ErrUnsupportedPlatform }),
	} {
		t.Run(name, func(t *testing.T) {
			s := &credentials{dir: filepath.Join(t.TempDir(), "deep", "coffer"), ring: r}
			if _, err := s.remember(vault, login{Username: "ann", Token: "canary"}); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]os.FileMode{s.path(): 0o600, s.dir: 0o700} {
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: got %v, %v", path, info.Mode(), err)
				}
			}
			if l, err := s.login(vault); err != nil || l.Token != "canary" {
				t.Errorf("got %q, %v", l.Token, err)
			}
			if last, err := s.last(); last != vault || err != nil {
				t.Errorf("got %q, %v", last, err)
			}
		})
	}
}

func TestSilentKeyringIsAnErrorThatHelps(t *testing.T) {
	r, _ := memoryRing()
	s := &credentials{dir: t.TempDir(), ring: r}
	if _, err := s.remember(vault, login{Username: "ann", Token: "canary"}); err != nil {
		t.Fatal(err)
	}
	s.ring = nil
	_, err := s.login(vault)
	if exitCode(err) != exitAuth || !strings.Contains(err.Error(), "COFFER_TOKEN") {
		t.Errorf("got %v", err)
	}
}

func TestHeadlessMachineHasNoKeyring(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	for _, env := range []environ{nil, {"DISPLAY=:0"}, {"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus"}} {
		if hasKeyring(env) && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
			t.Errorf("%q: a keyring would be asked", env)
		}
	}
	if openRing(environ{"COFFER_KEYRING=off"}) != nil {
		t.Error("COFFER_KEYRING=off asks the keyring")
	}
}

func TestDamagedLoginFileIsNotQuoted(t *testing.T) {
	s := &credentials{dir: t.TempDir()}
	if err := os.WriteFile(s.path(), []byte(`{"servers": canary}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.last(); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "sign in again") {
		t.Errorf("got %v", err)
	}
}
