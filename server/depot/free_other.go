//go:build !unix

package depot

// Free is how many bytes there is room for where path lies, if that can be known.
func Free(string) (bytes uint64, known bool) { return 0, false }
