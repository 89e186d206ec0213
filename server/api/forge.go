package api

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
