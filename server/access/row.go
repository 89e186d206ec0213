package access

import "strings"

// Kinds is a set of kinds of credentials.
type Kinds uint8

// Kinds of credentials, and the sets that operations admit.
const (
	APIKey   Kinds = 1 << iota
	JWT            // service token of ours
	PAT            // token of the code host
	Session        // session cookie of the web UI
	Operator       // operator socket of the data directory: nobody's, so never among Any

	// OperatorSession is what a Session is besides, when its account may run the
	// instance. The account's other credentials are none: they are kept in files
	// and given to programs.
	OperatorSession

	Any       = APIKey | People
	People    = JWT | PAT | Session
	SignedIn  = JWT | Session
	Minters   = APIKey | SignedIn
	Operators = Operator | OperatorSession
)

// String names the kinds, separated by commas.
func (k Kinds) String() string {
	if k == Any {
		return "any"
	}
	var names []string
	for i, name := range []string{"key", "jwt", "pat", "session", "operator", "operator-session"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Standing is what somebody is to an organization.
type Standing uint8

// Standings, least first. Installer is a member of an organization on which
// our code-host app is installed.
const (
	Outsider Standing = iota
	Member
	Installer
	Owner
)

// String returns the standing in one word.
func (s Standing) String() string {
	return [...]string{"outsider", "member", "installer", "owner"}[s]
}

// TestRule says what a test key may do where a live key might.
type TestRule uint8

// Rules for test keys. Unguarded refuses protected environments: the one
// concerned, and for a change of type also the type it is to have.
const (
	LikeLive TestRule = iota
	Unguarded
	Never
)

// Row is what one operation needs.
type Row struct {
	Name     string   // as in the audit log's operation
	Scopes   Scopes   // one of these; empty if no scope is asked for
	Kinds    Kinds    // credentials admitted
	Role     Role     // least role on the repository: None if it is about none, Read for any role
	Standing Standing // in the organization; beside a Role: this standing will do instead of that role
	Rights   Rights   // in the environment concerned
	Writable bool     // the vault may not be read-only
	Test     TestRule
}

// Denial is why an operation is refused, in the audit log's words; empty if it
// is not.
type Denial string

// Denials. NoRole means that the caller must not learn that the vault exists.
const (
	Granted     Denial = ""
	NoRole      Denial = "no_role"
	RoleTooLow  Denial = "role"
	Environment Denial = "environment"
	ScopeDenied Denial = "scope"
	TestKeyUsed Denial = "test_key"
	PlanDenied  Denial = "plan"
)

// Admit decides what the credential alone decides, before the request is read.
// A kind that is not admitted is refused like a missing scope; of a credential that
// is two at once, one is enough.
func (a Action) Admit(kinds Kinds, scopes Scopes) Denial {
	row := a.Row()
	if kinds&row.Kinds == 0 || row.Scopes != 0 && !scopes.Meets(row.Scopes) {
		return ScopeDenied
	}
	return Granted
}

// Facts are what warden found out about a caller and what the caller wants to
// touch. Rights are those of Resolve; the rule for test keys is applied here.
type Facts struct {
	Role     Role
	Standing Standing
	Rights   Rights
	Type     EnvType // of the environment concerned, or to be; the more protected one of two
	TestKey  bool
	ReadOnly bool // the vault
}

// Decide grants or refuses, in the contract's order: role, right, what test
// keys may not do, plan.
func (a Action) Decide(f Facts) Denial {
	row := a.Row()
	switch {
	case row.Role == None && f.Standing < row.Standing:
		return RoleTooLow
	case row.Role != None && f.Role == None:
		return NoRole
	case f.Role < row.Role && !row.standsIn(f.Standing):
		return RoleTooLow
	case !f.Rights.Cover(row.Rights):
		return Environment
	case f.TestKey && row.refusesTestKey(f):
		return TestKeyUsed
	case f.ReadOnly && row.Writable:
		return PlanDenied
	}
	return Granted
}

func (row Row) standsIn(s Standing) bool {
	return row.Standing != Outsider && s >= row.Standing
}

func (row Row) refusesTestKey(f Facts) bool {
	switch row.Test {
	case Never:
		return true
	case Unguarded:
		return f.Type.effective() == Protected
	}
	return !TestKey(f.Rights, f.Type).Cover(row.Rights)
}
