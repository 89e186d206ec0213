package api

import "strconv"

// User is the caller as the caller sees it.
type User struct {
	ID          string  `json:"id"`
	ForgeType   string  `json:"forgeType"`
	ForgeUserID string  `json:"forgeUserId"`
	Username    string  `json:"username"`
	Email       *string `json:"email"`
	AvatarURL   *string `json:"avatarUrl"`
	Plan        string  `json:"plan"`
	CreatedAt   Time    `json:"createdAt"`
}

// ValidatedToken says whose credential it was.
type ValidatedToken struct {
	Username    string `json:"username"`
	ForgeType   string `json:"forgeType"`
	ForgeUserID string `json:"forgeUserId"`
	Plan        string `json:"plan"`
	CreatedAt   Time   `json:"createdAt"`
}

// Usage is what a user's plan allows and what is used of it.
type Usage struct {
	Plan   string     `json:"plan"`
	Limits PlanLimits `json:"limits"`
	Usage  UsageCount `json:"usage"`
}

// Limit is a number, or "unlimited" when negative.
type Limit int

// Unlimited is the limit that is none.
const Unlimited Limit = -1

// MarshalJSON writes the number or the word.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l < 0 {
		return []byte(`"unlimited"`), nil
	}
	return strconv.AppendInt(nil, int64(l), 10), nil
}

// UnmarshalJSON reads the number or the word.
func (l *Limit) UnmarshalJSON(b []byte) error {
	if string(b) == `"unlimited"` {
		*l = Unlimited
		return nil
	}
	n, err := strconv.Atoi(string(b))
	*l = Limit(n)
	return err
}

// PlanLimits are the limits of a plan that usage is shown against.
type PlanLimits struct {
	MaxPublicRepos            Limit `json:"maxPublicRepos"`
	MaxPrivateRepos           Limit `json:"maxPrivateRepos"`
	MaxProviders              Limit `json:"maxProviders"`
	MaxEnvironmentsPerVault   Limit `json:"maxEnvironmentsPerVault"`
	MaxSecretsPerPrivateVault Limit `json:"maxSecretsPerPrivateVault"`
}

// UsageCount counts vaults on the user's account, and provider connections.
type UsageCount struct {
	Public    int `json:"public"`
	Private   int `json:"private"`
	Providers int `json:"providers"`
}

// ListActivity asks for a page of the caller's own activity.
type ListActivity struct{ Page }

// Check holds the page against its bounds.
func (r ListActivity) Check(f *Fields) { r.Page.check(f, MaxPage) }

// ListVaultActivity asks for a page of everyone's activity in a vault.
type ListVaultActivity struct {
	PageRef
	Action      string `query:"action"`
	Environment string `query:"environment"`
	Actor       string `query:"actor"`
}

// Activity is one record of the audit log.
type Activity struct {
	ID           string         `json:"id"`
	Action       string         `json:"action"`
	VaultID      *string        `json:"vaultId"`
	RepoFullName *string        `json:"repoFullName"`
	Actor        *Actor         `json:"actor"`
	Platform     string         `json:"platform"`
	Metadata     map[string]any `json:"metadata"`
	IP           *string        `json:"ip"`
	UserAgent    *string        `json:"userAgent"`
	Timestamp    Time           `json:"timestamp"`
}

// Actor is who did something. The id is null once the user is gone; the name is
// the one of that time.
type Actor struct {
	ID        *string `json:"id"`
	Username  string  `json:"username"`
	AvatarURL *string `json:"avatarUrl"`
}
