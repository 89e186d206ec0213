//go:build !unix || solaris || aix

package bolt

import (
	"os"
	"time"
)

// lockFile does nothing: these systems do not grant a lock twice to the same
// process, so bbolt takes it a moment later.
func lockFile(*os.File, time.Duration) error { return nil }
