package warden_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/warden"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// shelf is a hosting provider that keeps variables in memory. Its one project has
// the environments production and preview.
type shelf struct {
	hosting.Description
	mu    sync.Mutex
	vars  map[string]map[string]*shelved // by environment and key
	marks int
	calls []string // "write A", in order
	lists int      // how often it was listed

	token   string   // the one that is good
	teams   []string // besides the personal account, that the token reaches
	down    error
	blind   bool // it lists nothing
	refuse  map[string]hosting.Code
	between func(done int) // before each variable is written or deleted
	stuck   func(ctx context.Context, done int)
}

type shelved struct {
	value  string
	hidden bool
	origin hosting.Origin
	mark   int
}

const goodToken = "the-shelf's-token"

func newShelf() *shelf {
	return &shelf{
		Description: hosting.Description{
			Name: hosting.Vercel, Display: "Shelf", Environments: map[string]string{"production": "production", "staging": "preview", "development": "preview"},
			ReservedPrefixes: []string{"SHELF_"}, MaxValue: 100, MaxKeys: 1000, Reference: "${{",
		},
		vars: map[string]map[string]*shelved{"production": {}, "preview": {}}, token: goodToken, refuse: map[string]hosting.Code{},
	}
}

func (s *shelf) Describe() hosting.Description { return s.Description }

func (s *shelf) says(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *shelf) ask(c hosting.Credential) error {
	if s.down != nil {
		return s.down
	}
	if c.Token.Reveal() != s.token {
		return hosting.ErrCredential
	}
	return nil
}

func (s *shelf) Check(_ context.Context, c hosting.Credential) (hosting.Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Team != "" && !slices.Contains(s.teams, c.Team) {
		return hosting.Account{}, cmp.Or(s.ask(c), hosting.ErrNotFound)
	}
	return hosting.Account{UserID: "u1", UserName: "ann-there", TeamID: c.Team, Kind: "pasted"}, s.ask(c)
}

func (s *shelf) project() hosting.Project {
	return hosting.Project{ID: "p1", Name: "api", Environments: []hosting.Environment{{ID: "e1", Name: "production"}, {ID: "e2", Name: "preview"}}}
}

func (s *shelf) Projects(_ context.Context, c hosting.Credential) ([]hosting.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []hosting.Project{s.project()}, s.ask(c)
}

func (s *shelf) Find(_ context.Context, c hosting.Credential, project, service string) (hosting.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ask(c); err != nil {
		return hosting.Project{}, err
	}
	if project != "p1" || service != "" {
		return hosting.Project{}, hosting.ErrNotFound
	}
	return s.project(), nil
}

func (s *shelf) List(_ context.Context, c hosting.Credential, t hosting.Target) ([]hosting.Variable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ask(c); err != nil {
		return nil, err
	}
	s.lists++
	if s.blind {
		return nil, &hosting.Unavailable{Err: errors.New("blind")}
	}
	var all []hosting.Variable
	for key, v := range s.vars[t.Environment.Name] {
		one := hosting.Variable{Key: key, Readable: !v.hidden, Origin: v.origin, Mark: fmt.Sprint(v.mark)}
		if one.Readable {
			one.Value = api.NewSecret(v.value)
		}
		all = append(all, one)
	}
	return all, nil
}

// put is somebody's setting of a variable.
func (s *shelf) put(environment, key string, v shelved) {
	s.marks++
	v.mark = s.marks
	if v.origin == "" {
		v.origin = hosting.FromUser
	}
	s.vars[environment][key] = &v
}

// pause does what a test wants done before a variable is written or deleted.
func (s *shelf) pause(ctx context.Context, done int) {
	s.mu.Lock()
	between, stuck := s.between, s.stuck
	s.mu.Unlock()
	if between != nil {
		between(done)
	}
	if stuck != nil {
		stuck(ctx, done)
	}
}

