package warden

import (
	"context"
	"encoding/hex"
	"errors"
	"io"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/store"
	"coffer/store/kv"
)

// BeginBackup is told what a backup will be, when nothing of it is written yet,
// and says where it goes.
type BeginBackup func(api.Backup) (io.Writer, error)

// Backup makes a backup for a caller, as [Warden.WriteBackup] does.
func (w *Warden) Backup(ctx context.Context, who Caller, req api.NewBackup, begin BeginBackup) (*api.Backup, error) {
	if err := admit(who, access.BackupCreate); err != nil {
		return nil, w.settle(ctx, who, access.BackupCreate, store.Vault{}, err)
	}
	return w.writeBackup(ctx, who, req, begin)
}

// WriteBackup makes a backup of everything for the server itself. It is a copy of
// one moment; reads and writes go on. What was written when it fails is none: it
// has no end, so it does not open.
//
// It is recorded before the first byte leaves. While the instance is sealed it can
// be made too, but for one that a passphrase opens, and is not recorded: whoever
// asks can read the data file anyway.
func (w *Warden) WriteBackup(ctx context.Context, req api.NewBackup, begin BeginBackup) (*api.Backup, error) {
	return w.writeBackup(ctx, Caller{}, req, begin)
}

func (w *Warden) writeBackup(ctx context.Context, who Caller, req api.NewBackup, begin BeginBackup) (*api.Backup, error) {
	if w.c.Copier == nil || !w.start.initialized.Load() {
		return nil, w.errSealed()
	}
	// Each needs as much room on the disk as the data.
	select {
	case w.copying <- struct{}{}:
		defer func() { <-w.copying }()
	case <-ctx.Done():
		return nil, w.outward(ctx.Err())
	}
	b := &backingUp{w: w}
	data, err := w.store.Copy(ctx, w.c.Copier, b.look)
	if err != nil {
		return nil, w.outward(err)
	}
	defer data.Close()
	b.content.Header.DataSize = data.Size()
	if req.Passphrase != nil {
		err = b.byPassphrase([]byte(req.Passphrase.Reveal()))
	} else {
		err = b.byKeys()
	}
	if err != nil {
		return nil, err
	}
	about := describeBackup(b.content.Header)
	if err := b.record(ctx, who, about); err != nil {
		return nil, w.outward(err)
	}
	out, err := begin(about)
	if err == nil {
		err = b.send(ctx, out, data)
	}
	if err != nil {
		return nil, w.outward(err)
	}
	return &about, nil
}

// backingUp is a backup under way.
type backingUp struct {
	w         *Warden
	instance  store.Instance
	methods   []store.Method
	replacing bool // of the root key, which is two until that is done
	content   backup.Content
	encrypt   func(io.Writer) (io.WriteCloser, error)
}

// look reads what the header says from the very snapshot that is copied.
func (b *backingUp) look(r store.Reader) (err error) {
	if b.instance, err = r.Instance(); err != nil {
		return err
	}
	if b.methods, err = r.Methods(); err != nil {
		return err
	}
	for i := range b.methods {
		b.methods[i].File = nil // dies with the snapshot, and is not needed
	}
	b.instance.SystemKey = append([]byte(nil), b.instance.SystemKey...)
	b.replacing = len(b.instance.OldRootKey) > 0
	end, err := logHead(r)
	b.content.Header = backup.Header{
		Format: backup.Format, Version: b.w.c.Version, Schema: b.instance.Schema,
		Instance: b.instance.ID.String(), Fingerprint: b.instance.Fingerprint, Created: b.w.now().UTC(),
		AuditNumber: end.Number, AuditLink: hex.EncodeToString(end.Link[:]),
	}
	return err
}

// logHead is the last record of the audit log; behind an empty log stands what was
// pruned last.
func logHead(r store.Reader) (store.LogEnd, error) {
	end, err := r.LogEnd()
	if errors.Is(err, store.ErrNotFound) {
		base, err := r.ActivityBase()
		return store.LogEnd{Number: base.Number, Link: base.Link}, err
	}
	return end, err
}

