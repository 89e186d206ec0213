package access

import "fmt"

// Role is what somebody may do on a repository at the code host.
type Role uint8

// Roles, weakest first. None is the absence of a role.
const (
	None Role = iota
	Read
	Triage
	Write
	Maintain
	Admin
)

var roleNames = [...]string{None: "none", Read: "read", Triage: "triage", Write: "write", Maintain: "maintain", Admin: "admin"}

// Roles returns the roles that exist on the wire, weakest first.
func Roles() []Role { return []Role{Read, Triage, Write, Maintain, Admin} }

// String returns the wire name.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// ParseRole reads a wire name. None has no wire name.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if roleNames[r] == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("no role %q: one of read, triage, write, maintain, admin", name)
}

// MarshalText writes the wire name, so that a Role can be a key of a JSON object.
func (r Role) MarshalText() ([]byte, error) {
	if r == None || r > Admin {
		return nil, fmt.Errorf("access: no wire name for %s", r)
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a wire name.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}
