package warden

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/store"
)

// ours is the environment and the connection that a request names, if the caller
// may use them.
func (s *sides) ours(v *visit) (*store.Environment, store.Connection, error) {
	e := v.environment(s.asked.EnvironmentName())
	if e == nil {
		return nil, store.Connection{}, api.InvalidField(cmp.Or(s.asked.EnvironmentField, "keywayEnvironment"), api.UnknownValue, "This vault has no environment %q.", s.asked.EnvironmentName())
	}
	if err := v.allow(e); err != nil {
		return nil, store.Connection{}, err
	}
	if v.act.Row().Writable {
		if err := v.refuseReadOnly(); err != nil {
			return nil, store.Connection{}, err
		}
	}
	conn, err := connectionOf(v.Reader, s.who, s.asked.ConnectionID)
	if errors.Is(err, store.ErrNotFound) {
		err = api.InvalidField("connectionId", api.UnknownValue, "You have no such connection. List yours, or connect first.")
	}
	return e, conn, err
}

// connectionOf is one of the caller's own connections, or store.ErrNotFound.
func connectionOf(r store.Reader, who Caller, id string) (store.Connection, error) {
	parsed, err := store.ParseID(id)
	if err != nil {
		return store.Connection{}, store.ErrNotFound
	}
	conn, err := r.Connection(parsed)
	if err == nil && conn.User != who.user.ID {
		return store.Connection{}, store.ErrNotFound
	}
	return conn, err
}

// stillThere holds what was looked at against what has gone since.
func (s *sides) stillThere(r store.Reader) error {
	user, err := r.User(s.who.user.ID)
	if err == nil && user.Disabled != 0 {
		err = store.ErrNotFound
	}
	if err == nil {
		_, err = r.Environment(s.vault.ID, s.env.ID)
	}
	if err == nil {
		_, err = r.Connection(s.to.conn.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return errGone
	}
	return err
}

var errGone = api.Errorf(api.Conflict, "The environment, the connection or the account that this sync needs has gone meanwhile. Look at the preview again.")

// aim finds the target at the provider, and asks whether values may flow there.
func (s *sides) aim(ctx context.Context) error {
	project, err := asking(ctx, s.w, s.to, func(c hosting.Credential) (hosting.Project, error) {
		return s.to.Find(ctx, c, s.asked.ProjectID, s.asked.ServiceID)
	})
	if errors.Is(err, hosting.ErrNotFound) {
		field := "projectId"
		if s.asked.ServiceID != "" {
			field = "serviceId"
		}
		return api.InvalidField(field, api.UnknownValue, "%s knows no such project, or this connection does not reach it. List the connection's projects.", s.to.Describe().Display)
	}
	if err != nil {
		return err
	}
	env, ok := environmentAt(s.to.Describe(), project, s.asked.ProviderEnvironment, s.env.Name)
	if !ok {
		return s.errEnvironmentThere(project)
	}
	s.target = hosting.Target{Project: project, Environment: env}
	s.place = placeOf(s.to, s.target)
	if err := s.allowFlow(s.role, s.env); err != nil {
		return s.w.settle(ctx, s.who, s.act, s.vault, err)
	}
	return nil
}

// environmentAt is the provider's environment that a name means: one of the
// project's, else what the provider's table makes of it. Without a name it is what
// that makes of ours.
func environmentAt(d hosting.Description, p hosting.Project, named, ours string) (hosting.Environment, bool) {
	name := cmp.Or(named, ours)
	tries := []string{name, d.Synonyms[name], d.Environments[name]}
	if named == "" {
		tries = []string{d.Environments[name], name}
	}
	for _, try := range tries {
		for _, e := range p.Environments {
			if try != "" && e.Name == try {
				return e, true
			}
		}
	}
	return hosting.Environment{}, false
}

func (s *sides) errEnvironmentThere(p hosting.Project) error {
	names := make([]string, len(p.Environments))
	for i, e := range p.Environments {
		names[i] = e.Name
	}
	return api.InvalidField("providerEnvironment", api.UnknownValue, "%s has no environment for %q. It has: %s.",
		p.Name, cmp.Or(s.asked.ProviderEnvironment, s.env.Name), cmp.Or(strings.Join(names, ", "), "none"))
}

// allowFlow refuses to let values into a more protected environment for anybody
// but an admin. Looking is allowed: it moves nothing.
func (s *sides) allowFlow(role access.Role, e store.Environment) error {
	if s.act != access.SyncPush && s.act != access.SyncPull {
		return nil
	}
	if role >= access.Admin || !flowNeedsAdmin(&e, s.target.Environment.Name, s.asked.Pull()) {
		return nil
	}
	from, into := e.Name, s.target.Environment.Name
	if s.asked.Pull() {
		from, into = into, from
	}
	return &refusal{
		reason: access.RoleTooLow, environment: e.Name,
		answer: api.Errorf(api.Forbidden, "%s is more protected than %s: only an admin of the repository may sync into it. Your role is %s.", into, from, role),
	}
}

// flowNeedsAdmin reports whether values that are synced between an environment of
// ours and one of the provider's come into a more protected one.
func flowNeedsAdmin(e *store.Environment, target string, pull bool) bool {
	from, into := envType(e.Type), access.Infer(target)
	if pull {
		from, into = into, from
	}
	return access.SyncNeedsAdmin(from, into)
}

// placeOf names a target whoever reaches it, and through which team.
func placeOf(to *reached, t hosting.Target) store.Place {
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", to.conn.Provider, t.Project.ID, t.Project.Service, cmp.Or(t.Environment.ID, t.Environment.Name)))
	return store.Place(h[:16])
}
