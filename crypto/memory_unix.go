//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package crypto

import (
	"os"

	"golang.org/x/sys/unix"
)

func systemKeyMemory() *keyMemory {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	if unix.Mlock(page) != nil {
		_ = unix.Munmap(page)
		return nil
	}
	return &keyMemory{kind: MemoryLocked, bytes: page, free: func() { _ = unix.Munmap(page) }}
}
