package forge

import (
	"errors"
	"time"
)

// Faults of a webhook's delivery.
var (
	ErrNoSecret    = errors.New("no webhook secret is configured")
	ErrNoSignature = errors.New("the delivery is not signed, or has no id or event name")
	ErrSignature   = errors.New("the delivery's signature is wrong")
)

// Delivery is a webhook's request. Header returns a request header, or "".
type Delivery struct {
	Header func(name string) string
	Body   []byte // as it came over the wire
	At     time.Time
}

// Topic is what a webhook is about.
type Topic string

// The topics. An event is only a hint to ask again: it never carries a role.
const (
	Ignored      Topic = ""
	RolesChanged Topic = "roles"       // of Repo, of User, or where neither is named of everybody
	RosterChange Topic = "roster"      // of Org; roles with it
	RepoChanged  Topic = "repository"  // renamed, transferred, published, hidden, archived
	RepoDeleted  Topic = "deleted"     // said to be gone
	UserChanged  Topic = "user"        // renamed, blocked, deleted, withdrew the grant
	AppInstalled Topic = "installed"   // on Org, an account; or its repositories changed
	AppRemoved   Topic = "uninstalled" // from Org, an account; or suspended
)

// Event is what a delivery says, without its claims about who may do what.
type Event struct {
	ID    string // of the delivery
	Topic Topic
	Name  string // the host's name of the event, for logs
	Repo  string // immutable id of the repository concerned, or ""
	Org   string // immutable id of the organization or account concerned, or ""
	Login string // name of Org
	User  string // immutable id of the user concerned, or ""
}

// Hooks is a forge that sends webhooks.
type Hooks interface {
	// Event checks a delivery's signature and says what it is about. Without a
	// configured secret it is ErrNoSecret, without the headers ErrNoSignature,
	// with a wrong signature ErrSignature, a body that cannot be understood
	// another error.
	Event(d Delivery) (Event, error)
}
