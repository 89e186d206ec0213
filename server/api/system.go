package api

import "unicode/utf8"

// States of an instance, as health and status show them.
const (
	StateOK            = "ok"
	StateSealed        = "sealed"
	StateUninitialized = "uninitialized"
)

// Health is the answer of the liveness check.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// APIHealth is the answer of the API's own health check.
type APIHealth struct {
	Version   string `json:"version"`
	Status    string `json:"status"`
	Timestamp Time   `json:"timestamp"`
}

// Status tells whether an instance can serve, and how it can be unsealed.
type Status struct {
	Initialized bool            `json:"initialized"`
	Sealed      bool            `json:"sealed"`
	Version     string          `json:"version"`
	Methods     []UnsealMethod  `json:"methods"`
	Forge       ForgeStatus     `json:"forge"`
	LastError   string          `json:"lastError,omitempty"` // why the last unsealing failed
	Attempts    []UnsealAttempt `json:"attempts,omitempty"`  // all that the last unsealing tried, where that was more than one
	Shares      *GivenShares    `json:"shares,omitempty"`    // how many were given; while some are and more are needed
	AuditKey    string          `json:"auditKey,omitempty"`  // public key that the audit log is signed with; known while unsealed
}

// UnsealMethod is one way to get the master key at start.
type UnsealMethod struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Fingerprint string `json:"fingerprint,omitempty"` // of the key file's or recovery key's public half
	CreatedAt   Time   `json:"createdAt"`
	Threshold   int    `json:"threshold,omitempty"` // of shares: how many are needed
	Total       int    `json:"total,omitempty"`     // of shares: how many there are
}

// UnsealAttempt is something that was tried without anybody asking, and why it
// did not open the instance.
type UnsealAttempt struct {
	Way    string `json:"way"`
	Reason string `json:"reason"`
}

// GivenShares says how far an unsealing with shares is.
type GivenShares struct {
	Fingerprint string `json:"fingerprint"` // of the key that they give together
	Given       int    `json:"given"`
	Threshold   int    `json:"threshold"`
	Missing     int    `json:"missing"`
	ExpiresAt   Time   `json:"expiresAt"` // when those given are forgotten
}

// Kinds of unseal methods.
const (
	MethodPassphrase = "passphrase"
	MethodKeyFile    = "key-file"
	MethodRecovery   = "recovery-key"
	MethodPlugin     = "plugin"
	MethodShares     = "shares"
)

// Setup asks a fresh instance to make its keys. Exactly one of Passphrase and
// KeyFile is given; KeyFile asks the server to write a new key file beside its
// data.
type Setup struct {
	Passphrase *Secret      `json:"passphrase"`
	KeyFile    bool         `json:"keyFile"`
	Admin      *NewOperator `json:"admin"`
}

// NewOperator is the first user of a fresh instance.
type NewOperator struct {
	Username string `json:"username"`
	Password Secret `json:"password"`
}

// Check wants one way to unseal.
func (r Setup) Check(f *Fields) {
	if (r.Passphrase != nil) == r.KeyFile {
		f.Add("passphrase", Required, "Choose one way to unseal: a passphrase, or keyFile: true.")
	}
	if r.Passphrase != nil {
		checkPassphrase(f, "passphrase", *r.Passphrase)
	}
	if r.Admin != nil {
		CheckUsername(f, "admin.username", r.Admin.Username)
		CheckPassword(f, "admin.password", r.Admin.Password)
	}
}

// Initialize is a Setup by somebody who knows the claim token.
type Initialize struct {
	Setup
	ClaimToken Secret `json:"claimToken" need:"true"`
}

func checkPassphrase(f *Fields, field string, p Secret) {
	if utf8.RuneCountInString(p.Reveal()) < 8 {
		f.Add(field, TooShort, "At least 8 characters; four or five random words are better.")
	}
}

// Initialized answers the making of an instance. The recovery key is shown
// this once.
type Initialized struct {
	RecoveryKey Revealed `json:"recoveryKey"`
	Fingerprint string   `json:"fingerprint"`
	KeyFile     string   `json:"keyFile,omitempty"`
}

// Unseal asks to open the instance: with a passphrase, with the text of a key
// file or of the recovery key, with one share or several, or, when empty, with
// what is configured at start.
type Unseal struct {
	Passphrase *Secret `json:"passphrase"`
	Key        *Secret `json:"key"`
	Share      *Secret `json:"share"` // several may stand in one text
}

// Check refuses several at once.
func (r Unseal) Check(f *Fields) { r.check(f, "") }

func (r Unseal) check(f *Fields, prefix string) {
	given := 0
	for _, s := range []*Secret{r.Passphrase, r.Key, r.Share} {
		if s != nil {
			given++
		}
	}
	if given > 1 {
		f.Add(prefix+"key", NotAllowed, "Send one of passphrase, key and share.")
	}
}
