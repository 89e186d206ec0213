package warden

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/store"
)

// BackupSink takes what is in a backup. Begin, unless it is nil, is told what it
// is, before any of its data come; its error ends the reading.
type BackupSink struct {
	Begin func(api.Backup) error
	Data  io.Writer
}

// OpenedBackup is a backup that was read to its end: everything in it was there
// and as it was written.
type OpenedBackup struct {
	About   api.Backup
	content *backup.Content
	open    keysOf
}

// keysOf opens the keys of an instance out of a backup, and its master key if that is
// what opened them.
type keysOf func([]store.Method, store.Instance) (*keyring, *crypto.Master, error)

// LookAtBackup says of a backup what everybody may know.
func LookAtBackup(in io.Reader) (*api.BackupProof, error) {
	seen, err := crypto.LookAt(in)
	if err != nil {
		return nil, errNoBackup()
	}
	return &api.BackupProof{Passphrase: seen.Passphrase, Keys: append([]string{}, seen.Keys...), Faults: []string{}}, nil
}

func errNoBackup() *api.Error {
	return api.Errorf(api.Invalid, "This is no backup of coffer: it is not an age file. Look whether it is the right file, and whether it arrived whole.")
}

// ReadBackup decrypts a backup and hands over its data. Only when there was no
// error may anything that it handed over be used.
func ReadBackup(in io.Reader, with api.OpenBackup, to BackupSink) (*OpenedBackup, error) {
	if with.Passphrase != nil {
		plain, err := crypto.DecryptPassphrase(in, []byte(with.Passphrase.Reveal()))
		if err != nil {
			return nil, explainBackup(err)
		}
		return readBackup(plain, to, nil)
	}
	if with.Key == nil {
		return nil, api.Errorf(api.Invalid, "This takes the recovery key, a key file, or the passphrase of the backup.")
	}
	key, err := backupKeyOf([]byte(with.Key.Reveal()))
	if err != nil {
		return nil, err
	}
	plain, err := key.Decrypt(in)
	if err != nil {
		return nil, explainBackup(err)
	}
	return readBackup(plain, to, func(methods []store.Method, i store.Instance) (*keyring, *crypto.Master, error) {
		return keysBy(key, methods, i)
	})
}

// backupKeyOf reads a key, or as many shares of one as it takes.
func backupKeyOf(text []byte) (*crypto.Identity, error) {
	if crypto.LooksLikeShare(string(text)) {
		shares, err := crypto.ParseShares(text)
		if err != nil {
			return nil, api.Errorf(api.Invalid, "%s.", sentence(err.Error()))
		}
		key, err := crypto.CombineShares(shares)
		if err != nil {
			return nil, api.Errorf(api.Invalid, "%s. Give as many different shares of one key as it takes, all at once.", sentence(err.Error()))
		}
		return key, nil
	}
	key, err := crypto.ParseIdentity(text)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "This is not a usable key (%v). It should hold one line that begins with AGE-SECRET-KEY-PQ-1.", err)
	}
	return key, nil
}

