package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"coffer/server/depot"
	"coffer/server/metrics"
	"coffer/server/warden"
	"coffer/store"
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
		Scratch: s.c.Data, DataSize: s.db.Size, OpenData: s.openCopy,
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
		// Whoever restores is asked for it in a line, or reads it from a file.
		return func() (string, error) { return strings.TrimRight(c.Passphrase, "\r\n"), nil }
	case c.PassphraseFile != "":
		return func() (string, error) {
			text, err := os.ReadFile(c.PassphraseFile)
			return strings.TrimRight(string(text), "\r\n"), err
		}
	default:
		return nil
	}
}

// openCopy opens the data in a directory that has nothing else, which may be of an
// earlier version.
func (s *Server) openCopy(ctx context.Context, dir string) (*store.Store, func(context.Context) error, error) {
	c := s.c
	c.Data, c.Store, c.Upgrade = dir, StoreConfig{}, true
	db, data, err := openData(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	return data, func(ctx context.Context) error {
		if err := db.Check(ctx); err != nil {
			return err
		}
		return data.Check(ctx)
	}, nil
}

// measureBackups measures backups, where they are kept somewhere.
func (s *Server) measureBackups(p *metrics.Page) {
	state, err := s.warden.BackupState(context.Background())
	if err != nil {
		s.log.Warn("could not look up how backups went", "error", err)
		return
	}
	if state.Where == "" {
		return
	}
	var made, size, tried, restored float64
	if good := state.LastGood; good != nil {
		made, size = seconds(good.EndedAt.Time), float64(good.Size)
	}
	drill := state.Drill
	if drill != nil {
		tried = seconds(drill.At.Time)
		if drill.GoodAt != nil {
			restored = seconds(drill.GoodAt.Time)
		}
	}
	p.Gauge("coffer_backup_last_success_timestamp_seconds", "When a backup was last put where they are kept, in Unix time; 0 if never.", made)
	p.Gauge("coffer_backup_last_size_bytes", "Size of that backup.", size)
	p.Gauge("coffer_backup_last_failed", "Whether the last attempt to make a backup failed.", metrics.Flag(state.Last != nil && state.Last.Error != nil))
	p.Gauge("coffer_backup_drill_restores", "Whether the newest backup restored when it was last tried.", metrics.Flag(drill != nil && drill.Restores))
	p.Gauge("coffer_backup_drill_timestamp_seconds", "When a backup was last tried, in Unix time; 0 if never.", tried)
	p.Gauge("coffer_backup_drill_last_success_timestamp_seconds", "When a backup was last tried and restored, in Unix time; 0 if never.", restored)
}

// seconds is an instant in Unix time.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
