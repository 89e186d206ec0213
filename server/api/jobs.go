package api

// Job is something that the server does by itself, and how its last run went.
type Job struct {
	Name         string  `json:"name"`
	EverySeconds int64   `json:"everySeconds"`
	Running      bool    `json:"running"`
	LastRunAt    *Time   `json:"lastRunAt"` // null when it never ran
	Removed      int     `json:"removed"`   // by the last run, for good
	LastError    *string `json:"lastError"` // null when the last run went well
	NextRunAt    Time    `json:"nextRunAt"`
}

// JobRef names a job in a path.
type JobRef struct {
	Name string `path:"name"`
}

// Check finds nothing wrong: an unknown name is not found.
func (JobRef) Check(*Fields) {}
