package hosting

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// railway is railway.com. Its API is GraphQL: one address for everything, and most
// refusals have the status 200.
//
// An environment of a project holds variables of each service, and others that
// the services share: those are a project without a service. A value may refer to
// other variables, and is always asked for as it was written: what it stands for
// would, written back, be the end of the reference.
//
// API: https://docs.railway.com/integrations/api
type railway struct {
	config Config
	api    *wire
}

const railwayHost = "https://backboard.railway.com"

// Kinds of tokens. Nothing in a token tells which it is.
const (
	railwayAccount   = "account"   // of a user, as are those that users authorize
	railwayWorkspace = "workspace" // of a workspace, and of no user
	railwayOne       = "project"   // of one environment of one project
)

// newRailway makes the client of railway.com, or of what c says is in its place.
func newRailway(c Config) (Provider, error) {
	api, err := newWire(c, railwayHost)
	if err != nil {
		return nil, err
	}
	api.sign = func(h http.Header, c Credential) {
		if c.Kind == railwayOne {
			h.Set("Project-Access-Token", c.Token.Reveal())
			return
		}
		h.Set("Authorization", "Bearer "+c.Token.Reveal())
	}
	api.judge = func(a *answer) error {
		if a.Status/100 != 4 {
			return nil
		}
		return railwayRefusal(a)
	}
	r := &railway{c, api}
	if c.ClientID != "" {
		return railwayOAuth{r}, nil
	}
	return r, nil
}

// Describe says what holds for Railway. It publishes no limits for variables.
func (r *railway) Describe() Description {
	return Description{
		Name: Railway, Display: Display(Railway),
		Environments: map[string]string{
			"production": "production", "staging": "staging", "development": "development", "dev": "development",
		},
		ReservedPrefixes: []string{"RAILWAY_"},
		Reference:        "${{",
	}
}

// railwayOp is an operation that Railway is asked to carry out. Doing any of ours
// twice does no more than doing it once.
type railwayOp struct {
	name    string // as in its text
	text    string
	changes bool
}

// ask has an operation carried out and reads its data.
func (r *railway) ask(ctx context.Context, c Credential, op railwayOp, variables map[string]any, data any) error {
	err := r.send(ctx, c, op, variables, data)
	if !railwayDenied(err) {
		return err
	}
	// A token that has ended is turned down in the same words as one that does not
	// reach so far. What every token may ask tells them apart.
	if _, gone := r.holder(ctx, c); gone != nil {
		return gone
	}
	if op.changes {
		return err
	}
	return ErrNotFound
}

// railwayDenied reports whether a credential was not enough for what was asked.
func railwayDenied(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Code == CodeForbidden
}

// send sends an operation. It is named in the address as well: a firewall soon
// throttles what comes without a query there.
func (r *railway) send(ctx context.Context, c Credential, op railwayOp, variables map[string]any, data any) error {
	a, err := r.api.do(ctx, call{
		method: http.MethodPost, path: "/graphql/v2", query: url.Values{"query": {op.name}}, cred: c, again: true,
		json: map[string]any{"query": op.text, "operationName": op.name, "variables": variables},
	})
	if err != nil {
		return err
	}
	if err := railwayRefusal(a); err != nil {
		return err
	}
	return a.decode(&struct{ Data any }{data})
}

// railwayRefusal is what the errors in an answer stand for, or nil if it holds
// none.
func railwayRefusal(a *answer) error {
	var said struct {
		Errors []struct {
			Message    string
			TraceID    string `json:"traceId"`
			Extensions struct{ Code string }
		}
	}
	if err := a.decode(&said); err != nil {
		if a.Status/100 == 2 {
			return err
		}
		return nil
	}
	if len(said.Errors) == 0 {
		return nil
	}
	first := said.Errors[0]
	id := a.requestID()
	if len(first.TraceID) <= 128 && !strings.ContainsFunc(first.TraceID, odd) {
		id = cmp.Or(first.TraceID, id)
	}
	text := strings.ToLower(first.Message)
	switch {
	case strings.Contains(text, "not authorized"), strings.Contains(text, "unauthorized"):
		return &Failure{Code: CodeForbidden, RequestID: id}
	case strings.Contains(text, "not found"):
		return ErrNotFound
	case first.Extensions.Code == "BAD_USER_INPUT":
		return &Failure{Code: CodeRefused, RequestID: id}
	case strings.HasPrefix(first.Extensions.Code, "GRAPHQL_"):
		return &Unavailable{RequestID: id, Err: errors.New("it does not understand the question; its API has changed, and a newer coffer may know how to ask")}
	}
	return &Unavailable{RequestID: id, Err: errors.New("it failed to carry out what it was asked")}
}

