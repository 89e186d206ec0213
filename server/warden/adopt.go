package warden

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// Adoption says where an instance out of a backup goes on.
type Adoption struct {
	// Start is how the server there is configured to unseal. NewKeyFile is where a
	// key file goes that has to be made; Staged is where it is written first.
	Start  Start
	Staged string

	// KeyFile is the file whose key opened the backup, if it was one.
	KeyFile string

	// WorkFactor is the cost of a new passphrase; 0 is the usual one.
	WorkFactor int

	// NoKeyFile leaves an instance that nothing here opens as it is: sealed at each
	// start, until somebody unseals it.
	NoKeyFile bool
}

// Adopt makes the instance ready to be started there. What unseals it there stays
// as it is. Where nothing does, because the key file was lost with the machine that
// had it, it gets a new key file in place of those, which then open it no more: a
// lost machine may have been found by somebody.
//
// An instance out of a backup that a passphrase opened has its root key and none of
// the ways to it, so it gets a new master key, a new recovery key, and one more way
// like above.
func (s *Specimen) Adopt(ctx context.Context, a Adoption) (*api.Restored, error) {
	keys, err := s.w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	d := &adopting{Adoption: a, s: s, keys: keys, ids: store.NewIDs(s.w.now()), out: api.Restored{Backup: s.backup.About}}
	if err := d.read(ctx); err != nil {
		return nil, err
	}
	if s.master == nil {
		err = d.renew()
	} else {
		err = d.keep()
	}
	if err != nil {
		return nil, err
	}
	d.out.Fingerprint = d.instance.Fingerprint
	return &d.out, s.w.append(ctx, keys, store.NewIDs(s.w.now()), d.write)
}

// adopting is an Adoption under way.
type adopting struct {
	Adoption
	s        *Specimen
	keys     *keyring
	ids      *store.IDs
	instance store.Instance
	methods  []store.Method
	put      []store.Method
	remove   []store.ID
	renewed  bool // the instance's record changes
	out      api.Restored
}

func (d *adopting) read(ctx context.Context) (err error) {
	if d.methods, err = d.s.w.methods(ctx); err != nil {
		return err
	}
	return d.s.w.store.View(ctx, func(r store.Reader) (err error) {
		d.instance, err = r.Instance()
		i := &d.instance
		for _, b := range []*[]byte{&i.RootKey, &i.SystemKey, &i.TokenKey, &i.AuditChain, &i.AuditNotary, &i.BackupKey} {
			if *b != nil {
				*b = append([]byte(nil), *b...)
			}
		}
		return err
	})
}

// keep leaves what opens the instance here, or adds what does.
func (d *adopting) keep() error {
	if d.configured() {
		return nil
	}
	here, gone := -1, []int(nil)
	for i := range d.methods {
		m := &d.methods[i]
		if m.Kind != api.MethodKeyFile {
			continue
		}
		switch {
		case opensHere(*m, m.Path):
		case d.KeyFile != "" && opensHere(*m, d.KeyFile):
			m.Path = d.KeyFile
			d.put = append(d.put, *m)
		case opensHere(*m, d.Start.NewKeyFile): // beside the data, which have moved
			m.Path = d.Start.NewKeyFile
			d.put = append(d.put, *m)
		default:
			gone = append(gone, i)
			continue
		}
		if here < 0 {
			here = i
		}
	}
	switch {
	case here >= 0:
		// A place where nothing is must not be looked at before this one.
		for _, i := range gone {
			if i < here && d.methods[i].Path != "" {
				d.methods[i].Path = ""
				d.put = append(d.put, d.methods[i])
			}
		}
		d.out.UnsealedBy, d.out.KeyFile = api.MethodKeyFile, d.methods[here].Path
		return nil
	case d.NoKeyFile:
		return nil
	}
	for _, i := range gone {
		d.remove = append(d.remove, d.methods[i].ID)
	}
	return d.newKeyFile(d.s.master)
}

// configured reports whether the server here is configured with what opens the
// instance.
func (d *adopting) configured() bool {
	for _, source := range d.Start.Sources {
		if o, err := trySource(d.methods, source).try(context.Background()); err == nil {
			d.out.UnsealedBy = o.method.Kind
			return true
		}
	}
	if d.Start.KeyFile == "" {
		return false
	}
	for _, m := range d.methods {
		if opensHere(m, d.Start.KeyFile) {
			d.out.UnsealedBy, d.out.KeyFile = m.Kind, d.Start.KeyFile
			return true
		}
	}
	return false
}

