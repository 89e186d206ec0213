package api

// Kinds of key replacements that are under way.
const (
	RotationRoot  = "root"   // the root key: every data key is wrapped anew
	RotationAll   = "vaults" // the data keys of all vaults
	RotationVault = "vault"  // the data key of one vault
)

// Rekey asks for a new master key and a new root key. Proof is a way to unseal that is
// there; without it Passphrase is the proof, else what the server was started with.
type Rekey struct {
	Proof          *Unseal  `json:"proof"`
	Passphrase     *Secret  `json:"passphrase"`     // that is to open the new master key too
	NewRecoveryKey bool     `json:"newRecoveryKey"` // in place of the one there is
	Drop           []string `json:"drop"`           // ids of unseal methods that are not to open it any more
}

// Shown is the way to unseal that the request shows, or nil.
func (r Rekey) Shown() *Unseal {
	if r.Proof == nil && r.Passphrase != nil {
		return &Unseal{Passphrase: r.Passphrase}
	}
	return r.Proof
}

// Check wants one proof at most, and no id twice.
func (r Rekey) Check(f *Fields) {
	if r.Proof != nil {
		r.Proof.check(f, "proof.")
	}
	seen := make(map[string]bool)
	for _, id := range r.Drop {
		if seen[id] {
			f.Add("drop", NotAllowed, "%s is named twice.", id)
		}
		seen[id] = true
	}
}

// Rekeyed answers a rekey. The master key is replaced by then; the data keys follow.
type Rekeyed struct {
	Fingerprint string         `json:"fingerprint"` // of the new master key
	Before      string         `json:"before"`      // that of the one it replaces
	Methods     []UnsealMethod `json:"methods"`     // that open it now
	Dropped     []UnsealMethod `json:"dropped"`     // that do not any more
	RecoveryKey *Revealed      `json:"recoveryKey"` // the new one, shown this once; null when the one before stays valid
	Rotation    Rotation       `json:"rotation"`
	Warning     string         `json:"warning,omitempty"` // what must be done before anything is relied on
}

// Rotate asks for a new data key for a vault, or for every vault when none is named.
type Rotate struct {
	RepoFullName string `json:"repoFullName"`
	All          bool   `json:"all"`
}

// Check wants one of both, so that nobody rotates everything by leaving a field out.
func (r Rotate) Check(f *Fields) {
	if (r.RepoFullName != "") == r.All {
		f.Add("repoFullName", Required, "Name a vault, or say all: true.")
	}
}

// Rotation is a replacement of keys that is under way.
type Rotation struct {
	Of           string `json:"of"`                     // one of root, vaults, vault
	RepoFullName string `json:"repoFullName,omitempty"` // of a vault's
	StartedAt    Time   `json:"startedAt"`
	Done         int    `json:"done"`
	Total        int    `json:"total"` // data keys, vaults, or values and versions
}

// Rotations tells which master key there is, and which keys are being replaced.
type Rotations struct {
	Fingerprint string     `json:"fingerprint"` // of the master key
	MasterSince Time       `json:"masterSince"`
	UnderWay    []Rotation `json:"underWay"`
}
