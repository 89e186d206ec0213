package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/offline"
)

// offlineOptions say what a command does with copies on this machine.
type offlineOptions struct {
	offline, keep bool
	maxAge        string
	limit         time.Duration // what maxAge comes to
}

const offlineHelp = `With --keep-offline, or always with COFFER_OFFLINE=keep, coffer also keeps a
sealed copy in your cache directory, and --offline uses it without asking a
server, as long as it is not older than --max-age. Its key is in the keyring of
the operating system; where there is none, in offline.key in your configuration
directory: that protects the copy when only the cache leaks, not from somebody
who reads all your files.`

func (o *offlineOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.offline, "offline", false, "use the copy on this machine and ask no server")
	f.BoolVar(&o.keep, "keep-offline", false, "keep a sealed copy for --offline (COFFER_OFFLINE=keep)")
	f.StringVar(&o.maxAge, "max-age", "7d", "how old the copy of --offline may be")
}

func (o *offlineOptions) complete(env environ) error {
	switch word := env.get("COFFER_OFFLINE"); word {
	case "keep":
		o.keep = true
	case "", "off":
	default:
		return usagef("COFFER_OFFLINE is %q. It can be keep or off.", word)
	}
	var err error
	if o.limit, err = parseDuration(o.maxAge); err != nil {
		return usagef("--max-age: %q %s.", o.maxAge, err)
	}
	return nil
}

// readOptions say which state of an environment a command reads.
type readOptions struct {
	moment
	offlineOptions
}

func (o *readOptions) flags(f *pflag.FlagSet) {
	o.moment.flags(f)
	o.offlineOptions.flags(f)
}

// reader reads the values of an environment: from the server, or from the copy
// on this machine when that was asked for.
type reader struct {
	place
	readOptions
	client *client.Client // nil with --offline
	copies *copies
	owner  offline.Place
}

// reading runs a command that reads an environment.
func (a *app) reading(o *readOptions, do func(context.Context, *reader, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(oneOf(cmd, "offline", "at"), oneOf(cmd, "offline", "keep-offline")); err != nil {
			return err
		}
		if err := o.complete(a.env); err != nil {
			return err
		}
		r, err := a.reader(cmd.Context(), *o)
		if err != nil {
			return err
		}
		return do(cmd.Context(), r, args)
	}
}

func (a *app) reader(ctx context.Context, o readOptions) (r *reader, err error) {
	r = &reader{readOptions: o, copies: a.copies()}
	store := a.credentials()
	address, err := a.address(store)
	if err == nil && !o.offline {
		r.client, err = a.connect()
	}
	if err != nil {
		return nil, err
	}
	if r.place, err = a.where(ctx); err != nil {
		return nil, err
	}
	account, err := a.account(store, address)
	r.owner = offline.Place{Server: address, Repository: r.repo, Environment: r.environment, User: account}
	return r, err
}

// pulledState is what a pull answers, and when a copy was taken.
type pulledState struct {
	*api.Pulled
	TakenAt *api.Time `json:"takenAt,omitempty"`
}

func (r *reader) read(ctx context.Context, out *console) (map[string]string, *pulledState, error) {
	if r.offline {
		return r.readCopy(out)
	}
	values, p, err := r.pull(ctx, r.client, r.place, out)
	if err != nil {
		return nil, nil, r.hint(err)
	}
	if r.keep && r.at == "" {
		l := offline.Label{Place: r.owner, Revision: p.Revision, Taken: time.Now().UTC().Truncate(time.Second)}
		if err := r.copies.keep(l, values); err != nil {
			out.note("Careful: no offline copy was kept. %s", err)
		}
	}
	return values, &pulledState{Pulled: p}, nil
}

func (r *reader) readCopy(out *console) (map[string]string, *pulledState, error) {
	l, values, err := r.copies.open(r.owner)
	if err != nil {
		return nil, nil, r.explain(err)
	}
	now := time.Now()
	switch age := now.Sub(l.Taken); {
	case age < -5*time.Minute:
		return nil, nil, failf(exitError, "The offline copy of %s of %s was made at %s, which is in the future. Set the clock of this machine.",
			r.environment, r.repo, when(api.At(l.Taken)))
	case age > r.limit:
		return nil, nil, failf(exitError, "The offline copy of %s of %s is %s old, and --max-age is %s.\nTo use it all the same, add --max-age %s.",
			r.environment, r.repo, since(l.Taken, now), r.maxAge, daysFor(age))
	}
	out.note("Offline copy of %s of %s: %s old, revision %d. Later changes are not in it.",
		r.environment, r.repo, since(l.Taken, now), l.Revision)
	p := &api.Pulled{Secrets: make(map[string]api.Revealed, len(values)), Count: len(values), Total: len(values), Revision: l.Revision}
	for key, value := range values {
		p.Secrets[key] = api.Revealed(value)
	}
	return values, &pulledState{p, api.AtOrNull(l.Taken)}, nil
}

// explain says why there is no copy to use.
func (r *reader) explain(err error) error {
	keep := "coffer pull --keep-offline -e " + r.environment
	again := "When the server is reached again, keep a new one: " + keep
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failf(exitNotFound, "There is no offline copy of %s of %s for %s on this machine.\nWhen the server is reached, keep one: %s",
			r.environment, r.repo, r.owner.User, keep)
	case errors.Is(err, offline.ErrKey):
		return failf(exitError, "The offline copy of %s of %s does not open: its key is neither in the keyring nor in %s.\nIf the keyring is locked, unlock it. %s",
			r.environment, r.repo, r.copies.keyFile, again)
	case errors.Is(err, offline.ErrDamaged):
		return failf(exitError, "The offline copy of %s of %s is damaged or was altered. It is not used.\n%s", r.environment, r.repo, again)
	case errors.Is(err, offline.ErrOther):
		return failf(exitError, "The offline copy of %s of %s is not yours, or one of another environment. It is not used.\n%s", r.environment, r.repo, again)
	}
	return err
}

// hint adds to an error of a server that cannot answer that there is a copy.
func (r *reader) hint(err error) error {
	_, away := errors.AsType[*client.NetworkError](err)
	for _, code := range []api.Code{api.Sealed, api.Unavailable, api.Timeout} {
		away = away || errors.Is(err, &api.Error{Code: code})
	}
	l, e := r.copies.label(r.owner)
	if !away || e != nil || r.at != "" {
		return err
	}
	now := time.Now()
	use := "--offline"
	if age := now.Sub(l.Taken); age > r.limit {
		use += " --max-age " + daysFor(age)
	}
	return &hinted{err, fmt.Sprintf("There is an offline copy, %s old, of revision %d. To use it, add %s.", since(l.Taken, now), l.Revision, use)}
}

// daysFor is a maximum age, in days, that lets an age through for a while.
func daysFor(age time.Duration) string {
	return fmt.Sprintf("%dd", int(age/(24*time.Hour))+1)
}
