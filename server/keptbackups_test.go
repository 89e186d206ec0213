package server_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/server/client"
	"coffer/server/depot/depottest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// backingUpTo configures a place for backups.
func backingUpTo(place string) func(*server.Config) {
	return func(c *server.Config) { c.Backup.To = place }
}

func inStandIn(s *depottest.S3) func(*server.Config) {
	return func(c *server.Config) {
		c.Backup.To = "s3://" + depottest.Bucket + "/coffer"
		c.Backup.S3 = server.S3Config{Endpoint: s.URL, AccessKey: depottest.AccessKey, SecretKey: depottest.SecretKey}
	}
}

// runs has a job run, and returns its error.
func runs(t testing.TB, op *client.Client, job string) string {
	t.Helper()
	for {
		j, err := op.RunJob(t.Context(), job)
		switch {
		case err != nil:
			t.Fatal(err)
		case j.Running: // on a busy machine
			time.Sleep(50 * time.Millisecond)
		case j.LastError != nil:
			return *j.LastError
		default:
			return ""
		}
	}
}

func keptBackups(t testing.TB, op *client.Client) *api.KeptBackups {
	t.Helper()
	k, err := op.KeptBackups(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestBackupsAreKeptAndTried goes the whole way, in a directory and in a bucket, with
// keys and with a passphrase.
func TestBackupsAreKeptAndTried(t *testing.T) {
	s3 := depottest.NewS3(t)
	pass := filepath.Join(t.TempDir(), "pass")
	must(t, os.WriteFile(pass, []byte("four or five words\n"), 0o600))
	for name, options := range map[string][]func(*server.Config){
		"in a directory":    {backingUpTo(t.TempDir())},
		"in a bucket":       {inStandIn(s3)},
		"with a passphrase": {backingUpTo(t.TempDir()), func(c *server.Config) { c.Backup.PassphraseFile = pass }},
	} {
		t.Run(name, func(t *testing.T) {
			in, ann := audited(t, options...)
			if k := keptBackups(t, in.Operator); k.Last != nil || k.Drill != nil || len(k.Backups) != 0 || k.Where == "" {
				t.Errorf("at first: %+v", k)
			}
			if failed := runs(t, in.Operator, "drill"); !strings.Contains(failed, "no backup") {
				t.Errorf("a drill of nothing says %q", failed)
			}
			if failed := runs(t, in.Operator, "backups"); failed != "" {
				t.Fatal(failed)
			}
			if failed := runs(t, in.Operator, "drill"); failed != "" {
				t.Fatal(failed)
			}
			k := keptBackups(t, in.Operator)
			if len(k.Backups) != 1 || k.Last.Error != nil || k.LastGood == nil || k.Problem != nil {
				t.Fatalf("afterwards: %+v", k)
			}
			if d := k.Drill; d == nil || !d.Restores || d.Reason != nil || *d.Name != k.Backups[0].Name || !strings.HasPrefix(d.Found, "1 vault, 4 values and ") {
				t.Errorf("the drill: %+v", d)
			}
			var file bytes.Buffer
			into := func() (io.Writer, error) { return &file, nil }
			must(t, in.Operator.FetchBackup(t.Context(), k.Backups[0].Name, into))
			if int64(file.Len()) != k.Backups[0].Size || *k.Backups[0].AuditNumber != k.Last.AuditNumber {
				t.Errorf("%d bytes of %+v", file.Len(), k.Backups[0])
			}
			if !k.Passphrase {
				c, err := backup.Read(decryptedBy(t, in.Recovery, file.Bytes()), backup.Sink{})
				if err != nil || c.Header.Name() != k.Backups[0].Name || c.Header.AuditLink != k.Last.AuditLink {
					t.Errorf("the backup is of %+v, %v", c, err)
				}
			}
			if err := in.Operator.FetchBackup(t.Context(), "coffer.db", into); api.CodeOf(err) != api.NotFound {
				t.Errorf("another file: %v", err)
			}
			if _, err := ann.KeptBackups(t.Context(), true); api.CodeOf(err) != api.Forbidden {
				t.Errorf("a user lists: %v", err)
			}
			if err := ann.FetchBackup(t.Context(), k.Backups[0].Name, into); api.CodeOf(err) != api.Forbidden {
				t.Errorf("a user downloads: %v", err)
			}
			var log bytes.Buffer
			must(t, in.Operator.ExportAudit(t.Context(), &log))
			for _, action := range []string{"backup_created", "backup_drill", "backup_downloaded"} {
				if !strings.Contains(log.String(), `"`+action+`"`) {
					t.Errorf("no record of %s", action)
				}
			}
			for _, line := range []string{"coffer_backup_last_failed 0\n", "coffer_backup_drill_restores 1\n", fmt.Sprintf("coffer_backup_last_size_bytes %d\n", k.Last.Size)} {
				if _, page := scrape(t, "http://operator", "", in.Operator.Transport); !strings.Contains(page, line) {
					t.Errorf("no %s in %s", line, page)
				}
			}
			if left := leftBeside(t, in); len(left) > 0 {
				t.Errorf("the drill left %q", left)
			}
		})
	}
	if leaks := s3.Leaks(); leaks != nil {
		t.Errorf("the secret key was sent: %q", leaks)
	}
}

// leftBeside is what drills and backups left beside the data.
func leftBeside(t testing.TB, in *servertest.Instance) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(in.Data, "*-*"))
	must(t, err)
	return left
}

