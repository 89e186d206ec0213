package server

import (
	"path/filepath"
	"regexp"

	"coffer/server/api"
	"coffer/server/warden"
)

// MaxReceipt is more than the bytes in any receipt.
const MaxReceipt = warden.MaxReceipt

// IsReceipt reports whether a file that begins with these bytes is the receipt of
// an erasure.
func IsReceipt(head []byte) bool { return warden.IsReceipt(head) }

// VerifyReceipt checks the receipt of an erasure, with nothing but the public key
// of the instance that signed it, or with "" the key that the receipt brings.
func VerifyReceipt(text []byte, publicKey string) (*api.Receipt, error) {
	return warden.VerifyReceipt(text, publicKey)
}

// oldCopies are the names of the files in a data directory that hold the data as
// they were once: a compaction does not reach them.
func oldCopies(dir string) ([]string, error) {
	var all []string
	for _, name := range []*regexp.Regexp{snapshotName, asideName} {
		paths, err := besideData(dir, name)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			all = append(all, filepath.Base(p))
		}
	}
	return all, nil
}
