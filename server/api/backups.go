package api

// NewBackup asks for a backup.
type NewBackup struct {
	// Passphrase is what opens the backup, and nothing else does. Without one the
	// recovery key opens it, and every key file.
	Passphrase *Secret `json:"passphrase"`
}

// Check wants a passphrase that is none in name only.
func (r NewBackup) Check(f *Fields) {
	if r.Passphrase != nil {
		checkPassphrase(f, "passphrase", *r.Passphrase)
	}
}

// Backup is what a backup says of itself.
type Backup struct {
	Name        string      `json:"name"` // of its file
	Format      int         `json:"format"`
	Version     string      `json:"version"` // of the coffer that made it
	Schema      int         `json:"schema"`
	Instance    string      `json:"instance"`
	Fingerprint string      `json:"fingerprint"` // of the master key
	CreatedAt   Time        `json:"createdAt"`
	AuditNumber uint64      `json:"auditNumber"` // of the last record of the audit log
	AuditLink   string      `json:"auditLink"`
	DataSize    int64       `json:"dataSize"`
	OpensWith   []BackupKey `json:"opensWith"`
}

// BackupKey is what opens a backup.
type BackupKey struct {
	Kind        string `json:"kind"` // of an unseal method, or one of those below
	Fingerprint string `json:"fingerprint,omitempty"`
}

// What opens a backup beside the keys of unseal methods.
const (
	BackupByMaster     = "master-key"
	BackupByInstance   = "backup-key" // the server's own, for trying whether it restores
	BackupByPassphrase = "passphrase"
)

// BackupHeader is the header of an answer that holds what a backup says of
// itself, as JSON; the body is the backup.
const BackupHeader = "Coffer-Backup"