func (s *shelf) Write(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Write, done func(hosting.Outcome) error) error {
	for i, w := range all {
		s.pause(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.mu.Lock()
		err := s.ask(c)
		o := hosting.Outcome{Key: w.Key}
		if code, no := s.refuse[w.Key]; no && err == nil {
			o.Err = &hosting.Failure{Code: code}
		} else if err == nil {
			there := s.vars[t.Environment.Name][w.Key]
			s.put(t.Environment.Name, w.Key, shelved{value: w.Value.Reveal(), hidden: there != nil && there.hidden})
			s.calls = append(s.calls, "write "+w.Key)
			o.Mark = fmt.Sprint(s.marks)
			if there != nil && there.hidden {
				o.Mark = "" // it does not say, as some do not
			}
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if err := done(o); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Delete(ctx context.Context, c hosting.Credential, t hosting.Target, all []hosting.Variable, done func(hosting.Outcome) error) error {
	for i, v := range all {
		s.pause(ctx, i)
		s.mu.Lock()
		err := s.ask(c)
		o := hosting.Outcome{Key: v.Key}
		if code, no := s.refuse[v.Key]; no && err == nil {
			o.Err = &hosting.Failure{Code: code}
		} else if err == nil {
			delete(s.vars[t.Environment.Name], v.Key)
			s.calls = append(s.calls, "delete "+v.Key)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if err := done(o); err != nil {
			return err
		}
	}
	return nil
}

// held is what is on the shelf.
func (s *shelf) held(environment string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]string)
	for key, v := range s.vars[environment] {
		all[key] = v.value
	}
	return all
}

func (s *shelf) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *shelf) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// grantor is a shelf at which users can authorize coffer in the browser.
type grantor struct {
	*shelf
	refresh   string        // the one that is good
	code      string        // likewise
	lasts     time.Duration // an access token
	now       func() time.Time
	refreshes int
	busy      error  // what a refresh is answered with instead
	during    func() // a refresh
	spoiled   bool   // what it gives is turned down
}

func (g *grantor) Describe() hosting.Description {
	d := g.Description
	d.OAuth, d.PKCE = true, true
	return d
}

func (g *grantor) AuthorizeURL(state, challenge string) string {
	return "https://shelf.example/authorize?" + url.Values{"state": {state}, "challenge": {challenge}}.Encode()
}

func (g *grantor) Exchange(_ context.Context, callback map[string][]string, verifier string) (hosting.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if code := callback["code"]; len(code) != 1 || code[0] != g.code || verifier == "" {
		return hosting.Grant{}, hosting.ErrCredential
	}
	g.code = ""
	return g.grant(), nil
}

// grant makes a new pair. The old one is dead.
func (g *grantor) grant() hosting.Grant {
	g.refreshes++
	g.token, g.refresh = fmt.Sprintf("CANARY-access-%d", g.refreshes), fmt.Sprintf("CANARY-refresh-%d", g.refreshes)
	given := g.token
	if g.spoiled {
		given = "turned down"
	}
	return hosting.Grant{Access: api.NewSecret(given), Refresh: api.NewSecret(g.refresh), Expires: g.now().Add(g.lasts)}
}

func (g *grantor) Refresh(_ context.Context, refresh api.Secret) (hosting.Grant, error) {
	g.mu.Lock()
	during := g.during
	g.mu.Unlock()
	if during != nil {
		during()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.busy != nil:
		return hosting.Grant{}, g.busy
	case refresh.Reveal() != g.refresh:
		g.refresh = "" // whoever uses an old one ends the whole grant
		return hosting.Grant{}, hosting.ErrCredential
	}
	return g.grant(), nil
}

// dock is a house whose vault can be synced with a shelf: ann is connected.
type dock struct {
	*house
	shelf *shelf
	host  hosting.Provider // the shelf, or a grantor with it
	w     *warden.Warden
	conn  string
}

func newDock(t testing.TB, options ...func(*warden.Config)) *dock {
	t.Helper()
	d := &dock{shelf: newShelf()}
	d.host = d.shelf
	d.house = newHouseWith(t, func(c *warden.Config) {
		c.Hosting = map[string]hosting.Provider{hosting.Vercel: d.host}
		for _, o := range options {
			o(c)
		}
	})
	d.open(kvtest.Twice(d.db))
	made, err := d.w.Connect(t.Context(), d.ann(d.w), api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret(goodToken)})
	must(t, err)
	d.conn = made.ConnectionID
	return d
}

// open starts a process over db, which may fail its users.
func (d *dock) open(db kv.DB) {
	d.t.Helper()
	if d.w = d.warden(db); d.w == nil {
		d.t.Fatal("the house does not open")
	}
}

// fill makes production hold exactly this.
func (d *dock) fill(values map[string]string) {
	d.t.Helper()
	req := pushOf(values)
	mode := api.ModeReplace
	req.Mode = &mode
	must(d.t, second(d.w.Push(d.t.Context(), d.ann(d.w), req)))
}

// ours is what production holds.
func (d *dock) ours() map[string]string {
	d.t.Helper()
	got, err := d.w.Pull(d.t.Context(), d.ann(d.w), api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON})
	must(d.t, err)
	all := make(map[string]string)
	for k, v := range got.Secrets {
		all[k] = string(v)
	}
	return all
}

func (d *dock) query(change ...func(*api.SyncQuery)) api.SyncQuery {
	owner, name, _ := api.SplitRepo(repo)
	q := api.SyncQuery{Ref: api.Ref{Owner: owner, Repo: name}, ConnectionID: d.conn, ProjectID: "p1"}
	for _, c := range change {
		c(&q)
	}
	return q
}

// run is the sync that a query asks about.
func run(q api.SyncQuery) api.StartSync {
	return api.StartSync{
		Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, ServiceID: q.ServiceID, KeywayEnvironment: q.KeywayEnvironment,
		ProviderEnvironment: q.ProviderEnvironment, Direction: q.Direction, AllowDelete: q.AllowDelete, AllowReferences: q.AllowReferences,
	}
}

func (d *dock) preview(q api.SyncQuery) *api.SyncPreview {
	d.t.Helper()
	p, err := d.w.PreviewSync(d.t.Context(), d.ann(d.w), q)
	must(d.t, err)
	return p
}

func (d *dock) sync(q api.SyncQuery) *api.SyncResult {
	d.t.Helper()
	r, err := d.w.Sync(d.t.Context(), d.ann(d.w), run(q))
	must(d.t, err)
	return r
}

func copyOf(m map[string]string) map[string]string { return maps.Clone(m) }

// mortal is a database whose process can be killed: nothing is written or read
// any more.
type mortal struct {
	kv.DB
	dead atomic.Bool
}

func (m *mortal) View(ctx context.Context, fn func(kv.Reader) error) error {
	if m.dead.Load() {
		return kv.ErrClosed
	}
	return m.DB.View(ctx, fn)
}

func (m *mortal) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if m.dead.Load() {
		return kv.ErrClosed
	}
	return m.DB.Update(ctx, fn)
}
