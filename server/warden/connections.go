package warden

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/hosting"
	"coffer/store"
)

// Providers lists the hosting providers that there are, and how one connects to
// each. Nobody needs a credential for it.
func (w *Warden) Providers() *api.Providers {
	out := &api.Providers{Providers: []api.Provider{}}
	for _, name := range hosting.Names() {
		one := api.Provider{Name: name, DisplayName: hosting.Display(name), Methods: []string{}}
		if p := w.c.Hosting[name]; p != nil {
			one.Configured, one.Methods = true, append(one.Methods, api.ConnectByToken)
			if p.Describe().OAuth {
				one.Methods = append(one.Methods, api.ConnectByOAuth)
			}
		}
		out.Providers = append(out.Providers, one)
	}
	return out
}

// provider is a hosting provider that is not turned off.
func (w *Warden) provider(name string) (hosting.Provider, error) {
	if p := w.c.Hosting[name]; p != nil {
		return p, nil
	}
	return nil, errProviderOff(name)
}

// Connections lists the caller's own, oldest first.
func (w *Warden) Connections(ctx context.Context, who Caller, _ api.Empty) (*api.Connections, error) {
	out := &api.Connections{Connections: []api.Connection{}}
	err := w.self(ctx, who, access.ConnectionList, func(r store.Reader) error {
		all, err := r.ConnectionsOf(who.user.ID)
		for _, c := range all {
			out.Connections = append(out.Connections, connection(c))
		}
		return err
	})
	return out, err
}

func connection(c store.Connection) api.Connection {
	out := api.Connection{
		ID: c.ID.String(), Provider: c.Provider, Status: api.ConnectionActive,
		ProviderUserID: orNull(c.Account), ProviderTeamID: orNull(c.Team), ProviderTeamName: orNull(c.TeamName),
		CreatedAt: api.At(c.Created.Time()), UpdatedAt: api.At(c.Updated.Time()),
	}
	if c.Broken {
		out.Status = api.ConnectionReconnect
	}
	return out
}

// Connect connects with a token that the caller made at the provider, and that is
// tried before it is kept.
func (w *Warden) Connect(ctx context.Context, who Caller, req api.Connect) (*api.Connected, error) {
	if err := admit(who, access.ConnectionCreate); err != nil {
		return nil, w.settle(ctx, who, access.ConnectionCreate, store.Vault{}, err)
	}
	p, err := w.provider(req.Provider)
	if err != nil {
		return nil, err
	}
	return w.connect(ctx, who, p, hosting.Grant{Access: req.Token, Team: req.TeamID})
}

// connect keeps what lets us act at a provider, after it was tried.
func (w *Warden) connect(ctx context.Context, who Caller, p hosting.Provider, g hosting.Grant) (*api.Connected, error) {
	d := p.Describe()
	account, err := p.Check(ctx, hosting.Credential{Token: g.Access, Team: g.Team})
	switch {
	case errors.Is(err, hosting.ErrCredential):
		return nil, api.InvalidField("token", api.NotAllowed, "%s turned this token down. Make a new one there and paste it whole.", d.Display)
	case errors.Is(err, hosting.ErrNotFound):
		return nil, api.InvalidField("teamId", api.UnknownValue, "This token reaches no such team at %s. Leave the team out, or make the token there.", d.Display)
	case err != nil:
		return nil, w.errProvider(ctx, d.Name, err)
	}
	conn, err := w.keep(ctx, who, d, g, account)
	if err != nil {
		return nil, err
	}
	return &api.Connected{
		Success: true, Provider: d.Name, ConnectionID: conn.ID.String(),
		User: api.ConnectionUser{ID: account.UserID, Username: account.UserName, TeamName: account.TeamName},
	}, nil
}

// keep writes a connection: a new one, or the one that the user has to the same
// team already.
func (w *Warden) keep(ctx context.Context, who Caller, d hosting.Description, g hosting.Grant, account hosting.Account) (conn store.Connection, err error) {
	keys, err := w.holdKeys()
	if err != nil {
		return conn, err
	}
	defer keys.users.RUnlock()
	err = w.changeSelf(ctx, who, access.ConnectionCreate, func(tx store.Tx, j *journal) error {
		var fresh bool
		if conn, fresh, err = sameConnection(tx.Reader, who, d.Name, account.TeamID); err != nil {
			return err
		}
		if fresh {
			if err := w.checkConnections(tx.Reader, who); err != nil {
				return err
			}
			conn = store.Connection{ID: j.ids.Next(), User: who.user.ID, Provider: d.Name}
		}
		now := store.At(j.now)
		conn.Account, conn.AccountName, conn.Team, conn.TeamName, conn.Kind = account.UserID, account.UserName, account.TeamID, account.TeamName, account.Kind
		// A client that waits for the end of a new authorization looks for a later
		// time of creation.
		conn.Created, conn.Updated, conn.Broken = now, now, false
		keys.sealConnection(&conn, g)
		j.note("integration_connected", map[string]any{"provider": d.Name})
		return errors.Join(tx.PutConnection(conn), wakeLinks(tx, conn))
	})
	if err == nil {
		w.syncs.engage()
	}
	return conn, err
}

// sameConnection is the connection that the caller has to a team already.
func sameConnection(r store.Reader, who Caller, provider, team string) (conn store.Connection, fresh bool, err error) {
	all, err := r.ConnectionsOf(who.user.ID)
	for _, c := range all {
		if c.Provider == provider && c.Team == team {
			return c, false, nil
		}
	}
	return conn, true, err
}

