package crypto

// Memory says where a root key lives.
type Memory string

const (
	// MemorySecret is memory that the kernel itself cannot read
	// (memfd_secret): never swapped, never in a dump, hidden from debuggers.
	MemorySecret Memory = "memfd_secret"
	// MemoryLocked is memory that is never swapped, and left out of core dumps
	// where the system offers that.
	MemoryLocked Memory = "locked"
	// MemoryPlain is ordinary memory: the system gave nothing better.
	MemoryPlain Memory = "plain"
)

// keyMemory is memory for one key, outside of Go's heap where possible.
type keyMemory struct {
	kind  Memory
	bytes []byte
	free  func()
}

// newKeyMemory returns the best memory the system gives. Only the pages of keys
// are locked, never the whole process (mlockall): that would count every page
// of the database's map against the limit and kill the process under load.
func newKeyMemory() *keyMemory {
	if m := systemKeyMemory(); m != nil {
		m.bytes = m.bytes[:KeySize:KeySize]
		return m
	}
	return &keyMemory{kind: MemoryPlain, bytes: make([]byte, KeySize), free: func() {}}
}

// wipe clears the key and gives the memory back. The bytes must not be touched
// afterwards: they may no longer be mapped.
func (m *keyMemory) wipe() {
	clear(m.bytes)
	m.bytes = nil
	m.free()
}
