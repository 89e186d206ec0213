package crypto

import (
	"os"

	"golang.org/x/sys/unix"
)

// systemKeyMemory tries memfd_secret, then locked memory. Every failure means
// only that the next thing is tried: kernels, containers and seccomp profiles
// differ in what they allow.
func systemKeyMemory() *keyMemory {
	if m := secretMemory(); m != nil {
		return m
	}
	return lockedMemory()
}

func lockedMemory() *keyMemory {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	if unix.Mlock(page) != nil || unix.Madvise(page, unix.MADV_DONTDUMP) != nil {
		_ = unix.Munmap(page)
		return nil
	}
	return &keyMemory{kind: MemoryLocked, bytes: page, free: func() { _ = unix.Munmap(page) }}
}

// secretMemory maps a page of memfd_secret. The kernel locks it and leaves it
// out of dumps by itself; it counts against RLIMIT_MEMLOCK.
func secretMemory() *keyMemory {
	fd, _, errno := unix.Syscall(unix.SYS_MEMFD_SECRET, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return nil
	}
	// The mapping outlives the descriptor.
	defer unix.Close(int(fd))
	size := os.Getpagesize()
	if unix.Ftruncate(int(fd), int64(size)) != nil {
		return nil
	}
	page, err := unix.Mmap(int(fd), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &keyMemory{kind: MemorySecret, bytes: page, free: func() { _ = unix.Munmap(page) }}
}
