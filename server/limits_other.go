//go:build !unix

package server

import (
	"path/filepath"
	"strings"
)

// openFiles is not limited here.
func openFiles() (uint64, bool) { return 0, false }

// sameDisk reports whether two files are on one drive.
func sameDisk(a, b string) bool {
	return strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}