// opensHere reports whether the key in a file opens a method.
func opensHere(m store.Method, path string) bool {
	if path == "" {
		return false
	}
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = byKey([]store.Method{m}, text, path)
	}
	return err == nil
}

// newKeyFile adds a key file as a way to a master key. It takes the key of a file
// that the server here is configured with; otherwise it makes one beside the data.
func (d *adopting) newKeyFile(master *crypto.Master) error {
	if err := d.readable(); err != nil {
		return err
	}
	path, written := d.Start.NewKeyFile, d.Staged
	if d.Start.KeyFile != "" {
		path, written = d.Start.KeyFile, d.Start.KeyFile
	}
	m, err := d.s.w.firstMethod(master, Setup{KeyFile: written}, d.ids, d.s.w.now())
	if err != nil {
		return err
	}
	if m.Path, err = filepath.Abs(path); err != nil {
		return err
	}
	d.keys.under.Load().vouch(&m)
	d.put = append(d.put, m)
	d.out.UnsealedBy, d.out.KeyFile, d.out.NewKeyFile = api.MethodKeyFile, m.Path, true
	return nil
}

// readable wants what the server here is configured with to be there: a key file in its
// place would be weaker than somebody wanted it.
func (d *adopting) readable() error {
	for _, source := range d.Start.Sources {
		text, err := source.Read()
		if err == nil && len(text) == 0 {
			err = errors.New("it is empty")
		}
		clear(text)
		if err != nil {
			return api.Errorf(api.Invalid, "%s cannot be read (%v), so the server would get a key file beside its data instead. Nothing was changed. Mend that, or take it out of the configuration.", source.Name, err)
		}
	}
	return nil
}

// renew gives the instance a new master key, with new ways to it.
func (d *adopting) renew() error {
	master, err := crypto.NewMaster()
	if err != nil {
		return err
	}
	if d.instance.RootKey, err = master.WrapRoot(d.keys.under.Load().root); err != nil {
		return err
	}
	d.instance.Fingerprint, d.instance.Recipient, d.renewed = master.Fingerprint(), master.Recipient(), true
	for _, m := range d.methods {
		d.remove = append(d.remove, m.ID)
	}
	recovery, method, err := recoveryMethod(master, d.ids, d.s.w.now())
	if err != nil {
		return err
	}
	d.keys.under.Load().vouch(&method)
	d.out.RecoveryKey = api.Revealed(recovery.Reveal())
	d.put = append(d.put, method)
	for _, source := range d.Start.Sources {
		if source.Kind != api.MethodPassphrase {
			continue
		}
		passphrase, err := source.Read()
		if err == nil && len(passphrase) > 0 {
			d.s.w.c.WorkFactor = cmp.Or(d.WorkFactor, crypto.DefaultWorkFactor)
			m, err := d.s.w.firstMethod(master, Setup{Passphrase: string(passphrase)}, d.ids, d.s.w.now())
			d.put, d.out.UnsealedBy = append(d.put, m), api.MethodPassphrase
			return err
		}
	}
	if d.NoKeyFile {
		return nil
	}
	return d.newKeyFile(master)
}

// write makes the changes, and the record of the restoring.
func (d *adopting) write(tx store.Tx) ([]store.Activity, error) {
	var err error
	for _, id := range d.remove {
		err = errors.Join(err, tx.DeleteMethod(id))
	}
	for _, m := range d.put {
		err = errors.Join(err, tx.PutMethod(m))
	}
	if d.renewed {
		err = errors.Join(err, tx.PutInstance(d.instance))
	}
	d.out.Removed = len(d.remove)
	j := &journal{w: d.s.w, now: d.s.w.now()}
	about := d.s.backup.About
	j.note("backup_restored", map[string]any{
		"name": about.Name, "created": about.CreatedAt.String(), "version": about.Version, "auditNumber": about.AuditNumber,
		"newMasterKey": d.renewed, "newKeyFile": d.out.NewKeyFile, "methodsRemoved": len(d.remove),
	})
	return j.notes, err
}
