package web

import "time"

// Backups are the backups that the server makes by itself.
type Backups struct {
	Frame
	Tabs []Place
	Now  time.Time

	Where             string // "" when they are kept nowhere
	Every, DrillEvery string // in words
	Keep, Days, Weeks int    // how many stay
	Passphrase        bool   // a passphrase opens them, and no key

	Tried      time.Time // when one was made last, or was to be; zero for never
	Made       time.Time // when that went well last
	Failure    string    // of the last one, or ""
	NotThinned string    // why old ones could not be removed, or ""
	Problem    string    // why it is not known what is there, or ""
	Drill      *BackupDrill
	Rows       []KeptBackup
}

// BackupDrill is what came of restoring the newest backup.
type BackupDrill struct {
	At       time.Time
	Name     string
	Restores bool
	Reason   string // why it does not
	Found    string // what was in it
	Good     string // the last one that restored, or ""
}

// KeptBackup is one of them.
type KeptBackup struct {
	Name  string
	Made  time.Time
	Size  string // in words
	Tried bool   // it was tried, and restores
	Path  string // to download it
}

func (Backups) file() string { return "operator_backups.html" }

// Title is the page's title.
func (Backups) Title() string { return "Backups" }