func TestNoPlaceForBackups(t *testing.T) {
	in := servertest.New(t)
	if k := keptBackups(t, in.Operator); k.Where != "" || len(k.Backups) != 0 {
		t.Errorf("%+v", k)
	}
	if _, err := in.Operator.RunJob(t.Context(), "backups"); api.CodeOf(err) != api.NotFound {
		t.Errorf("the job is there: %v", err)
	}
}

// TestAPlaceThatFailsIsSeen has the place fail in every way, which must be seen where
// people look, leave what is there, and be over when it is over.
func TestAPlaceThatFailsIsSeen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mount")
	s3 := depottest.NewS3(t)
	for name, c := range map[string]struct {
		option       func(*server.Config)
		break_, mend func()
		says         string
	}{
		"a directory that is not there": {backingUpTo(dir), func() { must(t, os.RemoveAll(dir)) }, func() { must(t, os.Mkdir(dir, 0o700)) }, "mount what it is on"},
		"a store that is down":          {inStandIn(s3), func() { s3.Break("", standin.Status(500)) }, s3.Heal, "tried again later"},
		"a store that refuses":          {inStandIn(s3), func() { s3.Break("", depottest.Refuse(403, "AccessDenied")) }, s3.Heal, "give them the right"},
	} {
		t.Run(name, func(t *testing.T) {
			in, _ := audited(t, c.option)
			c.break_()
			failed := runs(t, in.Operator, "backups")
			k := keptBackups(t, in.Operator)
			if !strings.Contains(failed, c.says) || k.Last == nil || k.Last.Error == nil || *k.Last.Error != failed || k.LastGood != nil || k.Problem == nil {
				t.Errorf("it says %q, %+v", failed, k)
			}
			if strings.Contains(failed, depottest.SecretKey) {
				t.Error("it tells the key")
			}
			if failed := runs(t, in.Operator, "drill"); failed == "" {
				t.Error("a drill without a place goes well")
			}
			if d := keptBackups(t, in.Operator).Drill; d == nil || d.Restores {
				t.Errorf("the drill is %+v", d)
			}
			c.mend()
			if failed := runs(t, in.Operator, "backups"); failed != "" {
				t.Fatal(failed)
			}
			// The drill was red, so the new backup is tried at once.
			if k := keptBackups(t, in.Operator); k.Last.Error != nil || len(k.Backups) != 1 || !k.Drill.Restores {
				t.Errorf("afterwards: %+v, %+v", k, k.Drill)
			}
		})
	}
}

