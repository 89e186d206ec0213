package api

// Session is one sign-in of the caller.
type Session struct {
	ID         string  `json:"id"`
	CreatedAt  Time    `json:"createdAt"`
	LastUsedAt *Time   `json:"lastUsedAt"`
	ExpiresAt  Time    `json:"expiresAt"`
	IP         *string `json:"ip"`
	UserAgent  *string `json:"userAgent"`
	Current    bool    `json:"current"`
}

// Sessions lists the caller's sessions, newest first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// SignIn asks the operator's instance to sign a user in without a password.
type SignIn struct {
	Username string `json:"username" need:"true"`
}

// Check finds nothing wrong: an unknown name is the operation's to refuse.
func (SignIn) Check(*Fields) {}

// SignedIn carries a service token, the only time it is shown.
type SignedIn struct {
	Token     Revealed `json:"token"`
	Username  string   `json:"username"`
	ExpiresAt Time     `json:"expiresAt"`
}
