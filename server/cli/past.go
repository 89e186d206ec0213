package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"coffer/server/api"
	"coffer/server/client"
)

// moment is the time that a command asks an environment about.
type moment struct {
	at     string // "" is now
	strict bool
}

const atHelp = `TIME is an instant like 2026-11-20T09:15:00Z, a date and time of this machine
like '2026-11-20 09:15', or how long ago: 90m, 12h or 2d. coffer says which
revision that was. What was removed for good since then is missing: coffer
warns, and with --strict it fails.`

func (m *moment) flags(f *pflag.FlagSet) {
	f.StringVar(&m.at, "at", "", "as it was at this `TIME`, like '2026-11-20 09:15' or 2d, which is two days ago")
	f.BoolVar(&m.strict, "strict", false, "with --at: fail when something of then was removed for good")
}

var (
	errInstant = errors.New("is no time; write it like '2026-11-20 09:15', 2026-11-20T09:15:00Z or 2d, which is two days ago")
	errFuture  = errors.New("lies in the future")
)

// localLayouts are the ways to write a time of this machine.
var localLayouts = []string{
	"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly,
}

// instant is the time asked for; a day without a time is its start.
func (m moment) instant(now time.Time) (time.Time, error) {
	then, err := parseInstant(m.at, now)
	if err == nil && then.After(now) {
		err = errFuture
	}
	if err != nil {
		return then, usagef("--at: %q %s.", m.at, err)
	}
	return then, nil
}

func parseInstant(s string, now time.Time) (time.Time, error) {
	if then, err := time.Parse(time.RFC3339, s); err == nil {
		return then, nil
	}
	for _, layout := range localLayouts {
		if then, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return then, nil
		}
	}
	ago, err := parseDuration(strings.TrimSuffix(s, " ago"))
	if err != nil {
		return time.Time{}, errInstant
	}
	return now.Add(-ago), nil
}

// pull reads an environment as it is, or as it was at the moment.
func (m moment) pull(ctx context.Context, c *client.Client, at place, out *console) (map[string]string, *api.Pulled, error) {
	if m.at == "" {
		defer out.working("Pulling")()
		return pullValues(ctx, c, at)
	}
	then, err := m.instant(time.Now())
	if err != nil {
		return nil, nil, err
	}
	stop := out.working("Pulling")
	values, p, err := pullWith(ctx, c, at, api.PullSecrets{At: then.Format(time.RFC3339Nano)})
	stop()
	if err != nil {
		return nil, nil, err
	}
	out.note("%s of %s as it was at %s: revision %d.", at.environment, at.repo, then.Local().Format("2006-01-02 15:04:05 -07:00"), p.Revision)
	if !p.Incomplete {
		return values, p, nil
	}
	if m.strict {
		return nil, nil, failf(exitError, "%s\nTo take what is left, leave out --strict.", capital(lostText))
	}
	out.note("Careful: %s", lostText)
	return values, p, nil
}

const lostText = "not all of it is left. A secret was removed for good since then, or an old version has expired."
