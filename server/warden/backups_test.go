package warden_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// made is a backup that the server itself made.
func made(t *testing.T, w *warden.Warden) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := w.WriteBackup(t.Context(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return &file, nil })
	must(t, err)
	return file.Bytes()
}

// tried opens a backup with the server's own key, and what it holds.
func tried(t *testing.T, w *warden.Warden, file []byte, damage func(store.Tx) error) (*api.BackupProof, error) {
	t.Helper()
	var data bytes.Buffer
	b, err := w.ReadOwnBackup(t.Context(), bytes.NewReader(file), warden.BackupSink{Data: &data})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	must(t, os.WriteFile(path, data.Bytes(), 0o600))
	db, err := bolt.Open(path, bolt.Options{})
	must(t, err)
	st, err := store.Open(t.Context(), db)
	must(t, err)
	defer st.Close()
	if damage != nil {
		must(t, st.Update(t.Context(), damage))
	}
	s, err := b.Examine(t.Context(), st, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Prove(t.Context())
}

func backedUpHouse(t *testing.T) (*house, *warden.Warden) {
	t.Helper()
	h := newHouse(t)
	h.with = func(c *warden.Config) { c.Copier, c.Version = h.db.(kv.Copier), "test" }
	return h, h.warden(h.db)
}

func TestTheServerTriesItsOwnBackups(t *testing.T) {
	_, w := backedUpHouse(t)
	p, err := tried(t, w, made(t, w), nil)
	if err != nil || !p.Good || p.Values == 0 || p.Vaults == 0 || p.Log == nil || len(p.Faults) > 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	// It goes on serving: trying one wiped nothing.
	if w.State() != api.StateOK {
		t.Error(w.State())
	}
	if _, err := tried(t, w, made(t, w), nil); err != nil {
		t.Error(err)
	}
}

// TestATryFindsWhatDoesNotOpen damages the data of a backup in ways that only keys
// can see.
func TestATryFindsWhatDoesNotOpen(t *testing.T) {
	_, w := backedUpHouse(t)
	file := made(t, w)
	for name, c := range map[string]struct {
		damage func(store.Tx) error
		says   string
	}{
		"a value": {func(tx store.Tx) error {
			return everyNewest(tx, func(e store.Environment, n store.Newest) error {
				n.Sealed = append([]byte(nil), n.Sealed...)
				n.Sealed[len(n.Sealed)-1] ^= 1
				v, err := tx.Version(n.Version)
				if err != nil {
					return err
				}
				v.Sealed = append([]byte(nil), v.Sealed...)
				return tx.SetValue(e, n, v)
			})
		}, "does not open"},
		"a token": {func(tx store.Tx) error {
			return tx.PutConnection(store.Connection{ID: store.ID{7}, User: store.ID{8}, Access: []byte("sealed with nothing of ours at all, but long enough")})
		}, "token of connection"},
	} {
		p, err := tried(t, w, file, c.damage)
		if err != nil || p.Good || !strings.Contains(strings.Join(p.Faults, "\n"), c.says) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// The header names another end of the log than the data has.
	_, err := tried(t, w, file, func(tx store.Tx) error {
		i, err := tx.Instance()
		i.ID[0] ^= 1
		return errors.Join(err, tx.PutInstance(i))
	})
	if api.CodeOf(err) != api.Invalid || !strings.Contains(err.Error(), "contradicts itself") {
		t.Errorf("another instance: %v", err)
	}
}

func everyNewest(tx store.Tx, do func(store.Environment, store.Newest) error) error {
	vaults, err := tx.Vaults()
	for _, v := range vaults {
		envs, errEnvs := tx.Environments(v.ID)
		err = errors.Join(err, errEnvs)
		for _, e := range envs {
			all, errNewest := tx.Newest(e)
			err = errors.Join(err, errNewest)
			for _, n := range all {
				err = errors.Join(err, do(e, n))
			}
		}
	}
	return err
}

// TestAnInstanceOfBefore has neither the key for trying backups nor public halves.
func TestAnInstanceOfBefore(t *testing.T) {
	h, w := backedUpHouse(t)
	must(t, w.Close())
	st, err := store.Open(t.Context(), h.db)
	must(t, err)
	var recovery store.Method
	must(t, st.Update(t.Context(), func(tx store.Tx) error {
		i, err := tx.Instance()
		i.BackupKey, i.BackupRecipient = nil, ""
		methods, errMethods := tx.Methods()
		for _, m := range methods {
			if m.Kind == api.MethodRecovery {
				recovery = m
				recovery.File = append([]byte(nil), m.File...)
				m.Recipient = ""
				err = errors.Join(err, tx.PutMethod(m))
			}
		}
		return errors.Join(err, errMethods, tx.PutInstance(i))
	}))
	w = h.warden(h.db)
	_, err = w.WriteBackup(t.Context(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return io.Discard, nil })
	if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "Unseal once with that key") {
		t.Errorf("without the recovery key's public half: %v", err)
	}
	must(t, st.Update(t.Context(), func(tx store.Tx) error { return tx.PutMethod(recovery) }))
	// The key for trying was made when it was unsealed.
	if p, err := tried(t, w, made(t, w), nil); err != nil || !p.Good {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestABackupThatNobodyOpensIsNone has the ways to unseal taken away whose keys open
// backups: a passphrase unseals and opens no backup, and the master key itself is in
// nobody's hands.
func TestABackupThatNobodyOpensIsNone(t *testing.T) {
	h, w := backedUpHouse(t)
	st, err := store.Open(t.Context(), h.db)
	must(t, err)
	must(t, st.Update(t.Context(), func(tx store.Tx) error {
		methods, err := tx.Methods()
		for _, m := range methods {
			err = errors.Join(err, tx.DeleteMethod(m.ID))
		}
		return errors.Join(err, tx.PutMethod(store.Method{ID: store.ID{9}, Kind: api.MethodPassphrase, File: []byte("wrapped")}))
	}))
	begun := func(api.Backup) (io.Writer, error) { return io.Discard, nil }
	_, err = w.WriteBackup(t.Context(), api.NewBackup{}, begun)
	if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "coffer unseal-method add recovery") {
		t.Errorf("by keys that nobody has: %v", err)
	}
	words := api.NewSecret("four or five words")
	if _, err := w.WriteBackup(t.Context(), api.NewBackup{Passphrase: &words}, begun); err != nil {
		t.Errorf("by a passphrase of its own: %v", err)
	}
}

// TestBackupsWaitForEachOther, because each needs as much room as the data, and give
// up with their context.
func TestBackupsWaitForEachOther(t *testing.T) {
	_, w := backedUpHouse(t)
	begun, goOn := make(chan bool), make(chan bool)
	ended := make(chan error, 1)
	go func() {
		_, err := w.WriteBackup(context.Background(), api.NewBackup{}, func(api.Backup) (io.Writer, error) {
			close(begun)
			<-goOn
			return io.Discard, nil
		})
		ended <- err
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := w.WriteBackup(ctx, api.NewBackup{}, func(api.Backup) (io.Writer, error) {
		t.Error("it did not wait")
		return io.Discard, nil
	})
	if err == nil {
		t.Error("it was made")
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
