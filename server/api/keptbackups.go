package api

// ListBackups asks for the backups that the server made by itself.
type ListBackups struct {
	// Brief leaves out what lies where backups are kept, which takes asking there.
	Brief bool `query:"brief"`
}

// Check finds nothing wrong.
func (ListBackups) Check(*Fields) {}

// BackupRef names a backup in a path.
type BackupRef struct {
	Name string `path:"file"`
}

// Check finds nothing wrong: an unknown name is not found.
func (BackupRef) Check(*Fields) {}

// KeptBackups say where backups are kept, how the last one went, whether one
// restores, and what is there.
type KeptBackups struct {
	Where             string       `json:"where"` // "" when backups are kept nowhere
	EverySeconds      int64        `json:"everySeconds"`
	Keep              int          `json:"keep"`
	KeepDays          int          `json:"keepDays"`
	KeepWeeks         int          `json:"keepWeeks"`
	DrillEverySeconds int64        `json:"drillEverySeconds"`
	Passphrase        bool         `json:"passphrase"` // a passphrase opens them, and no key
	Last              *BackupRun   `json:"last"`       // null before the first
	LastGood          *BackupRun   `json:"lastGood"`   // null when none went well
	Drill             *BackupDrill `json:"drill"`      // null before the first
	Problem           *string      `json:"problem"`    // why Backups could not be listed
	Backups           []KeptBackup `json:"backups"`    // newest first
}

// BackupRun is one attempt to put a backup where backups are kept.
type BackupRun struct {
	StartedAt   Time    `json:"startedAt"`
	EndedAt     Time    `json:"endedAt"`
	Where       string  `json:"where"`
	Name        *string `json:"name"`
	Size        int64   `json:"size"`
	AuditNumber uint64  `json:"auditNumber"` // of the last record of the audit log in it
	AuditLink   string  `json:"auditLink"`
	Error       *string `json:"error"`      // null when it went well
	NotThinned  *string `json:"notThinned"` // why old ones could not be removed after it
}

// BackupDrill is what came of trying to restore the newest backup.
type BackupDrill struct {
	At       Time    `json:"at"`
	Where    string  `json:"where"`
	Name     *string `json:"name"` // null when none could be had
	Restores bool    `json:"restores"`
	Reason   *string `json:"reason"`   // why it does not restore
	Found    string  `json:"found"`    // what was in it
	LastGood *string `json:"lastGood"` // the last backup that restored
	GoodAt   *Time   `json:"goodAt"`   // when that was tried
}

// KeptBackup is a backup where backups are kept.
type KeptBackup struct {
	Name        string  `json:"name"`
	CreatedAt   Time    `json:"createdAt"`
	Size        int64   `json:"size"`
	AuditNumber *uint64 `json:"auditNumber"` // null when that is not remembered
}
