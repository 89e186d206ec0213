//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package crypto

import "golang.org/x/sys/unix"

func harden() Hardening {
	core := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	return Hardening{NoCore: core == nil}
}