// ReadOwnBackup is ReadBackup with the key that the instance has for that: to see
// whether a backup restores, and for nothing else.
func (w *Warden) ReadOwnBackup(ctx context.Context, in io.Reader, to BackupSink) (*OpenedBackup, error) {
	var key *crypto.Identity
	err := w.withKeys(func(k *keyring) error {
		i, err := w.instance(ctx)
		if err != nil {
			return err
		}
		if i.BackupRecipient == "" {
			return api.Errorf(api.Unavailable, "The key for trying backups is missing. Seal and unseal the server once, then try again.")
		}
		if key, err = k.system.OpenIdentity(i.BackupKey, backupKeyPlace(i)); err != nil {
			return fmt.Errorf("open the key for trying backups: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, w.outward(err)
	}
	// The keys are not held while it comes from elsewhere: sealing waits for nobody
	// who is slow.
	plain, err := key.Decrypt(in)
	if err != nil {
		return nil, explainBackup(err)
	}
	return readBackup(plain, to, func(_ []store.Method, i store.Instance) (keys *keyring, _ *crypto.Master, err error) {
		err = w.withKeys(func(k *keyring) error {
			keys, err = copyKeys(k.under.Load(), i)
			return err
		})
		return keys, nil, err
	})
}

// errHalfReplaced is about a backup that was made while the root key was replaced, of
// which only the new one is left.
var errHalfReplaced = errors.New("the keys were being replaced when the backup was made")

// copyKeys opens the keys of an instance out of a backup with a second hold of root
// keys, which lasts when the first is wiped.
func copyKeys(u *rooted, i store.Instance) (keys *keyring, err error) {
	var root, old *crypto.Root
	if len(i.OldRootKey) > 0 {
		if u.old == nil {
			return nil, errHalfReplaced
		}
		if old, err = copyRoot(u.old); err != nil {
			return nil, err
		}
	}
	root, err = copyRoot(u.root)
	if err == nil {
		keys, err = newKeyring(root, old, i)
	}
	if err != nil {
		for _, r := range []*crypto.Root{root, old} {
			if r != nil {
				r.Destroy()
			}
		}
	}
	return keys, err
}

func (w *Warden) instance(ctx context.Context) (i store.Instance, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		found, err := r.Instance()
		i = found
		i.BackupKey = append([]byte(nil), found.BackupKey...)
		i.RootKey, i.SystemKey, i.TokenKey, i.AuditChain, i.AuditNotary = nil, nil, nil, nil, nil
		return err
	})
	return i, err
}

// copyRoot is a second hold of a root key, which lasts when the first is wiped.
func copyRoot(root *crypto.Root) (*crypto.Root, error) {
	once, err := crypto.NewMaster()
	if err != nil {
		return nil, err
	}
	file, err := once.WrapRoot(root)
	if err != nil {
		return nil, err
	}
	return once.OpenRoot(file)
}

func readBackup(plain io.Reader, to BackupSink, open keysOf) (*OpenedBackup, error) {
	sink := backup.Sink{Data: to.Data, Begin: func(c backup.Content) error {
		if c.Header.Schema > store.Schema {
			return errNewerBackup(c.Header)
		}
		if to.Begin == nil {
			return nil
		}
		return to.Begin(describeBackup(c.Header))
	}}
	c, err := backup.Read(plain, sink)
	if err != nil {
		return nil, explainBackup(err)
	}
	b := &OpenedBackup{About: describeBackup(c.Header), content: c, open: open}
	switch {
	case c.Master != nil:
		b.open = func(_ []store.Method, i store.Instance) (*keyring, *crypto.Master, error) {
			once, err := crypto.ParseMaster(append([]byte(nil), c.Master...))
			if err != nil {
				return nil, nil, err
			}
			root, err := once.OpenRoot(c.Root)
			if err != nil {
				return nil, nil, err
			}
			keys, err := newKeyring(root, nil, i)
			if err != nil {
				root.Destroy()
			}
			return keys, nil, err
		}
	case open == nil:
		return nil, api.Errorf(api.Invalid, "The keys are missing in this backup: it was not made by coffer.")
	}
	return b, nil
}

func errNewerBackup(h backup.Header) *api.Error {
	return api.Errorf(api.Invalid, "This backup was made by coffer %s, which is newer than this version. Restore it with that version or a later one.", h.Version)
}

// explainBackup says what is wrong with a backup, or with the key for it.
func explainBackup(err error) error {
	wrong, isKey := errors.AsType[*crypto.KeyError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, crypto.ErrWrongPassphrase):
		return api.Errorf(api.Forbidden, "Wrong passphrase: the backup does not open with it. It is the passphrase that was given when the backup was made, not the one that unseals the server.")
	case isKey && wrong.Wanted != "":
		return api.Errorf(api.Forbidden, "Wrong key: the backup opens with %s, and this key is %s.", wrong.Wanted, wrong.Offered)
	case isKey:
		return api.Errorf(api.Forbidden, "Wrong key: the backup does not open with %s.", wrong.Offered)
	case errors.Is(err, crypto.ErrWorkFactor):
		return api.Errorf(api.Invalid, "The backup asks for more work to open it than coffer is willing to do. coffer did not make it.")
	case errors.Is(err, backup.ErrNewer):
		return api.Errorf(api.Invalid, "This backup was made by a newer version of coffer. Restore it with that version or a later one.")
	case errors.Is(err, crypto.ErrDamaged), errors.Is(err, backup.ErrDamaged):
		return damagedBackup(err)
	}
	return err
}