// TestAnAlteredBackupIsFound changes a backup where it is kept, and cuts it off.
func TestAnAlteredBackupIsFound(t *testing.T) {
	for name, alter := range map[string]func([]byte) []byte{
		"a bit":      func(b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 1; return b },
		"the end":    func(b []byte) []byte { return b[:len(b)-1] },
		"most of it": func(b []byte) []byte { return b[:300] },
		"all of it":  func([]byte) []byte { return []byte{} },
		"more of it": func(b []byte) []byte { return append(slices.Clone(b), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			s3 := depottest.NewS3(t)
			var c clock
			in, _ := audited(t, inStandIn(s3), c.option, func(c *server.Config) { c.Backup.Keep = server.KeepBackups{Newest: 1} })
			if failed := runs(t, in.Operator, "backups") + runs(t, in.Operator, "drill"); failed != "" {
				t.Fatal(failed)
			}
			good := s3.Objects()[0]
			c.turn(time.Minute)
			if failed := runs(t, in.Operator, "backups"); failed != "" {
				t.Fatal(failed)
			}
			all := s3.Objects()
			if len(all) != 2 || all[0] != good {
				t.Fatalf("the last one that was tried and restores is gone: %q", all)
			}
			s3.SetObject(all[1], alter(s3.Object(all[1])))
			if failed := runs(t, in.Operator, "drill"); failed != "" {
				t.Errorf("the job failed: %s", failed)
			}
			d := keptBackups(t, in.Operator).Drill
			if d.Restores || d.Reason == nil || !strings.Contains(*d.Reason, "damaged") && !strings.Contains(*d.Reason, "no backup") || !strings.HasSuffix(good, *d.LastGood) {
				t.Errorf("the drill: %+v %s", d, *d.Reason)
			}
			c.turn(time.Minute)
			if failed := runs(t, in.Operator, "backups"); failed != "" {
				t.Fatal(failed)
			}
			if d := keptBackups(t, in.Operator).Drill; !d.Restores {
				t.Errorf("after a new backup: %+v", d)
			}
			if s3.Object(good) == nil {
				t.Error("the good one was removed before another was tried")
			}
			c.turn(time.Minute)
			if failed := runs(t, in.Operator, "backups"); failed != "" || s3.Object(good) != nil {
				t.Errorf("the good one stays for ever, %s", failed)
			}
		})
	}
}

