//go:build !linux

package kvtest

import "testing"

// Disk is a small file system of its own; see the Linux variant.
type Disk struct {
	// Path is the directory that it is mounted at.
	Path string
}

// SmallDisk skips the test: small file systems are mounted on Linux only.
func SmallDisk(t testing.TB, _ int64) *Disk {
	t.Helper()
	t.Skip("a small file system is mounted on Linux only")
	return nil
}

// Free is for Linux only.
func (d *Disk) Free(testing.TB) int64 { return 0 }

// Fill is for Linux only.
func (d *Disk) Fill(testing.TB, int64) {}

// Empty is for Linux only.
func (d *Disk) Empty(testing.TB) {}

// ReadOnly is for Linux only.
func (d *Disk) ReadOnly(testing.TB, bool) {}

// NoNewFiles is for Linux only.
func (d *Disk) NoNewFiles(testing.TB, string) func() { return func() {} }
