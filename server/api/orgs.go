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

// Org is an organization as its members see it. It names nobody's e-mail.
type Org struct {
	ID          string  `json:"id"`
	ForgeType   string  `json:"forgeType"`
	ForgeOrgID  string  `json:"forgeOrgId"`
	Login       string  `json:"login"`
	DisplayName *string `json:"displayName"`
	AvatarURL   *string `json:"avatarUrl"`
	Plan        string  `json:"plan"`
	Role        string  `json:"role"`
	MemberCount int     `json:"memberCount"`
	VaultCount  int     `json:"vaultCount"`
	CreatedAt   Time    `json:"createdAt"`
	UpdatedAt   Time    `json:"updatedAt"`
}

// OrgDetail is an organization with its rules and its plan.
type OrgDetail struct {
	Org
	EffectivePlan      string `json:"effectivePlan"`
	DefaultPermissions Matrix `json:"defaultPermissions"`
	Trial              Trial  `json:"trial"`
	TrialDurationDays  int    `json:"trialDurationDays"`
}

// Trial is what an organization's one trial has come to.
type Trial struct {
	HasStarted        bool   `json:"hasStarted"`
	IsActive          bool   `json:"isActive"`
	DaysRemaining     int    `json:"daysRemaining"`
	StartedAt         *Time  `json:"startedAt"`
	EndsAt            *Time  `json:"endsAt"`
	Status            string `json:"status"`
	ConvertedAt       *Time  `json:"convertedAt"`
	TrialDurationDays int    `json:"trialDurationDays"`
}

// What a trial may have come to.
const (
	TrialNone      = "none"
	TrialActive    = "active"
	TrialExpired   = "expired"
	TrialConverted = "converted"
)

// OrgMember is somebody on an organization's roster. Who has no account here is
// named by the code host's id.
type OrgMember struct {
	ID        string  `json:"id"`
	Username  string  `json:"username"`
	AvatarURL *string `json:"avatarUrl"`
	Role      string  `json:"role"`
	JoinedAt  *Time   `json:"joinedAt"`
	OnKeyway  bool    `json:"onKeyway"`
}

// SyncedMembers answers the reading of a roster: how many of the people with an
// account here came, changed and left.
type SyncedMembers struct {
	Message string `json:"message"`
	Added   int    `json:"added"`
	Updated int    `json:"updated"`
	Removed int    `json:"removed"`
}
