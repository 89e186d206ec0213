package store

// Instance is the one record that says what this data is, and holds the keys
// that belong to the whole of it.
type Instance struct {
	ID          ID     `cbor:"1,keyasint"`
	Schema      int    `cbor:"2,keyasint"`
	Created     Millis `cbor:"3,keyasint"`
	Fingerprint string `cbor:"4,keyasint"`  // of the master key
	RootKey     []byte `cbor:"5,keyasint"`  // age file to the master key
	SystemKey   []byte `cbor:"6,keyasint"`  // age file under the root key
	TokenKey    []byte `cbor:"20,keyasint"` // signs service tokens, sealed under the system key
	AuditChain  []byte `cbor:"30,keyasint"` // links the audit log, sealed under the system key
	AuditNotary []byte `cbor:"31,keyasint"` // signs statements about it, sealed under the system key
	ForgeKind   string `cbor:"40,keyasint"` // of the code host whose ids stand in the records; "" is local
	ForgeURL    string `cbor:"41,keyasint"` // of the same
	Version     string `cbor:"8,keyasint"`  // of the coffer that served it last
	Recipient   string `cbor:"7,keyasint"`  // of the master key; "" until it was used once since this was kept

	BackupKey       []byte `cbor:"50,keyasint,omitempty"` // opens backups for the restore drill, sealed under the system key
	BackupRecipient string `cbor:"51,keyasint,omitempty"` // its public half
	OldRootKey      []byte `cbor:"60,keyasint,omitempty"` // the root key that is being replaced, age file to the master key
	MasterSince     Millis `cbor:"61,keyasint,omitempty"` // when the master key was replaced last; 0 is never
	Epoch           uint64 `cbor:"62,keyasint,omitempty"` // counts the root keys that were replaced
}

// Method is one way to unseal: the master key in an age file of its own.
type Method struct {
	ID          ID     `cbor:"1,keyasint"`
	Kind        string `cbor:"2,keyasint"`
	Created     Millis `cbor:"3,keyasint"`
	Fingerprint string `cbor:"4,keyasint"` // of the key that opens File, where it has one
	Path        string `cbor:"5,keyasint"` // where the key file lay when the method was added
	File        []byte `cbor:"6,keyasint"`
	Recipient   string `cbor:"7,keyasint"`  // of the key that opens File, where it has one; "" until it was used once since this was kept
	Identity    string `cbor:"8,keyasint"`  // of an age plugin: where it finds its key; no secret
	Threshold   int    `cbor:"9,keyasint"`  // of shares: how many are needed
	Total       int    `cbor:"10,keyasint"` // of shares: how many there are
	Label       string `cbor:"11,keyasint"` // what people call it

	Vouched []byte `cbor:"60,keyasint,omitempty"` // HMAC of Recipient and Identity under a subkey of the root key
}

var (
	instances = table[Instance]{tagInstance, "instance"}
	methods   = table[Method]{tagMethod, "unseal method"}
)

// Instance is the instance's record.
func (r Reader) Instance() (Instance, error) { return instances.get(r.kv) }

// PutInstance writes the instance's record.
func (tx Tx) PutInstance(i Instance) error { return instances.put(tx.kv, i) }

// Methods lists the unseal methods, oldest first.
func (r Reader) Methods() ([]Method, error) { return methods.list(r.kv) }

// Method is one unseal method.
func (r Reader) Method(id ID) (Method, error) { return methods.get(r.kv, id) }

// PutMethod writes an unseal method.
func (tx Tx) PutMethod(m Method) error { return methods.put(tx.kv, m, m.ID) }

// DeleteMethod removes an unseal method.
func (tx Tx) DeleteMethod(id ID) error { return methods.delete(tx.kv, id) }

// probe is about what an ordinary change takes. Less would prove too little: a page
// that is only written again always finds room, even on a full disk.
var probe = make([]byte, 16<<10)

// Probe writes nothing of meaning: it proves that the data can be changed.
func (tx Tx) Probe() error { return tx.kv.Put([]byte{tagProbe}, probe) }
