package api

// ForgeStatus is the code host that an instance is bound to.
type ForgeStatus struct {
	Kind       string `json:"kind"`
	URL        string `json:"url,omitempty"` // "" for the built-in one
	Credential string `json:"credential"`    // ForgeAskedBy…: by whose rights the host is asked
}

// By whose rights the code host is asked.
const (
	ForgeAskedByApp   = "app"   // an application's, registered there
	ForgeAskedByToken = "token" // the operator's
	ForgeAskedByUsers = "users" // those of each user, who signed in there
	ForgeAskedByNone  = "none"  // the built-in one: nobody's are needed
)

// ForgeCheck says what works of the binding to the code host, and what does not.
type ForgeCheck struct {
	Kind     string    `json:"kind"`
	URL      string    `json:"url"`      // "" for the built-in one
	Findings []Finding `json:"findings"` // none for the built-in one
}

// Finding is what came of trying one thing.
type Finding struct {
	What   string `json:"what"`
	Level  string `json:"level"` // FindingOK, FindingWarning or FindingFailed
	Detail string `json:"detail"`
}

// Levels of findings.
const (
	FindingOK      = "ok"
	FindingWarning = "warning"
	FindingFailed  = "failed"
)