// TestRetentionAndClocks makes a backup a day, and has the clock jump.
func TestRetentionAndClocks(t *testing.T) {
	dir := t.TempDir()
	var c clock
	in, _ := audited(t, backingUpTo(dir), c.option, func(c *server.Config) { c.Backup.Keep = server.KeepBackups{Newest: 3, Weeks: 2} })
	other := filepath.Join(dir, "coffer-00000000-20200101T000000Z.tar.age")
	must(t, os.WriteFile(other, []byte("of another instance"), 0o600))
	const day = 24 * time.Hour
	backUp := func(want int) {
		t.Helper()
		if failed := runs(t, in.Operator, "backups"); failed != "" {
			t.Fatal(failed)
		}
		if n := len(keptBackups(t, in.Operator).Backups); n != want {
			t.Errorf("%d backups are there, not %d", n, want)
		}
	}
	backUp(1)
	c.turn(day)
	backUp(2)
	for range 20 {
		c.turn(day)
		if failed := runs(t, in.Operator, "backups"); failed != "" {
			t.Fatal(failed)
		}
	}
	before := len(keptBackups(t, in.Operator).Backups)
	if before < 3 || before > 5 {
		t.Errorf("%d backups are there", before)
	}
	c.turn(365 * day)
	if failed := runs(t, in.Operator, "backups"); failed != "" {
		t.Fatal(failed)
	}
	if n := len(keptBackups(t, in.Operator).Backups); n < 3 {
		t.Errorf("a year later %d are left", n)
	}
	c.turn(-365 * day)
	for range 3 {
		c.turn(day)
		if failed := runs(t, in.Operator, "backups"); failed != "" {
			t.Fatal(failed)
		}
	}
	k := keptBackups(t, in.Operator)
	newest := k.Backups[1].CreatedAt // after the one from the future
	if len(k.Backups) < 4 || c.now().Sub(newest.Time) > time.Hour {
		t.Errorf("after the jump back: %+v", k.Backups)
	}
	if failed := runs(t, in.Operator, "drill"); failed != "" {
		t.Fatal(failed)
	}
	if d := keptBackups(t, in.Operator).Drill; *d.Name != k.Backups[1].Name {
		t.Errorf("it tries %s, and the last one made is %s", *d.Name, k.Backups[1].Name)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// TestLeftoversOfAKill has what a killed server leaves be removed.
func TestLeftoversOfAKill(t *testing.T) {
	dir := t.TempDir()
	in, _ := audited(t, backingUpTo(dir))
	if failed := runs(t, in.Operator, "backups"); failed != "" {
		t.Fatal(failed)
	}
	name := keptBackups(t, in.Operator).Backups[0].Name
	half := filepath.Join(dir, strings.Replace(name, "-20", "-19", 1)+".partial")
	must(t, os.WriteFile(half, []byte("half"), 0o600))
	must(t, os.MkdirAll(filepath.Join(in.Data, "coffer.drill-123"), 0o700))
	must(t, os.WriteFile(filepath.Join(in.Data, "coffer.drill-123", "coffer.db"), []byte("half"), 0o600))
	if failed := runs(t, in.Operator, "backups") + runs(t, in.Operator, "drill"); failed != "" {
		t.Fatal(failed)
	}
	if _, err := os.Stat(half); err == nil || len(leftBeside(t, in)) > 0 {
		t.Errorf("left: %v, %q", err, leftBeside(t, in))
	}
}

// TestStoppingDoesNotWaitForAStore stops the server while a backup is on its way.
func TestStoppingDoesNotWaitForAStore(t *testing.T) {
	s3 := depottest.NewS3(t)
	in, _ := audited(t, inStandIn(s3))
	s3.Break("", standin.After(4, standin.Hang))
	gone := make(chan error, 1)
	go func() {
		_, err := byOperator(t, in).RunJob(t.Context(), "backups")
		gone <- err
	}()
	for s3.Calls("") < 5 {
		time.Sleep(10 * time.Millisecond)
	}
	began := time.Now()
	in.Stop()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("stopping took %s", took)
	}
	<-gone
	s3.Heal()
	in.Restart()
	if k := keptBackups(t, in.Operator); k.Last != nil {
		t.Errorf("a stop counts as a failure: %+v", k.Last)
	}
}

// TestBackupsThatCannotBe are configurations that do not start.
func TestBackupsThatCannotBe(t *testing.T) {
	for want, b := range map[string]server.BackupConfig{
		"names no directory":       {To: "backups"},
		"backup.every is 1s":       {To: "/b", Every: time.Second},
		"backup.drill_every is 1s": {To: "/b", DrillEvery: time.Second},
		"at least one":             {To: "/b", Keep: server.KeepBackups{Days: 1}},
		"not negative":             {To: "/b", Keep: server.KeepBackups{Newest: 1, Weeks: -1}},
		"set backup.s3.access_key": {To: "s3://b"},
		"secret_key_file: open":    {To: "s3://b", S3: server.S3Config{AccessKey: "a", SecretKeyFile: "/none"}},
		"backup.s3.ca_file: open":  {To: "s3://b", S3: server.S3Config{AccessKey: "a", SecretKey: "b", CAFile: "/none"}},
	} {
		_, err := server.New(server.Config{Data: t.TempDir(), Backup: b})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestAPassphraseFileThatIsGone is seen as a failure of the backup.
func TestAPassphraseFileThatIsGone(t *testing.T) {
	pass := filepath.Join(t.TempDir(), "pass")
	in, _ := audited(t, backingUpTo(t.TempDir()), func(c *server.Config) { c.Backup.PassphraseFile = pass })
	for text, want := range map[string]string{"": "cannot be read", "short": "too weak"} {
		if text != "" {
			must(t, os.WriteFile(pass, []byte(text), 0o600))
		}
		if failed := runs(t, in.Operator, "backups"); !strings.Contains(failed, want) {
			t.Errorf("%q: %s", text, failed)
		}
		must(t, os.RemoveAll(pass))
	}
}

// TestFullDisks have no room for the copy beside the data, or for the backup. The
// server says so and goes on.
func TestFullDisks(t *testing.T) {
	for name, c := range map[string]struct {
		data, kept, says string
	}{
		"of the data":    {smallDisk(t, "12m"), t.TempDir(), "Make room there."},
		"of the backups": {t.TempDir(), smallDisk(t, "800k"), "keep fewer backups"},
	} {
		t.Run(name, func(t *testing.T) {
			in, ann := audited(t, backingUpTo(c.kept), func(cfg *server.Config) { cfg.Data = c.data })
			if failed := runs(t, in.Operator, "backups"); !strings.Contains(failed, c.says) {
				t.Errorf("it says %q", failed)
			}
			in.Push(ann, repo, "production", map[string]string{"C": "3"})
			if left, _ := filepath.Glob(filepath.Join(c.kept, "*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// smallDisk is a file system in memory, where that is permitted.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", dir).Run()) })
	return dir
}
