package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"coffer/server/depot"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
)

// BackupConfig says where backups are kept that the server makes by itself. With To
// empty it makes none.
type BackupConfig struct {
	To         string        // a directory, or s3://bucket/prefix
	Every      time.Duration // default 24 hours
	DrillEvery time.Duration // how often one is tried; default 7 days
	Keep       KeepBackups   // default 7 newest, of 7 days and of 4 weeks

	// Passphrase opens backups in place of the recovery key. Of it and its file,
	// which is read for each backup, the passphrase counts.
	Passphrase     string
	PassphraseFile string

	S3 S3Config
}

// S3Config says how a bucket is reached. Of a secret and its file, the secret counts.
type S3Config struct {
	Endpoint, Region, Addressing        string
	AccessKey, SecretKey, SecretKeyFile string
	CAFile                              string
}

// KeepBackups says which backups stay.
type KeepBackups = warden.Keep

const shortest = time.Minute // between two backups

// depot is the place that is configured, nil for none. It is not touched: one that
// is away must not keep the server from starting.
func (c BackupConfig) depot(version string) (depot.Depot, error) {
	if err := c.check(); err != nil || c.To == "" {
		return nil, err
	}
	open := depot.Config{To: c.To, Agent: "coffer/" + cmp.Or(version, "dev"), S3: depot.S3{
		Endpoint: c.S3.Endpoint, Region: c.S3.Region, Addressing: c.S3.Addressing, AccessKey: c.S3.AccessKey,
	}}
	if strings.HasPrefix(c.To, "s3://") {
		var err error
		if open.S3.SecretKey, err = secretOf("backup.s3.secret_key", c.S3.SecretKey, c.S3.SecretKeyFile); err != nil {
			return nil, err
		}
		if open.S3.AccessKey == "" || open.S3.SecretKey == "" {
			return nil, errors.New("backup.to is a bucket: set backup.s3.access_key and backup.s3.secret_key_file")
		}
		if open.S3.CA, err = roots("backup.s3.ca_file", c.S3.CAFile); err != nil {
			return nil, err
		}
	}
	d, err := depot.Open(open)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return d, nil
}

func (c BackupConfig) check() error {
	switch k := c.Keep; {
	case c.Every != 0 && c.Every < shortest:
		return fmt.Errorf("backup.every is %s; it is at least %s", c.Every, shortest)
	case c.DrillEvery != 0 && c.DrillEvery < shortest:
		return fmt.Errorf("backup.drill_every is %s; it is at least %s", c.DrillEvery, shortest)
	case k != KeepBackups{} && k.Newest < 1:
		return fmt.Errorf("backup.keep is %d; at least one backup must stay", k.Newest)
	case k.Days < 0 || k.Weeks < 0:
		return errors.New("backup.keep_days and backup.keep_weeks are not negative")
	}
	return nil
}

// backups is what the warden is told of backups, which go to d.
func (s *Server) backups(d depot.Depot) warden.Backups {
	c := s.c.Backup
	p := warden.Backups{
		Depot: d, Every: c.Every, DrillEvery: c.DrillEvery, Keep: c.Keep, Passphrase: c.passphrase(),
		Scratch: s.c.Data, DataSize: s.db.Size, OpenData: openCopy,
	}
	if p.Keep == (KeepBackups{}) {
		p.Keep = KeepBackups{Newest: 7, Days: 7, Weeks: 4}
	}
	p.Every = cmp.Or(p.Every, 24*time.Hour)
	p.DrillEvery = cmp.Or(p.DrillEvery, 7*24*time.Hour)
	return p
}

// passphrase is how the passphrase of backups is read, or nil for none.
func (c BackupConfig) passphrase() func() (string, error) {
	switch {
	case c.Passphrase != "":
		return func() (string, error) { return c.Passphrase, nil }
	case c.PassphraseFile != "":
		return func() (string, error) {
			text, err := os.ReadFile(c.PassphraseFile)
			return strings.TrimRight(string(text), "\r\n"), err
		}
	default:
		return nil
	}
}

// openCopy opens a copy of data, which may be of an earlier version.
func openCopy(ctx context.Context, path string) (*store.Store, func(context.Context) error, error) {
	db, err := bolt.Open(path, bolt.Options{NoSync: true})
	if err != nil {
		return nil, nil, err
	}
	data, err := store.Open(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return data, func(ctx context.Context) error {
		if err := db.Check(ctx); err != nil {
			return err
		}
		return data.Check(ctx)
	}, nil
}
