//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package crypto

func systemKeyMemory() *keyMemory { return nil }
