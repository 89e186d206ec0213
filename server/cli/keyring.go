package cli

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	keyringService = "coffer"
	keyringWait    = 10 * time.Second // long enough to unlock it by hand
)

var errNoKeyring = errors.New("no keyring")

// ring is the operating system's keyring; a test replaces its functions.
type ring struct {
	get    func(service, user string) (string, error)
	set    func(service, user, token string) error
	delete func(service, user string) error
	wait   time.Duration
}

// openRing is nil where there is no keyring, or nobody who could unlock it.
func openRing(env environ) *ring {
	if env.get("COFFER_KEYRING") == "off" || !hasKeyring(env) {
		return nil
	}
	return &ring{keyring.Get, keyring.Set, keyring.Delete, keyringWait}
}

// hasKeyring reports whether a keyring can answer. On the desktops of Unix it is
// reached over the session bus, and unlocked in a window: without both, a call
// would start a bus of its own or wait for nobody.
func hasKeyring(env environ) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if env.get("DISPLAY") == "" && env.get("WAYLAND_DISPLAY") == "" {
		return false
	}
	// The bus must be the one the keyring library will look for.
	return env.get("DBUS_SESSION_BUS_ADDRESS") != "" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") != ""
}

// within runs a call that may hang for ever in somebody else's program. A call
// that was given up ends with the process.
func (r *ring) within(call func() error) error {
	if r == nil {
		return errNoKeyring
	}
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(r.wait):
		return errNoKeyring
	}
}

func (r *ring) token(server string) (string, error) {
	// Through a channel, because a call that was given up may still write.
	got := make(chan string, 1)
	err := r.within(func() error {
		token, err := r.get(keyringService, server)
		got <- token
		return err
	})
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return <-got, nil
}

func (r *ring) store(server, token string) error {
	return r.within(func() error { return r.set(keyringService, server, token) })
}

func (r *ring) forget(server string) error {
	return r.within(func() error { return r.delete(keyringService, server) })
}
