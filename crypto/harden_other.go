//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package crypto

func harden() Hardening { return Hardening{} }
