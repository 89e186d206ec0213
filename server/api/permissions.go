package api

// Permission is what may be done in an environment.
type Permission struct {
	Read  bool `json:"read"`
	Write bool `json:"write"`
}

// Matrix says for each role and environment type what may be done, in the names
// "read" and "write". Any level may be absent.
type Matrix map[string]map[string]map[string]bool

func (m Matrix) check(f *Fields, field string) {
	for role, types := range m {
		at := field + "." + role
		f.oneOf(at, role, Roles...)
		for kind, rights := range types {
			f.oneOf(at+"."+kind, kind, "protected", "standard", "development")
			for right := range rights {
				f.oneOf(at+"."+kind+"."+right, right, "read", "write")
			}
		}
	}
}

// Roles are the roles that somebody may have on a repository, weakest first.
var Roles = []string{"read", "triage", "write", "maintain", "admin"}

// EffectivePermissions is what the caller may do in a vault, by environment.
type EffectivePermissions struct {
	Role        string                `json:"role"`
	Permissions map[string]Permission `json:"permissions"`
}

// DefaultPermissions is what holds in a vault where no override says otherwise.
type DefaultPermissions struct {
	Matrix      Matrix `json:"matrix"`
	Description string `json:"description"`
}

// Override sets what one user, or everybody with one role, may do in one
// environment, or with "*" in all.
type Override struct {
	ID          string  `json:"id"`
	Environment string  `json:"environment"`
	TargetType  string  `json:"targetType"`
	TargetUser  *Person `json:"targetUser"`
	TargetRole  *string `json:"targetRole"`
	CanRead     bool    `json:"canRead"`
	CanWrite    bool    `json:"canWrite"`
	CreatedBy   *Author `json:"createdBy"`
	CreatedAt   Time    `json:"createdAt"`
	UpdatedAt   Time    `json:"updatedAt"`
}

// Author is who made something.
type Author struct {
	ID       string `json:"id"`
	Username string `json:"username"`
}

// Overrides lists a vault's overrides, and what holds without them.
type Overrides struct {
	Overrides []Override `json:"overrides"`
	Defaults  Matrix     `json:"defaults"`
}

// CreateOverride asks for an override for a user or for a role.
type CreateOverride struct {
	Ref
	Environment  string  `json:"environment" need:"true"`
	TargetType   string  `json:"targetType" need:"true"`
	TargetUserID *string `json:"targetUserId"`
	TargetRole   *string `json:"targetRole"`
	CanRead      bool    `json:"canRead" need:"true"`
	CanWrite     bool    `json:"canWrite" need:"true"`
}

// Check wants exactly the target that the type names.
func (r CreateOverride) Check(f *Fields) {
	r.Ref.Check(f)
	if r.Environment != "*" {
		f.environment("environment", r.Environment)
	}
	f.oneOf("targetType", r.TargetType, "user", "role")
	switch {
	case r.TargetType == "user" && r.TargetUserID == nil:
		f.Add("targetUserId", Required, "The id of the user that it is for.")
	case r.TargetType == "user" && r.TargetRole != nil:
		f.Add("targetRole", NotAllowed, "An override for a user names no role.")
	case r.TargetType == "role" && r.TargetRole == nil:
		f.Add("targetRole", Required, "The role that it is for.")
	case r.TargetType == "role" && r.TargetUserID != nil:
		f.Add("targetUserId", NotAllowed, "An override for a role names no user.")
	}
	if r.TargetRole != nil {
		f.oneOf("targetRole", *r.TargetRole, Roles...)
	}
}

// CreatedOverride is an override that was made just now.
type CreatedOverride struct{ Override }

// Created says that something new was made; an override has no address to read it at.
func (CreatedOverride) Created() (bool, string) { return true, "" }

// OverrideRef names an override in a path.
type OverrideRef struct {
	Ref
	OverrideID string `path:"id" id:"true"`
}

// UpdateOverride asks to change an override's rights.
type UpdateOverride struct {
	OverrideRef
	CanRead  *bool `json:"canRead"`
	CanWrite *bool `json:"canWrite"`
}

// Check wants something to change.
func (r UpdateOverride) Check(f *Fields) {
	r.Ref.Check(f)
	if r.CanRead == nil && r.CanWrite == nil && !f.Has("canRead") && !f.Has("canWrite") {
		f.Add("canRead", Required, "Give canRead, canWrite or both.")
	}
}

// Deleted answers the removal of something.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

// ResetOverrides answers the removal of all overrides of a vault.
type ResetOverrides struct {
	Message  string `json:"message"`
	Defaults Matrix `json:"defaults"`
}
