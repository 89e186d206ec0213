package cli

import (
	"strings"

	"coffer/server/client"
)

// known is the address of a server, and has a remember what it is known by: what
// stands behind the # of the address, else what the login there was made with.
func (a *app) known(text string, store *credentials) (string, error) {
	address, pin, err := parsePinned(text)
	if err == nil && pin == nil {
		pin, err = store.pin(address)
	}
	a.pin = pin
	return address, err
}

// parsePinned is parseAddress for one that may have a pin, which only TLS can
// show.
func parsePinned(text string) (string, *client.Pin, error) {
	if !strings.Contains(text, "#sha256") {
		address, err := parseAddress(text)
		return address, nil, err
	}
	rest, pin, err := client.SplitPin(text)
	if err != nil {
		return "", nil, usagef("Behind the # of the address stands the fingerprint of the server's key, as the server prints it: sha256= and 64 digits from 0 to f.\nIn a shell, put the address in quotes if it was cut.")
	}
	if !strings.Contains(rest, "://") {
		rest = "https://" + rest
	}
	if !strings.HasPrefix(strings.ToLower(rest), "https://") {
		return "", nil, usagef("An address with a fingerprint begins with https://.")
	}
	address, err := parseAddress(rest)
	return address, pin, err
}

// pinned is the address as somebody signs in with it.
func (a *app) pinned(address string) string {
	if a.pin == nil {
		return address
	}
	return address + "#" + a.pin.String()
}

// pin is what the server of a login is known by, or nil.
func (s *credentials) pin(server string) (*client.Pin, error) {
	f, err := s.load()
	if err != nil || f.Servers[server].Pin == "" {
		return nil, err
	}
	pin, err := client.ParsePin(f.Servers[server].Pin)
	if err != nil {
		// Without it the token would go to whoever answers.
		return nil, failf(exitError, "%s is damaged. Remove it and sign in again: coffer login URL", s.path())
	}
	return pin, nil
}
