package crypto

import "encoding/binary"

// ID is the UUID of a record in binary.
type ID = [16]byte

// Contexts are the associated data of sealed values: where a value belongs.
//
// A context begins with a byte for its domain, goes on with fields of fixed
// width and ends with at most one field of variable width. So two contexts are
// equal only when they have the same domain and the same fields; no choice of
// names makes one run into another. A new kind of context takes a new domain
// byte, and a changed layout does too.
const (
	domainVersion byte = 1
	domainNewest  byte = 2
	domainRecord  byte = 3
)

// VersionContext places a version of a secret: 37 bytes.
//
// It leaves out environment and key name, because a version keeps its sealed
// bytes when its environment or key is renamed.
func VersionContext(vault, secret ID, version uint32) []byte {
	c := make([]byte, 0, 1+16+16+4)
	c = append(c, domainVersion)
	c = append(c, vault[:]...)
	c = append(c, secret[:]...)
	return binary.BigEndian.AppendUint32(c, version)
}

// NewestContext places the newest value of a secret in an environment under
// its key name: 53 bytes and the name.
//
// The environment is in it so that a production value does not open in a
// development row, the name so that two rows cannot be exchanged under a
// reader who asked for one by name.
func NewestContext(vault, environment, secret ID, version uint32, key string) []byte {
	c := make([]byte, 0, 1+16+16+16+4+len(key))
	c = append(c, domainNewest)
	c = append(c, vault[:]...)
	c = append(c, environment[:]...)
	c = append(c, secret[:]...)
	c = binary.BigEndian.AppendUint32(c, version)
	return append(c, key...)
}

// RecordContext places a sealed field of any other record, such as a
// connection's token or a signing key: 17 bytes and the field. The field names
// record kind and column ("connection/access-token").
func RecordContext(id ID, field string) []byte {
	c := make([]byte, 0, 1+16+len(field))
	c = append(c, domainRecord)
	c = append(c, id[:]...)
	return append(c, field...)
}
