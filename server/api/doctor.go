package api

// Report is what the server found when it examined itself and its setup.
type Report struct {
	Findings []Diagnosis `json:"findings"` // in a fixed order of areas
	Problems int         `json:"problems"`
	Warnings int         `json:"warnings"`
	At       Time        `json:"at"`
	Facts    *Facts      `json:"facts,omitempty"` // of a server; a user's machine has none
}

// Facts are the figures of a server in a few words.
type Facts struct {
	StartedAt    *Time  `json:"startedAt"` // null for one that does not run
	PublicURL    string `json:"publicUrl"`
	Fingerprint  string `json:"fingerprint"` // behind the # of its address; "" where authorities vouch for it
	DataBytes    int64  `json:"dataBytes"`   // size of the data file
	FreeBytes    *int64 `json:"freeBytes"`   // on its disk; null where that is not known
	AuditRecords uint64 `json:"auditRecords"`
	AutoSyncs    int    `json:"autoSyncs"` // links that sync by themselves
}

// Diagnosis is one thing that was examined.
type Diagnosis struct {
	Area  string `json:"area"`  // a word: files, clock, disk
	Level string `json:"level"` // DiagnosisOK, DiagnosisWarning or DiagnosisProblem
	Text  string `json:"text"`  // what was found, in a sentence
	Next  string `json:"next"`  // what to do about it; "" where there is nothing to do
}

// Levels of a diagnosis.
const (
	DiagnosisOK      = "ok"
	DiagnosisWarning = "warning"
	DiagnosisProblem = "problem"
)

// Examine asks the server to examine itself. Quick leaves out what has others asked
// over the network.
type Examine struct {
	Quick bool `query:"quick"`
}

// NewReport is a report of what was found.
func NewReport(at Time, found []Diagnosis) *Report {
	r := &Report{Findings: found, At: at}
	if found == nil {
		r.Findings = []Diagnosis{}
	}
	for _, d := range found {
		switch d.Level {
		case DiagnosisProblem:
			r.Problems++
		case DiagnosisWarning:
			r.Warnings++
		}
	}
	return r
}

// Fine are the findings that are.
func (r *Report) Fine() (all []Diagnosis) {
	for _, d := range r.Findings {
		if d.Level == DiagnosisOK {
			all = append(all, d)
		}
	}
	return all
}

// Troubles are the findings that are not fine, problems first.
func (r *Report) Troubles() (all []Diagnosis) {
	for _, level := range []string{DiagnosisProblem, DiagnosisWarning} {
		for _, d := range r.Findings {
			if d.Level == level {
				all = append(all, d)
			}
		}
	}
	return all
}

// Check finds nothing wrong.
func (Examine) Check(*Fields) {}
