package api

// Storage is the data file, and what was done to it.
type Storage struct {
	SizeBytes int64       `json:"sizeBytes"`
	UsedBytes int64       `json:"usedBytes"` // the rest is free inside, and will be reused
	RoomBytes *int64      `json:"roomBytes"` // what the disk has left; null when that is not known
	OldCopies []string    `json:"oldCopies"` // names of files beside it that hold the data as they were before an upgrade
	Last      *Compaction `json:"last"`      // compaction that ended; null when there was none
	Running   *Compaction `json:"running"`   // compaction that is under way, or null
}

// Compaction is one writing anew of the data file.
type Compaction struct {
	StartedAt   Time    `json:"startedAt"`
	EndedAt     *Time   `json:"endedAt"` // null while it runs
	BeforeBytes int64   `json:"beforeBytes"`
	AfterBytes  int64   `json:"afterBytes"`  // 0 while it runs
	CopiedBytes int64   `json:"copiedBytes"` // while it runs
	AllBytes    int64   `json:"allBytes"`    // that are to be copied, roughly
	Error       *string `json:"error"`       // why it failed; null when it did not
}

// Erase asks to erase the vault of a repository.
type Erase struct {
	RepoFullName string `json:"repoFullName" need:"true"`
}

// Check holds the name against its form.
func (r Erase) Check(f *Fields) { f.repo("repoFullName", r.RepoFullName) }

// Repository is the repository concerned.
func (r Erase) Repository() string { return r.RepoFullName }

// ErasureRef names an erasure in a path.
type ErasureRef struct {
	ID string `path:"id"`
}

// Check finds nothing wrong: an unknown id is not found.
func (ErasureRef) Check(*Fields) {}

// Erasure is a vault that was erased.
type Erasure struct {
	ID           string  `json:"id"`
	RepoFullName string  `json:"repoFullName"`
	VaultID      string  `json:"vaultId"`
	ErasedAt     Time    `json:"erasedAt"`
	ErasedBy     *string `json:"erasedBy"` // null is whoever had the data directory
	Receipt      *string `json:"receipt"`  // the file's text; null until the data were compacted
}

// BegunErasure answers an erasure: the vault is gone; the receipt may be to come.
type BegunErasure struct{ Erasure }

// Created says that something new was made.
func (BegunErasure) Created() (bool, string) { return true, "" }

// Erasures lists what was erased, newest first.
type Erasures struct {
	Erasures []Erasure `json:"erasures"`
}

// ReceiptKind begins every receipt: its format.
const ReceiptKind = "erasure-receipt/1"

// Receipt proves that a vault was erased, to whoever has the public key.
type Receipt struct {
	Coffer       string `json:"coffer"` // ReceiptKind
	Instance     string `json:"instance"`
	RepoFullName string `json:"repoFullName"`
	VaultID      string `json:"vaultId"`
	ErasedAt     Time   `json:"erasedAt"`
	ErasedBy     string `json:"erasedBy"`    // "" is whoever had the data directory
	AuditRecord  uint64 `json:"auditRecord"` // number of the record in the audit log
	AuditLink    string `json:"auditLink"`   // of that record, in base64, as an export has it
	CompactedAt  Time   `json:"compactedAt"`
	BeforeBytes  int64  `json:"beforeBytes"`
	AfterBytes   int64  `json:"afterBytes"`
	Statement    string `json:"statement"`
	PublicKey    string `json:"publicKey"` // Ed25519, in base64
	Signature    string `json:"signature"`
}
