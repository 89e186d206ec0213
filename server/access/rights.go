package access

// Rights is what somebody may do with the secrets of one environment.
type Rights struct {
	Read, Write bool
}

// Cover reports whether r has every right of needed.
func (r Rights) Cover(needed Rights) bool {
	return (r.Read || !needed.Read) && (r.Write || !needed.Write)
}

// Matrix returns the rights that a role has when nothing else decides.
func Matrix(role Role, t EnvType) Rights {
	guarded := t.effective() == Protected
	switch role {
	case Read, Triage:
		return Rights{Read: !guarded}
	case Write, Maintain:
		return Rights{Read: true, Write: !guarded}
	case Admin:
		return Rights{Read: true, Write: true}
	}
	return Rights{}
}

// Everywhere is the Environment of an override that holds for all of a vault.
const Everywhere = "*"

// Override sets both rights of one user, or of everybody with exactly one
// role, in one environment or everywhere in a vault. UserID is empty in an
// override for a role.
type Override struct {
	Environment string
	UserID      string
	Role        Role
	Rights      Rights
}

// Choice is what an organization's defaults say for a role and type; nil
// leaves a right to the matrix.
type Choice struct {
	Read, Write *bool
}

// Defaults are an organization's default permissions; any level may be absent.
type Defaults map[Role]map[EnvType]Choice

// MatrixDefaults returns the matrix in the shape of Defaults.
func MatrixDefaults() Defaults {
	all := make(Defaults)
	for _, role := range Roles() {
		all[role] = make(map[EnvType]Choice)
		for _, t := range EnvTypes() {
			r := Matrix(role, t)
			all[role][t] = Choice{Read: &r.Read, Write: &r.Write}
		}
	}
	return all
}

// Subject is somebody in front of an environment. UserID is our user's id.
type Subject struct {
	Role        Role
	UserID      string
	Environment string
	Type        EnvType
}

// Resolve returns the subject's rights. The first of these decides: an
// override for the user here, for the user everywhere, for the role here, for
// the role everywhere, the organization's default for that right, the matrix.
func Resolve(s Subject, overrides []Override, defaults Defaults) Rights {
	if s.Role == None {
		return Rights{}
	}
	best := len(overrides)
	bestRank := noOverride
	for i, o := range overrides {
		if rank := o.rank(s); rank < bestRank {
			best, bestRank = i, rank
		}
	}
	if bestRank < noOverride {
		return overrides[best].Rights
	}
	rights := Matrix(s.Role, s.Type)
	choice := defaults[s.Role][s.Type]
	if choice.Read != nil {
		rights.Read = *choice.Read
	}
	if choice.Write != nil {
		rights.Write = *choice.Write
	}
	return rights
}

const noOverride = 4

// rank returns the override's place in the order of decision, or noOverride if
// it does not concern the subject.
func (o Override) rank(s Subject) int {
	rank := 0
	switch {
	case o.UserID != "":
		if o.UserID != s.UserID {
			return noOverride
		}
	case o.Role == s.Role:
		rank = 2
	default:
		return noOverride
	}
	switch o.Environment {
	case s.Environment:
		return rank
	case Everywhere:
		return rank + 1
	}
	return noOverride
}

// TestKey returns what a test key leaves of its owner's rights: nothing in
// protected environments.
func TestKey(rights Rights, t EnvType) Rights {
	if t.effective() == Protected {
		return Rights{}
	}
	return rights
}
