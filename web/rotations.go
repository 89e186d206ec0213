package web

import "time"

// MasterKey is what everything is sealed below, and which keys are being replaced.
type MasterKey struct {
	Fingerprint   string
	Since         time.Time
	UnderWay      []Rotation
	Rekey, Rotate Form
	Once          string // tells these forms from all others
}

// Rotation is a replacement of keys that is under way.
type Rotation struct {
	What        string // which keys, in words
	Since       time.Time
	Done, Total int
}