// byKeys has the master key open the backup, every key of an unseal method that is
// known by its public half, and the instance's own. The recovery key is there for
// nothing else, so without it there is no backup.
func (b *backingUp) byKeys() error {
	opens := &b.content.Header.OpensWith
	var to []string
	add := func(kind, fingerprint, recipient string) {
		if recipient != "" {
			to = append(to, recipient)
			*opens = append(*opens, backup.Key{Kind: kind, Fingerprint: fingerprint})
		}
	}
	add(api.BackupByMaster, b.instance.Fingerprint, b.instance.Recipient)
	masters := len(to)
	for _, m := range b.methods {
		if m.Kind == api.MethodRecovery && m.Recipient == "" {
			return api.Errorf(api.Unavailable, "The recovery key %s was made by an earlier version, which did not keep what a backup needs. Unseal once with that key, then try again: coffer unseal --recovery-key-file FILE.", m.Fingerprint)
		}
		if m.Kind != api.MethodPlugin { // whose recipients do not go together with ours in one file
			add(m.Kind, m.Fingerprint, m.Recipient)
		}
	}
	if len(to) == masters {
		// The master key itself is in nobody's hands.
		return api.Errorf(api.Unavailable, "Nobody could open the backup: there is no recovery key, no key file and no shares. Add a recovery key: coffer unseal-method add recovery. Or protect backups with a passphrase: --passphrase-file, or backup.passphrase_file.")
	}
	if b.instance.BackupRecipient != "" {
		fingerprint, err := crypto.RecipientFingerprint(b.instance.BackupRecipient)
		if err != nil {
			return err
		}
		add(api.BackupByInstance, fingerprint, b.instance.BackupRecipient)
	}
	b.encrypt = func(out io.Writer) (io.WriteCloser, error) { return crypto.Encrypt(out, to...) }
	return nil
}

// byPassphrase has a passphrase open the backup, alone. The root key goes with it,
// encrypted to a key made for this: the passphrase then opens everything, and the
// unseal methods of the instance are needed for nothing.
func (b *backingUp) byPassphrase(passphrase []byte) error {
	return b.w.withKeys(func(k *keyring) error {
		root := k.under.Load().root
		system, err := root.OpenDataKey(systemKey, b.instance.SystemKey)
		if err == nil {
			system.Destroy()
		}
		if err != nil || b.replacing {
			return api.Errorf(api.Unavailable, "The keys of the server are being replaced. Try again when coffer rotate --status shows that it is done.")
		}
		once, err := crypto.NewMaster()
		if err != nil {
			return err
		}
		b.content.Master = once.File()
		if b.content.Root, err = once.WrapRoot(root); err != nil {
			return err
		}
		b.content.Header.OpensWith = []backup.Key{{Kind: api.BackupByPassphrase}}
		b.encrypt = func(out io.Writer) (io.WriteCloser, error) {
			return crypto.EncryptPassphrase(out, passphrase, b.w.c.WorkFactor)
		}
		return nil
	})
}

// record makes the record of the backup durable.
func (b *backingUp) record(ctx context.Context, who Caller, about api.Backup) error {
	j := journal{w: b.w, who: who, now: b.w.now()}
	j.note("backup_created", map[string]any{
		"name": about.Name, "auditNumber": about.AuditNumber, "passphrase": b.content.Master != nil,
	})
	err := b.w.write(ctx, j.notes)
	if api.CodeOf(err) == api.Sealed {
		b.w.log.Warn("a backup is made while sealed, and stands in no audit log", "name", about.Name)
		return nil
	}
	return err
}

func (b *backingUp) send(ctx context.Context, out io.Writer, data kv.Copy) error {
	sealed, err := b.encrypt(out)
	if err != nil {
		return err
	}
	if err := backup.Write(sealed, b.content, lasting{ctx, data}); err != nil {
		return err
	}
	return sealed.Close()
}

// lasting reads until its context ends.
type lasting struct {
	ctx context.Context
	r   io.Reader
}

func (r lasting) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

func describeBackup(h backup.Header) api.Backup {
	b := api.Backup{
		Name: h.Name(), Format: h.Format, Version: h.Version, Schema: h.Schema, Instance: h.Instance,
		Fingerprint: h.Fingerprint, CreatedAt: api.At(h.Created), AuditNumber: h.AuditNumber, AuditLink: h.AuditLink,
		DataSize: h.DataSize, OpensWith: []api.BackupKey{},
	}
	for _, k := range h.OpensWith {
		b.OpensWith = append(b.OpensWith, api.BackupKey(k))
	}
	return b
}

// backupKeyPlace is where the key that opens backups again stands in the
// instance's record.
func backupKeyPlace(i store.Instance) []byte {
	return crypto.RecordContext(crypto.ID(i.ID), "instance/backup-key")
}

// newBackupKey puts a new key into an instance's record, which opens its backups
// to see whether they restore.
func newBackupKey(system *crypto.DataKey, i *store.Instance) error {
	key, sealed, err := system.NewIdentity(backupKeyPlace(*i))
	if err == nil {
		i.BackupKey, i.BackupRecipient = sealed, key.Recipient()
	}
	return err
}

// haveBackupKey gives an instance of an earlier version the key that opens its
// backups. Backups are made without it too.
func (w *Warden) haveBackupKey(ctx context.Context, k *keyring, i store.Instance) {
	if i.BackupRecipient != "" {
		return
	}
	err := newBackupKey(k.system, &i)
	if err == nil {
		err = w.store.Update(ctx, func(tx store.Tx) error {
			now, err := tx.Instance()
			if err != nil {
				return err
			}
			now.BackupKey, now.BackupRecipient = i.BackupKey, i.BackupRecipient
			return tx.PutInstance(now)
		})
	}
	if err != nil {
		w.log.Warn("the key for trying backups could not be made", "error", err)
	}
}
