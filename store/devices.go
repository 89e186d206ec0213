package store

// DeviceState is how far a device login has come. It changes once and for good.
type DeviceState string

// The states. That a login expired follows from its time.
const (
	DevicePending  DeviceState = ""
	DeviceApproved DeviceState = "approved"
	DeviceDenied   DeviceState = "denied"
)

// Device is one device login: a program that wants to act for whoever approves
// its user code. Of codes and tokens only hashes are kept.
type Device struct {
	Code       [32]byte    `cbor:"1,keyasint"` // SHA-256 of the device code
	UserCode   [32]byte    `cbor:"2,keyasint"` // SHA-256 of the user code
	Repository string      `cbor:"3,keyasint"` // as the program says, like the ids
	OwnerID    uint64      `cbor:"4,keyasint"`
	RepoID     uint64      `cbor:"5,keyasint"`
	IP         string      `cbor:"6,keyasint"` // of the program
	UserAgent  string      `cbor:"7,keyasint"`
	Requested  Millis      `cbor:"8,keyasint"`
	Expires    Millis      `cbor:"9,keyasint"`
	State      DeviceState `cbor:"10,keyasint"`
	DecidedBy  ID          `cbor:"11,keyasint"` // user; zero when they did not sign in
	DecidedIn  ID          `cbor:"12,keyasint"` // session of the browser
	Decided    Millis      `cbor:"13,keyasint"`
	Confirm    [32]byte    `cbor:"14,keyasint"` // SHA-256 of the confirm token, or zero
	ConfirmIn  ID          `cbor:"15,keyasint"` // session that the confirm token was made for
	Session    ID          `cbor:"16,keyasint"` // what the program's service token stands for
	Login      string      `cbor:"17,keyasint"` // name in that token
	Consumed   Millis      `cbor:"18,keyasint"` // when the token was handed out first
}

var devices = table[Device]{tagDevice, "device login"}

// Device is the device login whose device code has this hash.
func (r Reader) Device(code [32]byte) (Device, error) { return devices.get(r.kv, code[:]) }

// DeviceByUserCode is the device login whose user code has this hash.
func (r Reader) DeviceByUserCode(code [32]byte) (Device, error) {
	device, err := r.kv.Get(key(tagDeviceUserCode, code[:]))
	if err != nil {
		return Device{}, err
	}
	return r.Device([32]byte(device))
}

// DevicesBefore lists the device logins that expired before an instant.
func (r Reader) DevicesBefore(before Millis) ([]Device, error) {
	return filter(r, devices, func(d Device) bool { return d.Expires <= before })
}

// AddDevice writes a new device login, or fails with ErrExists when one with its
// user code is there.
func (tx Tx) AddDevice(d Device) error {
	k := key(tagDeviceUserCode, d.UserCode[:])
	if there, err := exists(tx.kv, k); err != nil {
		return err
	} else if there {
		return ErrExists
	}
	if err := tx.kv.Put(k, d.Code[:]); err != nil {
		return err
	}
	return tx.PutDevice(d)
}

// PutDevice writes a device login that is there already.
func (tx Tx) PutDevice(d Device) error { return devices.put(tx.kv, d, d.Code[:]) }

// DeleteDevice forgets a device login.
func (tx Tx) DeleteDevice(d Device) error {
	if err := tx.kv.Delete(key(tagDeviceUserCode, d.UserCode[:])); err != nil {
		return err
	}
	return devices.delete(tx.kv, d.Code[:])
}
