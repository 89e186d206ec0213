package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// vercel is vercel.com.
//
// A variable there is a record, and a record may serve several targets at once:
// production, preview, development, and environments of the project's own making,
// which go by id. One key may have several records, as long as no two of them
// serve the same target. A record for a branch is of no target of ours.
//
// API: https://vercel.com/docs/rest-api
type vercel struct {
	config Config
	api    *wire
}

// Targets that every project has. Their ids are their names.
var vercelTargets = []string{"production", "preview", "development"}

// newVercel makes the client of vercel.com, or of what c says is in its place.
func newVercel(c Config) (Provider, error) {
	api, err := newWire(c, "https://api.vercel.com")
	if err != nil {
		return nil, err
	}
	v := &vercel{config: c, api: api}
	api.judge = v.judge
	if v.oauth() {
		return vercelOAuth{v}, nil
	}
	return v, nil
}

// oauth reports whether an integration is configured: its address has the slug,
// and redeeming a code needs the rest.
func (v *vercel) oauth() bool { return v.config.ClientID != "" && v.config.Slug != "" }

// Describe says what holds for Vercel.
func (v *vercel) Describe() Description {
	return Description{
		Name: Vercel, Display: "Vercel",
		Environments: map[string]string{
			"production": "production", "staging": "preview", "development": "development", "dev": "development",
		},
		ReservedPrefixes: []string{"VERCEL_", "NEXT_PUBLIC_VERCEL_"},
		MaxValue:         64 << 10, // names and values of a deployment together
		MaxKeys:          1000,
		NeedsTeam:        true,
		OAuth:            v.oauth(),
	}
}

// vercelError is what a refusal says: an object with a code or, from the OAuth
// side, the code alone.
type vercelError struct {
	Code         string `json:"code"`
	InvalidToken bool   `json:"invalidToken"`
	MissingToken bool   `json:"missingToken"`
}

// UnmarshalJSON takes both.
func (e *vercelError) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &e.Code) == nil {
		return nil
	}
	type object vercelError
	return json.Unmarshal(text, (*object)(e))
}

// vercelSaid is the error in an answer, or the zero one.
func vercelSaid(a *answer) vercelError {
	var said struct {
		Error vercelError `json:"error"`
	}
	if a == nil || json.Unmarshal(a.Body, &said) != nil {
		return vercelError{}
	}
	return said.Error
}

// judge explains refusals by Vercel's codes.
func (v *vercel) judge(a *answer) error {
	said := vercelSaid(a)
	switch said.Code {
	case "challenge_required", "challenge_required_email_otp", "user_auth_required":
		return ErrCredential // the user is to confirm who they are, and we cannot
	}
	if said.InvalidToken || said.MissingToken {
		return ErrCredential // with status 403
	}
	code, ok := vercelCodes[strings.ToUpper(said.Code)]
	switch {
	case !ok:
		return nil
	case code == CodeNotFound:
		return ErrNotFound
	default:
		return &Failure{Code: code, RequestID: a.requestID()}
	}
}

// vercelCodes are Vercel's codes for what is wrong with a variable, upper case.
var vercelCodes = map[string]Code{
	"ENV_ALREADY_EXISTS":      CodeConflict,
	"ENV_CONFLICT":            CodeConflict,
	"EXISTING_KEY_AND_TARGET": CodeConflict,
	"INVALID_KEY":             CodeInvalidKey,
	"KEY_INVALID_CHARACTERS":  CodeInvalidKey,
	"KEY_INVALID_LENGTH":      CodeInvalidKey,
	"INVALID_VALUE":           CodeInvalid,
	"VALUE_INVALID_LENGTH":    CodeTooLarge,
	"KEY_RESERVED":            CodeReserved,
	"RESERVED_ENV_VARIABLE":   CodeReserved,
	"MAX_ENVS_EXCEEDED":       CodeLimit,
	"NOT_AUTHORIZED":          CodeForbidden,
	"FORBIDDEN":               CodeForbidden,
	"NOT_DECRYPTABLE":         CodeForbidden,
	"TEAM_NOT_FOUND":          CodeNotFound,
	"ID_NOT_FOUND":            CodeNotFound,
}

// scope is the team that a question is about, which every call has to say.
func (v *vercel) scope(team string) url.Values {
	q := url.Values{}
	if team != "" {
		q.Set("teamId", team)
	}
	return q
}

// Check says whose a token is.
func (v *vercel) Check(ctx context.Context, c Credential) (Account, error) {
	var said struct {
		User struct {
			ID       string `json:"id"`
			Username string `json:"username"`
		} `json:"user"`
	}
	a, err := v.api.ask(ctx, call{path: "/v2/user", cred: c}, &said)
	if err != nil {
		return Account{}, err
	}
	if said.User.ID == "" {
		return Account{}, a.senseless()
	}
	account := Account{UserID: said.User.ID, UserName: said.User.Username}
	if c.Team == "" {
		return account, nil
	}
	var team vercelTeam
	a, err = v.api.ask(ctx, call{path: "/v2/teams/" + segment(c.Team), cred: c}, &team)
	if err != nil {
		return Account{}, beyond(err)
	}
	if team.ID == "" {
		return Account{}, a.senseless()
	}
	account.TeamID, account.TeamName = team.ID, team.Name
	return account, nil
}

// beyond turns a refusal into "not found": what a credential does not reach is
// answered in either way.
func beyond(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok && f.Code == CodeForbidden {
		return ErrNotFound
	}
	return err
}

type vercelTeam struct {
	ID   string `json:"id"` // "" is the personal account
	Name string `json:"name"`
}

// teams are where projects are: the credential's own team, or all that its user
// is in and the personal account after them.
func (v *vercel) teams(ctx context.Context, c Credential) ([]vercelTeam, error) {
	if c.Team != "" {
		return []vercelTeam{{ID: c.Team}}, nil
	}
	var all []vercelTeam
	q := call{path: "/v2/teams", query: url.Values{"limit": {"100"}}, cred: c}
	err := v.pages(ctx, q, "until", func(a *answer) (vercelPage, error) {
		var page struct {
			vercelPage
			Teams []vercelTeam `json:"teams"`
		}
		if err := a.decode(&page); err != nil {
			return vercelPage{}, err
		}
		if page.Teams == nil || slices.ContainsFunc(page.Teams, func(t vercelTeam) bool { return t.ID == "" }) {
			return vercelPage{}, a.senseless()
		}
		all = append(all, page.Teams...)
		return page.vercelPage, nil
	})
	if errors.Is(beyond(err), ErrNotFound) {
		return []vercelTeam{{}}, nil // the token reaches no team
	}
	return append(all, vercelTeam{}), err
}

// vercelPage is what every page of a list says of the next one.
type vercelPage struct {
	Pagination *struct {
		Next any `json:"next"` // a number, a text, or null
	} `json:"pagination"`
}

// pages asks for a list page by page. The parameter that asks for the next page
// is on.
func (v *vercel) pages(ctx context.Context, q call, on string, take func(*answer) (vercelPage, error)) error {
	seen := map[string]bool{}
	for range maxPages {
		a, err := v.api.do(ctx, q)
		if err != nil {
			return err
		}
		page, err := take(a)
		if err != nil {
			return err
		}
		if page.Pagination == nil {
			return a.senseless()
		}
		next, err := json.Marshal(page.Pagination.Next)
		text := strings.Trim(string(next), `"`)
		if err != nil || text == "null" || text == "" {
			return err
		}
		if seen[text] {
			break
		}
		seen[text] = true
		q.query.Set(on, text)
	}
	return &Unavailable{Err: errors.New("its list does not end")}
}
