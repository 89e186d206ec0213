package store

// JobRun is the last run of a job that removes what retention ends.
type JobRun struct {
	Name    string `cbor:"1,keyasint"`
	Started Millis `cbor:"2,keyasint"`
	Ended   Millis `cbor:"3,keyasint"`
	Removed int    `cbor:"4,keyasint"`
	Error   string `cbor:"5,keyasint,omitempty"`
	Well    Millis `cbor:"6,keyasint,omitempty"` // end of the last run that went well
}

var jobRuns = table[JobRun]{tagJob, "job"}

// JobRuns lists the last run of every job that ever ran, by name.
func (r Reader) JobRuns() ([]JobRun, error) { return jobRuns.list(r.kv) }

// PutJobRun writes a job's last run.
func (tx Tx) PutJobRun(j JobRun) error { return jobRuns.put(tx.kv, j, j.Name) }
