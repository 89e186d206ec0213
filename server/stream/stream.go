// Package stream carries lines to where an operator keeps what happened: a file
// beside the data, or a system log.
//
// It knows no records and no keys; what a line says comes from outside. Its
// invariant: lines that Send and Sync accepted are there, in order; lines that
// they did not accept may be there too, whole.
package stream

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Line is one thing to carry.
type Line struct {
	Text    []byte // for a file, with its line feed
	Message []byte // for a system log, without one; nil for what has no business there
	Short   []byte // in place of a Message that is too large
	Name    string // what happened, in a word
	Warning bool
	At      time.Time
}

// Batch is lines that follow one another. Opens is the first line of a file that
// is begun for them, Closes the last line of the file before.
type Batch struct {
	Opens, Closes []byte
	Lines         []Line
}

// Target is where lines go. Its methods are called by one goroutine at a time. A
// Target that failed tries anew with the next call.
type Target interface {
	// Send hands lines over and returns how many were accepted.
	Send(ctx context.Context, b Batch) (int, error)
	// Sync makes what was accepted durable, as far as the target can.
	Sync() error
	// Close ends the use of the target.
	Close() error
}

const forms = "file:/path, syslog:unix:///dev/log, syslog:udp://host:514 or syslog:tcp://host:601"

// Open makes the target that a configuration names, without touching it.
func Open(config string) (Target, error) {
	kind, rest, _ := strings.Cut(config, ":")
	switch kind {
	case "file":
		if filepath.IsAbs(rest) {
			return &file{path: filepath.Clean(rest)}, nil
		}
	case "syslog":
		if s := parseSyslog(rest); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%q names no place; it is %s", config, forms)
}

func parseSyslog(address string) *syslog {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil
	}
	port := map[string]string{"udp": "514", "tcp": "601"}[u.Scheme]
	switch {
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/") && len(u.Path) > 1:
		return newSyslog("unixgram", u.Path)
	case port != "" && u.Hostname() != "" && u.Path == "":
		if u.Port() != "" {
			port = u.Port()
		}
		return newSyslog(u.Scheme, net.JoinHostPort(u.Hostname(), port))
	}
	return nil
}
