package api

import (
	"unicode/utf8"
)

// Provider is a hosting provider that values can be synced with.
type Provider struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"displayName"`
	Configured  bool     `json:"configured"` // the operator did not turn it off
	Methods     []string `json:"methods"`    // "token" and, with an application, "oauth"
}

// Ways to connect to a provider.
const (
	ConnectByToken = "token"
	ConnectByOAuth = "oauth"
)

// Providers lists all there are.
type Providers struct {
	Providers []Provider `json:"providers"`
}

// What has become of a connection.
const (
	ConnectionActive    = "active"
	ConnectionReconnect = "reconnect_required"
)

// Connection is a user's access to a hosting provider, for one team there or for
// the personal account.
type Connection struct {
	ID               string  `json:"id"`
	Provider         string  `json:"provider"`
	ProviderUserID   *string `json:"providerUserId"`
	ProviderTeamID   *string `json:"providerTeamId"`
	ProviderTeamName *string `json:"providerTeamName"`
	Status           string  `json:"status"`
	CreatedAt        Time    `json:"createdAt"`
	UpdatedAt        Time    `json:"updatedAt"`
}

// Connections lists a user's own.
type Connections struct {
	Connections []Connection `json:"connections"`
}

// ConnectionRef names a connection in a path.
type ConnectionRef struct {
	ID string `path:"id" id:"true"`
}

// Check finds nothing wrong: a connection that cannot be is not found.
func (ConnectionRef) Check(*Fields) {}

// ProviderRef names a provider in a path.
type ProviderRef struct {
	Provider string `path:"provider"`
}

// Check finds nothing wrong: a provider that cannot be is not found.
func (ProviderRef) Check(*Fields) {}

// Connect asks to connect with a token that the user made at the provider.
type Connect struct {
	ProviderRef
	Token  Secret `json:"token" need:"true"`
	TeamID string `json:"teamId"`
}

// AuthorizeProvider asks to send a browser to a provider, and says where it is to
// go afterwards. Its credential may stand in the query, too, as ticket or token.
type AuthorizeProvider struct {
	ProviderRef
	RedirectURI string `query:"redirect_uri"`
}

// maxProviderToken and maxProviderID bound what goes into requests to providers.
const (
	maxProviderToken = 4096
	maxProviderID    = 255
)

// Check holds the token and the team against what can be sent on.
func (r Connect) Check(f *Fields) {
	token := r.Token.Reveal()
	switch {
	case token == "":
		f.Add("token", TooShort, "Paste a token that was made at the provider.")
	case len(token) > maxProviderToken:
		f.Add("token", TooLong, "At most %d characters.", maxProviderToken)
	case !printable(token):
		f.Add("token", InvalidFormat, "A token has no spaces and no characters outside ASCII: was it copied whole?")
	}
	f.providerID("teamId", r.TeamID)
}

// providerID holds a name that goes into a provider's address against what such
// names are made of.
func (f *Fields) providerID(field, id string) {
	switch {
	case len(id) > maxProviderID:
		f.Add(field, TooLong, "At most %d characters.", maxProviderID)
	case !printable(id):
		f.Add(field, InvalidFormat, "An id as the provider gives it: no spaces, only ASCII.")
	}
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return utf8.ValidString(s)
}

// Connected answers a new connection, or one that was renewed.
type Connected struct {
	Success      bool           `json:"success"`
	Provider     string         `json:"provider"`
	ConnectionID string         `json:"connectionId"`
	User         ConnectionUser `json:"user"`
}

// ConnectionUser is who a connection acts for at the provider.
type ConnectionUser struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	TeamName string `json:"teamName,omitempty"`
}

// ConnectTicket lets one browser begin to connect, without a credential in its
// address.
type ConnectTicket struct {
	Ticket    Revealed `json:"ticket"`
	ExpiresIn int      `json:"expiresIn"` // seconds
}

// ProviderProject is something at a provider that values can be synced with.
type ProviderProject struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	ServiceID    string   `json:"serviceId,omitempty"`
	ServiceName  string   `json:"serviceName,omitempty"`
	LinkedRepo   string   `json:"linkedRepo,omitempty"`
	Framework    string   `json:"framework,omitempty"`
	Environments []string `json:"environments"`
	CreatedAt    *Time    `json:"createdAt,omitempty"`
	ConnectionID string   `json:"connectionId"`
	TeamID       *string  `json:"teamId"`
	TeamName     string   `json:"teamName,omitempty"`
}

// ProviderProjects lists what a connection reaches.
type ProviderProjects struct {
	Projects []ProviderProject `json:"projects"`
}

// AllProjects lists what all of a user's connections to a provider reach.
type AllProjects struct {
	Projects    []ProviderProject `json:"projects"`
	Connections []Connection      `json:"connections"`
}