// damagedBackup says of a file that does not read what is the most likely cause.
func damagedBackup(err error) *api.Error {
	text := err.Error()
	switch {
	case strings.Contains(text, "not encrypted with a passphrase"):
		return api.Errorf(api.Forbidden, "A passphrase does not open this backup. It takes the recovery key or a key file.")
	case strings.Contains(text, "not encrypted to a hybrid key"):
		return api.Errorf(api.Forbidden, "No key opens this backup. It takes the passphrase that was given when it was made.")
	}
	return api.Errorf(api.Invalid, "The backup is damaged, cut off or was altered: not all of it can be read (%s). Take another copy of it, or an older backup.", strings.TrimPrefix(text, "damaged or foreign key file: "))
}

// keysBy opens the keys with the key of an unseal method, or with the master key
// itself.
func keysBy(key *crypto.Identity, methods []store.Method, i store.Instance) (*keyring, *crypto.Master, error) {
	master, err := masterBy(key, methods, i)
	if err != nil {
		return nil, nil, err
	}
	keys, err := openKeyring(master, i)
	if err != nil {
		return nil, nil, fmt.Errorf("open the root key in the backup: %w", err)
	}
	return keys, master, nil
}

func masterBy(key *crypto.Identity, methods []store.Method, i store.Instance) (*crypto.Master, error) {
	if key.Fingerprint() == i.Fingerprint {
		return crypto.ParseMaster([]byte(key.Reveal() + "\n"))
	}
	o, err := byIdentity(methods, key, "This key")
	if api.CodeOf(err) == api.Forbidden {
		return nil, api.Errorf(api.Forbidden, "The key %s opens the backup, and nothing in it. Use the recovery key or a key file.", key.Fingerprint())
	}
	return o.master, err
}

// Specimen is an instance out of a backup, opened to be looked at and to be made
// ready. Nobody is served by it, and nothing works in it by itself.
type Specimen struct {
	backup *OpenedBackup
	w      *Warden // with keys, and without anything that runs
	master *crypto.Master
}

// Examine opens the data of a backup. Close the Specimen before its store.
func (b *OpenedBackup) Examine(ctx context.Context, data *store.Store, now func() time.Time, log *slog.Logger) (*Specimen, error) {
	var instance store.Instance
	var methods []store.Method
	var keys *keyring
	var master *crypto.Master
	err := data.View(ctx, func(r store.Reader) (err error) {
		if instance, err = r.Instance(); err != nil {
			return err
		}
		if methods, err = r.Methods(); err != nil {
			return err
		}
		if err := b.agrees(r, instance); err != nil {
			return err
		}
		keys, master, err = b.open(methods, instance)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, api.Errorf(api.Invalid, "There is no instance in this backup.")
	}
	if err != nil {
		return nil, err
	}
	w := &Warden{c: Config{Store: data}, store: data, now: now, log: log}
	w.notary = newNotary(w)
	w.start.initialized.Store(true)
	w.keys.Store(keys)
	return &Specimen{b, w, master}, nil
}

// agrees holds what the header says against the data.
func (b *OpenedBackup) agrees(r store.Reader, i store.Instance) error {
	h := b.content.Header
	differ := func(what string) error {
		return api.Errorf(api.Invalid, "The backup contradicts itself: its header names another %s than its data. Take another copy of it, or an older backup.", what)
	}
	if i.ID.String() != h.Instance {
		return differ("instance")
	}
	if i.Fingerprint != h.Fingerprint {
		return differ("master key")
	}
	head, err := logHead(r)
	if err != nil {
		return err
	}
	link := head.Link
	if i.Schema != h.Schema && head.Number > h.AuditNumber {
		// Bringing older data up to date may have been recorded.
		row, err := r.ActivityRow(h.AuditNumber)
		if err != nil {
			return differ("end of the audit log")
		}
		head.Number, link = row.Number, row.Link
	}
	if head.Number != h.AuditNumber || hex.EncodeToString(link[:]) != h.AuditLink {
		return differ("end of the audit log")
	}
	return nil
}

// Close wipes the keys.
func (s *Specimen) Close() {
	if k := s.w.keys.Swap(nil); k != nil {
		k.destroy()
	}
}
