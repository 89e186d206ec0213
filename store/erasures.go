package store

import "coffer/store/kv"

// Erasure is a vault that was erased: what is known of it stays, so that it can be
// proven. It has a receipt once the data were compacted behind it.
type Erasure struct {
	ID         ID     `cbor:"1,keyasint"`
	Vault      ID     `cbor:"2,keyasint"`
	Repository string `cbor:"3,keyasint"`
	At         Millis `cbor:"4,keyasint"`
	By         string `cbor:"5,keyasint"`           // name of the account; "" is whoever has the data directory
	Receipt    []byte `cbor:"6,keyasint,omitempty"` // as it is handed out; none before the data were compacted
}

// Compaction is the last time that the data were written anew.
type Compaction struct {
	Started Millis `cbor:"1,keyasint"`
	Ended   Millis `cbor:"2,keyasint"`
	Before  int64  `cbor:"3,keyasint"` // bytes in the file
	After   int64  `cbor:"4,keyasint"`
	Error   string `cbor:"5,keyasint,omitempty"`
}

var (
	erasures    = table[Erasure]{tagErasure, "erasure"}
	compactions = table[Compaction]{tagErasure, "compaction"}
)

// PutErasure writes an erasure.
func (tx Tx) PutErasure(e Erasure) error { return erasures.put(tx.kv, e, e.ID) }

// Erasure is the one with this id.
func (r Reader) Erasure(id ID) (Erasure, error) { return erasures.get(r.kv, id) }

// Erasures lists all of them, newest first.
func (r Reader) Erasures() ([]Erasure, error) {
	var all []Erasure
	span := kv.Prefix([]byte{tagErasure})
	span.Reverse = true
	err := r.kv.Scan(span, func(k, b []byte) error {
		if len(k) == 1 {
			return kv.Stop // the compaction, which comes first
		}
		e, err := erasures.decode(b)
		all = append(all, e)
		return err
	})
	return all, err
}

// PutCompaction notes the last compaction.
func (tx Tx) PutCompaction(c Compaction) error { return compactions.put(tx.kv, c) }

// Compaction is the last one, or ErrNotFound.
func (r Reader) Compaction() (Compaction, error) { return compactions.get(r.kv) }
