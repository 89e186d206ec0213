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

// OpenBackup is what a backup is opened with: its passphrase, or the text of the
// recovery key or of a key file. Exactly one is given.
type OpenBackup struct {
	Passphrase *Secret
	Key        *Secret
}

// BackupProof is what was found out about a backup. Without a key that is who can
// open it, and nothing else.
type BackupProof struct {
	Opened     bool         `json:"opened"`
	Passphrase bool         `json:"passphrase"`   // a passphrase opens it
	Keys       []string     `json:"keys"`         // fingerprints of keys that open it, as it notes to everybody
	Size       int64        `json:"size"`         // of the file, as far as it was read
	Backup     *Backup      `json:"backup"`       // null when it was not opened
	Vaults     int          `json:"vaults"`       // how many there are
	Values     int          `json:"values"`       // how many values and versions were opened
	Secrets    int          `json:"otherSecrets"` // how many other sealed things were, like tokens of connections
	Log        *AuditReport `json:"log"`          // of the audit log in it
	Good       bool         `json:"good"`         // nothing is wrong with it
	Faults     []string     `json:"faults"`       // what is
}

// Restored is what a backup was restored to.
type Restored struct {
	Backup Backup `json:"backup"`
	Data   string `json:"data"`            // the data directory
	Aside  string `json:"aside,omitempty"` // where the data lies that was there before

	// How the instance is unsealed from now on: one of the kinds of unseal methods,
	// or "" when nothing here does it, and the key file where that is how.
	UnsealedBy string `json:"unsealedBy"`
	KeyFile    string `json:"keyFile,omitempty"`
	NewKeyFile bool   `json:"newKeyFile"`
	Removed    int    `json:"removedMethods"` // key files of elsewhere that open it no more

	// RecoveryKey is a new one, where a passphrase opened the backup. It is shown
	// this once.
	RecoveryKey Revealed `json:"recoveryKey,omitempty"`
	Fingerprint string   `json:"fingerprint"` // of the master key
}
