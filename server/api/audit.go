package api

// AuditReport is what a check of the audit log, or of a file made of it, found.
// The two verdicts are independent: a file whose tail was cut off may hold
// nothing but authentic records, and a log that lacks nothing may hold an
// altered one.
type AuditReport struct {
	Source   string       `json:"source"`   // log, or the kind of file: export, stream
	Intact   bool         `json:"intact"`   // every record that is there is authentic and in its place
	Complete bool         `json:"complete"` // none is missing between the signed beginning and the end
	Faults   []AuditFault `json:"faults"`   // the first that speaks against each verdict, in the order found
	Records  uint64       `json:"records"`  // how many authentic records were seen
	First    uint64       `json:"first"`    // lowest and highest number among them; 0 when there is none
	Last     uint64       `json:"last"`
	Begins   *AuditMark   `json:"begins"` // behind which record it begins, as signed; null when nothing proves it
	Ends     *AuditMark   `json:"ends"`   // with which record it ends, as signed; null when nothing proves it

	// Log says, of a file, what the log itself holds in place of the newest record
	// in it.
	Log string `json:"log,omitempty"`

	Instance  string `json:"instance"`
	VaultID   string `json:"vaultId,omitempty"` // of a file of one vault: numbers are those of the vault's records
	PublicKey string `json:"publicKey"`         // Ed25519, in base64; what the instance signs with
}

// AuditMark is a signed statement about where a log or file begins or ends.
type AuditMark struct {
	Number uint64 `json:"number"`
	Time   Time   `json:"time"`
}

// AuditFault is something that speaks against a verdict.
type AuditFault struct {
	Against string `json:"against"` // intact or complete
	Kind    string `json:"kind"`
	Number  uint64 `json:"number,omitempty"` // of the record concerned
	Line    int    `json:"line,omitempty"`   // in the file
	Detail  string `json:"detail"`
}

// Kinds of faults.
const (
	FaultAltered   = "altered"   // not as it was written
	FaultForeign   = "foreign"   // never was in this log
	FaultReordered = "reordered" // in another record's place
	FaultRepeated  = "repeated"  // there more than once
	FaultUnlisted  = "unlisted"  // in the log, but not in the list of its user or vault
	FaultMissing   = "missing"   // gone from between others
	FaultCut       = "cut"       // gone from the end
)

// What the log holds in place of a file's newest record.
const (
	LogSame    = "same"
	LogPruned  = "pruned"  // nothing, because its time was over
	LogBehind  = "behind"  // nothing yet: the data was put back to an older state
	LogDiffers = "differs" // another record: the data was put back, and has gone on since
	LogMissing = "missing" // nothing, where something should be
)

// Verdicts of an AuditReport.
const (
	VerdictIntact   = "intact"
	VerdictComplete = "complete"
)