// railwayHolder is whose a credential is.
type railwayHolder struct {
	kind       string
	id, name   string // of the user, of an account only
	workspaces []railwayTeam
	one        *railwayScope // of a project's token only
}

type railwayTeam struct{ ID, Name string }

// railwayScope is what a project's token reaches.
type railwayScope struct {
	Environment struct{ ID, Name string }
	Project     railwayProject
}

// holder says whose a credential is. Who may not even ask that has none that is
// good.
func (r *railway) holder(ctx context.Context, c Credential) (railwayHolder, error) {
	probes := map[string]func(context.Context, Credential) (railwayHolder, error){
		railwayAccount: r.account, railwayWorkspace: r.workspace, railwayOne: r.scope,
	}
	for _, kind := range []string{railwayAccount, railwayWorkspace, railwayOne} {
		if c.Kind != "" && c.Kind != kind {
			continue
		}
		as := c
		as.Kind = kind
		if h, err := probes[kind](ctx, as); !railwayDenied(err) {
			h.kind = kind
			return h, err
		}
	}
	return railwayHolder{}, ErrCredential
}

var (
	railwayMe = railwayOp{name: "me", text: `query me { me { id name username email workspaces { id name } } }`}

	railwayToken = railwayOp{name: "apiToken", text: `query apiToken { apiToken { workspaces { id name } } }`}

	railwayProjectToken = railwayOp{name: "projectToken", text: `query projectToken {
		projectToken { environment { id name } project { ...whole } }
	}` + railwayWhole}
)

func (r *railway) account(ctx context.Context, c Credential) (railwayHolder, error) {
	var said struct {
		Me struct {
			ID, Name, Username, Email string
			Workspaces                *[]railwayTeam
		}
	}
	err := r.send(ctx, c, railwayMe, nil, &said)
	if err == nil && (said.Me.ID == "" || said.Me.Workspaces == nil) {
		err = errRailwayHollow
	}
	if err != nil {
		return railwayHolder{}, err
	}
	me := said.Me
	return railwayHolder{id: me.ID, name: cmp.Or(me.Username, me.Name, me.Email, me.ID), workspaces: *me.Workspaces}, nil
}

func (r *railway) workspace(ctx context.Context, c Credential) (railwayHolder, error) {
	var said struct {
		APIToken struct{ Workspaces []railwayTeam }
	}
	err := r.send(ctx, c, railwayToken, nil, &said)
	if err == nil && len(said.APIToken.Workspaces) == 0 {
		err = errRailwayHollow
	}
	return railwayHolder{workspaces: said.APIToken.Workspaces}, err
}

func (r *railway) scope(ctx context.Context, c Credential) (railwayHolder, error) {
	var said struct{ ProjectToken railwayScope }
	err := r.send(ctx, c, railwayProjectToken, nil, &said)
	if err == nil && (said.ProjectToken.Environment.ID == "" || said.ProjectToken.Project.ID == "") {
		err = errRailwayHollow
	}
	return railwayHolder{one: &said.ProjectToken}, err
}

var errRailwayHollow = &Unavailable{Err: errors.New("its answer leaves out what it should hold")}

// Check says whose a token is, and of which kind. A project's token is nobody's:
// its team is the environment that it is for, so that a user may have one for each.
func (r *railway) Check(ctx context.Context, c Credential) (Account, error) {
	h, err := r.holder(ctx, c)
	if err != nil {
		return Account{}, err
	}
	teams := h.workspaces
	if h.one != nil {
		teams = []railwayTeam{{h.one.Environment.ID, h.one.Project.Name + " (" + h.one.Environment.Name + ")"}}
	}
	a := Account{UserID: h.id, UserName: h.name, Kind: h.kind}
	switch {
	case c.Team != "":
		i := slices.IndexFunc(teams, func(t railwayTeam) bool { return t.ID == c.Team })
		if i < 0 {
			return Account{}, ErrNotFound
		}
		a.TeamID, a.TeamName = teams[i].ID, teams[i].Name
	case h.kind != railwayAccount: // an account's projects are in all of its workspaces
		a.TeamID, a.TeamName = teams[0].ID, teams[0].Name
	}
	return a, nil
}
