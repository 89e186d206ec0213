package listen

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// Sockets are those that the service manager opened for us, by what they are for.
// A name other than these three (FileDescriptorName= in the socket's unit) is Main.
type Sockets struct{ Main, Redirect, Metrics []net.Listener }

// Inherited are the sockets that this process was started with, if any.
func Inherited() (s Sockets, err error) {
	all, err := activation.ListenersWithNames()
	for name, listeners := range all {
		switch name {
		case "redirect":
			s.Redirect = append(s.Redirect, listeners...)
		case "metrics":
			s.Metrics = append(s.Metrics, listeners...)
		default:
			s.Main = append(s.Main, listeners...)
		}
	}
	return s, err
}

// Service is what a service manager knows of the server. Without one that wants
// to know, everything here does nothing.
type Service struct {
	Log   *slog.Logger
	State func() string                   // in a few words, for people
	Alive func(ctx context.Context) error // whether the server still answers
}

// statusEvery is how often the state is looked at.
const statusEvery = time.Second

func (s *Service) say(state string) {
	if s == nil {
		return
	}
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.Log.Warn("the service manager does not listen", "error", err)
	}
}

func (s *Service) status() string { return "\nSTATUS=" + s.State() }

// Ready says that the server listens.
func (s *Service) Ready() {
	if s != nil {
		s.say(daemon.SdNotifyReady + s.status())
	}
}

// Stopping says that the server ends.
func (s *Service) Stopping() { s.say(daemon.SdNotifyStopping + "\nSTATUS=stopping") }

// Reload says that the server reads its files again while do does so.
func (s *Service) Reload(do func()) {
	s.say(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	do()
	s.Ready()
}

// Watch tells changes of the state until ctx ends, and that the server is alive
// as often as the service manager wants to hear it.
func (s *Service) Watch(ctx context.Context) {
	if s == nil {
		return
	}
	turn := time.NewTicker(statusEvery)
	defer turn.Stop()
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.Log.Warn("the service manager's watchdog is set wrongly", "error", err)
	}
	var beat <-chan time.Time
	if limit > 0 {
		t := time.NewTicker(limit / 3)
		defer t.Stop()
		beat = t.C
	}
	last := s.status()
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
			if now := s.status(); now != last {
				last = now
				s.say(now[1:])
			}
		case <-beat:
			s.beat(ctx, limit)
		}
	}
}

// beat says that the server is alive, if it is.
func (s *Service) beat(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit/3)
	defer cancel()
	if err := s.Alive(ctx); err != nil {
		s.Log.Warn("the server does not answer itself", "error", err)
		return
	}
	s.say(daemon.SdNotifyWatchdog)
}
