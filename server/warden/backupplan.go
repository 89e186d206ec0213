package warden

import (
	"time"

	"coffer/server/depot"
)

// Backups say where and when the server makes backups by itself.
type Backups struct {
	Depot      depot.Depot            // nil for none
	Every      time.Duration          // 0 is only when asked
	DrillEvery time.Duration          // likewise
	Keep       Keep                   // which ones stay
	Passphrase func() (string, error) // what opens them in place of keys; nil for keys
}
