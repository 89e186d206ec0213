package crypto

// Hardening reports what [Harden] reached.
type Hardening struct {
	// NotDumpable: other processes of the same user cannot attach to this one
	// or read its memory (PR_SET_DUMPABLE 0, Linux only).
	NotDumpable bool
	// NoCore: a crash leaves no core file (RLIMIT_CORE 0).
	NoCore bool
	// KeyMemory is the kind of memory that root keys get.
	KeyMemory Memory
}

// Harden keeps the memory of the process to itself as far as the system allows.
// It is for the start of a server; what does not work is reported, not fatal.
func Harden() Hardening {
	h := harden()
	m := newKeyMemory()
	h.KeyMemory = m.kind
	m.wipe()
	return h
}
