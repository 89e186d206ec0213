package api

import "unicode/utf8"

// OrgRef names an organization in a path.
type OrgRef struct {
	Org string `path:"org"`
}

// Check finds nothing wrong: an organization that cannot be is not found.
func (OrgRef) Check(*Fields) {}

// UpdateOrg asks to change what an organization is called and what its roles may
// do by default. DisplayName null takes the name away.
type UpdateOrg struct {
	OrgRef
	DisplayName        Nullable `json:"displayName" null:"true"`
	DefaultPermissions Matrix   `json:"defaultPermissions"`
}

// Nullable is a text that may be given as null, which is not the same as absent.
type Nullable struct {
	Given bool
	Text  *string
}

// Check wants something to change, and holds it against its rules.
func (r UpdateOrg) Check(f *Fields) {
	if !r.DisplayName.Given && r.DefaultPermissions == nil && !f.Has("displayName") && !f.Has("defaultPermissions") {
		f.Add("displayName", Required, "Give displayName, defaultPermissions or both.")
	}
	if name := r.DisplayName.Text; name != nil {
		switch n := utf8.RuneCountInString(*name); {
		case n == 0:
			f.Add("displayName", TooShort, "At least one character, or null for none.")
		case n > 100:
			f.Add("displayName", TooLong, "At most 100 characters.")
		}
	}
	r.DefaultPermissions.check(f, "defaultPermissions")
}

// UpdatedOrg answers a change of an organization.
type UpdatedOrg struct {
	ID                 string  `json:"id"`
	Login              string  `json:"login"`
	DisplayName        *string `json:"displayName"`
	DefaultPermissions Matrix  `json:"defaultPermissions"`
	UpdatedAt          Time    `json:"updatedAt"`
}
