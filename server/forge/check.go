package forge

import "context"

// Finding is one line of a check of what the operator configured.
type Finding struct {
	What   string // what was tried: "sign-in application"
	Level  string // FindingOK, FindingWarning or FindingFailed
	Detail string // what was seen, and what to do about it; holds no secret
}

// Levels of findings.
const (
	FindingOK      = "ok"
	FindingWarning = "warning"
	FindingFailed  = "failed"
)

// Checker is a forge with a configuration that can be tried.
type Checker interface {
	// Check tries the host's address and every configured credential, and says
	// line by line what works and what is missing.
	Check(ctx context.Context) []Finding
}