// checkConnections holds one more connection against the user's plan.
func (w *Warden) checkConnections(r store.Reader, who Caller) error {
	all, err := r.ConnectionsOf(who.user.ID)
	if err != nil {
		return err
	}
	plan, err := w.planOf(r, store.AccountOfUser(who.user.ID))
	if err != nil {
		return err
	}
	if billing.Exceeds(len(all)+1, plan.Connections) {
		return w.errPlan("The plan %q allows %d connections to hosting providers. Remove one first, or move to a higher plan.", plan.Name, plan.Connections)
	}
	return nil
}

// wakeLinks lets the links of a connection sync again that its end had stopped.
func wakeLinks(tx store.Tx, conn store.Connection) error {
	all, err := tx.LinksThrough(conn.ID)
	for _, l := range all {
		if err != nil {
			return err
		}
		if l.Disabled {
			l.Disabled, l.Failures, l.Next, l.Problem = false, 0, 0, ""
			err = tx.PutSyncLink(l)
		}
	}
	return err
}

// Disconnect removes a connection of the caller's with all links through it. What
// was synced stays at the provider.
func (w *Warden) Disconnect(ctx context.Context, who Caller, ref api.ConnectionRef) error {
	return w.changeSelf(ctx, who, access.ConnectionDelete, func(tx store.Tx, j *journal) error {
		conn, err := connectionOf(tx.Reader, who, ref.ID)
		if errors.Is(err, store.ErrNotFound) {
			return errNoConnection
		}
		if err != nil {
			return err
		}
		j.note("integration_disconnected", map[string]any{"provider": conn.Provider})
		return tx.DeleteConnection(conn)
	})
}

var errNoConnection = api.Errorf(api.NotFound, "You have no such connection.")

// Projects lists what one of the caller's connections reaches.
func (w *Warden) Projects(ctx context.Context, who Caller, ref api.ConnectionRef) (*api.ProviderProjects, error) {
	var conn store.Connection
	err := w.self(ctx, who, access.ProjectList, func(r store.Reader) (err error) {
		if conn, err = connectionOf(r, who, ref.ID); errors.Is(err, store.ErrNotFound) {
			return errNoConnection
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all, err := w.projectsOf(ctx, conn)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoConnection // it went meanwhile
	}
	if err != nil {
		return nil, w.errProvider(ctx, conn.Provider, err)
	}
	return &api.ProviderProjects{Projects: all}, nil
}

func (w *Warden) projectsOf(ctx context.Context, conn store.Connection) ([]api.ProviderProject, error) {
	to, err := w.reach(ctx, conn.ID)
	if err != nil {
		return nil, err
	}
	found, err := asking(ctx, w, to, func(c hosting.Credential) ([]hosting.Project, error) { return to.Projects(ctx, c) })
	out := make([]api.ProviderProject, len(found))
	for i, p := range found {
		out[i] = project(p, conn)
	}
	return out, err
}

func project(p hosting.Project, conn store.Connection) api.ProviderProject {
	out := api.ProviderProject{
		ID: p.ID, Name: p.Name, ServiceID: p.Service, ServiceName: p.ServiceName, LinkedRepo: p.Repository, Framework: p.Framework,
		Environments: []string{}, ConnectionID: conn.ID.String(),
		TeamID: orNull(cmp.Or(p.Team, conn.Team)), TeamName: cmp.Or(p.TeamName, conn.TeamName),
	}
	for _, e := range p.Environments {
		out.Environments = append(out.Environments, e.Name)
	}
	if !p.Created.IsZero() {
		out.CreatedAt = new(api.At(p.Created))
	}
	return out
}

// allProjectsTime bounds the asking of all of somebody's connections.
const allProjectsTime = 25 * time.Second

// AllProjects lists what all of the caller's connections to a provider reach.
// Those that do not answer contribute nothing.
func (w *Warden) AllProjects(ctx context.Context, who Caller, ref api.ProviderRef) (*api.AllProjects, error) {
	out := &api.AllProjects{Projects: []api.ProviderProject{}, Connections: []api.Connection{}}
	var conns []store.Connection
	err := w.self(ctx, who, access.ProjectListAll, func(r store.Reader) error {
		if !knownProvider(ref.Provider) {
			return errProviderOff(ref.Provider)
		}
		all, err := r.ConnectionsOf(who.user.ID)
		for _, c := range all {
			if c.Provider == ref.Provider {
				conns = append(conns, c)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	asked, cancel := context.WithTimeout(ctx, allProjectsTime)
	defer cancel()
	found := make([][]api.ProviderProject, len(conns))
	var all errgroup.Group
	all.SetLimit(4)
	for i, c := range conns {
		all.Go(func() error {
			projects, err := w.projectsOf(asked, c)
			if err != nil {
				w.log.InfoContext(ctx, "a connection showed no projects", "provider", c.Provider, "connection", c.ID.String(), "error", err)
				return nil
			}
			found[i] = projects
			return nil
		})
	}
	_ = all.Wait() // no error ever
	for _, projects := range found {
		out.Projects = append(out.Projects, projects...)
	}
	return out, w.relist(ctx, who, ref.Provider, out)
}

// relist lists connections as they are after they were asked.
func (w *Warden) relist(ctx context.Context, who Caller, provider string, out *api.AllProjects) error {
	return w.self(ctx, who, access.ProjectListAll, func(r store.Reader) error {
		all, err := r.ConnectionsOf(who.user.ID)
		for _, c := range all {
			if c.Provider == provider {
				out.Connections = append(out.Connections, connection(c))
			}
		}
		return err
	})
}

func knownProvider(name string) bool {
	for _, known := range hosting.Names() {
		if known == name {
			return true
		}
	}
	return false
}
