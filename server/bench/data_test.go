//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
)

// layout is how much a data file holds. Filled says how many environments of a
// vault hold Secrets secrets; with a fourth one, it has one more than the usual.
type layout struct{ Vaults, Filled, Secrets int }

// The usual environments, the one that requests are about first, and another one.
var environments = []string{"production", "staging", "development", "preview"}

const usual = 3

// data is a data file ready to be served, and a token for all that is in it.
type data struct {
	Dir   string
	Token string
	layout
}

const (
	owner    = "bench"
	password = "a password"
	dataNote = "bench.json" // beside a finished data file: what it holds
)

func repository(vault int) string { return fmt.Sprintf("%s/repository-%06d", owner, vault) }

func secretName(i int) string { return fmt.Sprintf("SERVICE_SETTING_%04d", i) }

// secretValue is 100 bytes that need no quoting and differ from all other ones.
func secretValue(vault, secret, turn int) string {
	head := fmt.Sprintf("%06d.%04d.%08d.", vault, secret, turn)
	const rest = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
	return (head + rest)[:100]
}

func secretValues(vault, secrets, turn int) map[string]api.Secret {
	all := make(map[string]api.Secret, secrets)
	for i := range secrets {
		all[secretName(i)] = api.NewSecret(secretValue(vault, i, turn))
	}
	return all
}

// existingData is what makeData left in dir, if it finished.
func existingData(dir string, l layout) (*data, bool) {
	text, err := os.ReadFile(filepath.Join(dir, dataNote))
	if err != nil {
		return nil, false
	}
	var d data
	if err := json.Unmarshal(text, &d); err != nil || d.layout != l {
		return nil, false
	}
	d.Dir = dir
	return &d, true
}

// makeData fills a data file through the warden, as a server would, without
// waiting for the disk.
func makeData(ctx context.Context, dir string, l layout) (_ *data, err error) {
	w, done, err := openWarden(ctx, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if _, err := w.SetUp(ctx, warden.Setup{KeyFile: filepath.Join(dir, "coffer.key")}); err != nil {
		return nil, err
	}
	token, err := addOwner(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := fillVaults(ctx, w, token, l); err != nil {
		return nil, err
	}
	d := &data{Dir: dir, Token: token, layout: l}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return d, os.WriteFile(filepath.Join(dir, dataNote), text, 0o600)
}

// openWarden opens data without a server, and without waiting for the disk.
func openWarden(ctx context.Context, dir string, batched bool) (w *warden.Warden, done func() error, err error) {
	db, err := bolt.Open(filepath.Join(dir, server.DataFile), bolt.Options{NoSync: true, MmapSize: 16 << 30})
	if err != nil {
		return nil, nil, err
	}
	st, err := store.Open(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	plan, err := billing.Plans().Find("")
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	w = warden.New(warden.Config{Store: st, Log: slog.New(slog.DiscardHandler), Plan: plan, BatchReads: batched})
	done = func() error { return errors.Join(w.Close(), st.Close()) }
	if _, err := w.Open(ctx, warden.Start{}); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return w, done, nil
}

func addOwner(ctx context.Context, w *warden.Warden) (token string, err error) {
	operator, err := w.Identify(ctx, warden.Credential{Operator: true})
	if err != nil {
		return "", err
	}
	_, err = w.AddLocalUser(ctx, operator, api.AddLocalUser{Username: owner, Password: api.NewSecret(password)})
	if err != nil {
		return "", err
	}
	k, err := w.IssueToken(ctx, operator, api.IssueToken{
		Username: owner, Name: "bench", Environment: "live",
		Scopes: []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets, api.AdminAPIKeys},
	})
	if err != nil {
		return "", err
	}
	return string(k.Token), nil
}

// fillVaults works on many vaults at once, so that commits are shared.
func fillVaults(ctx context.Context, w *warden.Warden, token string, l layout) error {
	who, err := w.Identify(ctx, warden.Credential{Bearer: token})
	if err != nil {
		return err
	}
	const workers = 64
	var next atomic.Int64
	var working sync.WaitGroup
	failed := make(chan error, workers)
	for range workers {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < l.Vaults; i = int(next.Add(1)) - 1 {
				if err := fillVault(ctx, w, who, i, l); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	working.Wait()
	close(failed)
	return <-failed
}

func fillVault(ctx context.Context, w *warden.Warden, who warden.Caller, i int, l layout) error {
	if _, err := w.CreateVault(ctx, who, api.CreateVault{RepoFullName: repository(i)}); err != nil {
		return err
	}
	for n, e := range environments[:l.Filled] {
		if n >= usual {
			at := api.Ref{Owner: owner, Repo: strings.TrimPrefix(repository(i), owner+"/")}
			if _, err := w.CreateEnvironment(ctx, who, api.CreateEnvironment{Ref: at, Name: e}); err != nil {
				return err
			}
		}
		_, err := w.Push(ctx, who, api.PushSecrets{
			RepoFullName: repository(i), Environment: e, Secrets: secretValues(i, l.Secrets, 0),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copy is the same data in a directory of its own. The key file stays where it
// is recorded to be.
func (d *data) copy(b testing.TB) *data {
	b.Helper()
	from, err := os.Open(filepath.Join(d.Dir, server.DataFile))
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	other := *d
	other.Dir = b.TempDir()
	to, err := os.OpenFile(filepath.Join(other.Dir, server.DataFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		b.Fatal(err)
	}
	return &other
}
