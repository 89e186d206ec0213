package depot_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"coffer/server/depot"
	"coffer/server/depot/depottest"
	"coffer/server/standin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, c depot.Config) depot.Depot {
	t.Helper()
	d, err := depot.Open(c)
	must(t, err)
	return d
}

func inDirectory(t *testing.T) *depottest.Host {
	dir := t.TempDir()
	return &depottest.Host{
		Depot: open(t, depot.Config{To: dir}),
		Put:   func(name string, body []byte) { must(t, os.WriteFile(filepath.Join(dir, name), body, 0o600)) },
		Left:  func() []string { return names(t, dir) },
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func config(s *depottest.S3) depot.Config {
	return depot.Config{To: "s3://" + depottest.Bucket + "/some/where", S3: depot.S3{
		Endpoint: s.URL, Region: "eu-central-2", AccessKey: depottest.AccessKey, SecretKey: depottest.SecretKey,
	}}
}

func inBucket(t *testing.T) *depottest.Host {
	s := depottest.NewS3(t)
	s.SetPageSize(2)
	t.Cleanup(func() {
		if leaks := s.Leaks(); leaks != nil {
			t.Errorf("the key was sent: %q", leaks)
		}
	})
	return &depottest.Host{
		Depot: open(t, config(s)),
		Put:   func(name string, body []byte) { s.SetObject("some/where/"+name, body) },
		Left: func() []string {
			if n := s.Uploads(); n > 0 {
				t.Errorf("%d uploads were never ended", n)
			}
			return s.Objects()
		},
	}
}

func TestDirectory(t *testing.T) { depottest.Run(t, inDirectory) }
func TestBucket(t *testing.T)    { depottest.Run(t, inBucket) }

func TestPlacesThatAreNone(t *testing.T) {
	keys := depot.S3{AccessKey: "a", SecretKey: "b"}
	for to, want := range map[string]string{
		"backups":            "names no directory",
		"file:///backups":    "names no place",
		"s3://":              "names no bucket",
		"s3://key@bucket":    "names no bucket",
		"s3://bucket?x=y":    "names no bucket",
		"s3://bucket:80/x":   "names no bucket",
		"https://bucket/abc": "names no place",
	} {
		if _, err := depot.Open(depot.Config{To: to, S3: keys}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", to, err)
		}
	}
	for want, s3 := range map[string]depot.S3{
		"an access key and a secret key": {AccessKey: "a"},
		"addressing":                     {AccessKey: "a", SecretKey: "b", Addressing: "dns"},
		"write it like https":            {AccessKey: "a", SecretKey: "b", Endpoint: "s3.example.com"},
	} {
		if _, err := depot.Open(depot.Config{To: "s3://bucket", S3: s3}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s3, err)
		}
	}
}

func TestNames(t *testing.T) {
	n := depot.Name{Instance: depottest.Mine, At: time.Date(2026, 11, 20, 21, 7, 32, 0, time.FixedZone("", 3600))}
	const text = "coffer-099a8057-20261120T200732Z.tar.age"
	if n.String() != text {
		t.Errorf("got %s", n)
	}
	back, ok := depot.ParseName(text)
	if !ok || back.Instance != n.Instance || !back.At.Equal(n.At) {
		t.Errorf("got %+v, %v", back, ok)
	}
	for _, bad := range []string{"", "x/" + text, "../" + text, text + "\n", strings.ToUpper(text), strings.Replace(text, "20261120", "20261131", 1)} {
		if got, ok := depot.ParseName(bad); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

var name = depot.Name{Instance: depottest.Mine, At: depottest.Noon}

func TestADirectoryThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mount")
	d := open(t, depot.Config{To: dir})
	says := func(want string) {
		t.Helper()
		_, put := d.Put(t.Context(), name, strings.NewReader("x"))
		for what, err := range map[string]error{"put": put, "check": d.Check(t.Context(), depottest.Mine)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	says("make it, or mount what it is on")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("a missing directory was made")
	}
	must(t, os.WriteFile(dir, nil, 0o600))
	says("not a directory")
	must(t, os.Remove(dir))
	if os.Geteuid() == 0 {
		return // may write everywhere
	}
	must(t, os.Mkdir(dir, 0o500))
	says("let the user that coffer runs as write there")
}

// TestAFullDirectory puts more than a small file system holds.
func TestAFullDirectory(t *testing.T) {
	dir := small(t, "size=3m")
	d := open(t, depot.Config{To: dir})
	_, err := d.Put(t.Context(), name, bytes.NewReader(make([]byte, 1<<20)))
	must(t, err)
	next := depot.Name{Instance: name.Instance, At: name.At.Add(time.Hour)}
	if _, err := d.Put(t.Context(), next, bytes.NewReader(make([]byte, 4<<20))); err == nil || !strings.Contains(err.Error(), "no room left") {
		t.Errorf("it says: %v", err)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("there is %q", left)
	}
	if free, known := d.Free(); !known || free > 3<<20 {
		t.Errorf("%d bytes are free, %v", free, known)
	}
	must(t, exec.Command("mount", "-o", "remount,ro", dir).Run())
	if err := d.Check(t.Context(), depottest.Mine); err == nil || !strings.Contains(err.Error(), "can only be read") {
		t.Errorf("it says: %v", err)
	}
	if all, err := d.List(t.Context(), depottest.Mine); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// small is a file system in memory, where that is permitted.
func small(t *testing.T, size string) string {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", dir).Run()) })
	return dir
}

func TestLeftoversOfAKilledPut(t *testing.T) {
	dir := t.TempDir()
	for _, left := range []string{name.String() + ".partial", "coffer-" + depottest.Mine + "-check.partial"} {
		must(t, os.WriteFile(filepath.Join(dir, left), []byte("half"), 0o600))
	}
	must(t, open(t, depot.Config{To: dir}).Clean(t.Context(), depottest.Mine))
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	s := depottest.NewS3(t)
	s.BeginUpload("some/where/" + name.String())
	s.BeginUpload("some/where/coffer-" + depottest.Mine + "-of-somebody-else")
	must(t, open(t, config(s)).Clean(t.Context(), depottest.Mine))
	if s.Uploads() != 1 {
		t.Errorf("%d uploads are left", s.Uploads())
	}
}

// TestAStoreThatFails has the store fail in all the ways there are, in the middle
// of an upload too.
func TestAStoreThatFails(t *testing.T) {
	for what, c := range map[string]struct {
		fault standin.Fault
		says  string // "" when a second try helps
	}{
		"no rights":         {depottest.Refuse(403, "AccessDenied"), "give them the right"},
		"another secret":    {depottest.Refuse(403, "SignatureDoesNotMatch"), "backup.s3.secret_key_file"},
		"no bucket":         {depottest.Refuse(404, "NoSuchBucket"), "there is no such bucket"},
		"a wrong clock":     {depottest.Refuse(403, "RequestTimeTooSkewed"), "clocks"},
		"an unknown code":   {depottest.Refuse(418, "Teapot"), "418 Teapot"},
		"a page":            {standin.HTML, ""},
		"down":              {standin.Status(http.StatusInternalServerError), "tried again later"},
		"down once":         {standin.Once(standin.Status(http.StatusInternalServerError)), ""},
		"busy once":         {standin.Once(depottest.Refuse(503, "SlowDown")), ""},
		"gone once":         {standin.Once(gone), ""},
		"gone in the midst": {standin.After(1, standin.Once(gone)), ""},
		"cut once":          {standin.Once(standin.CutOff), "the connection broke"},
		"down in the midst": {standin.After(2, depottest.Refuse(503, "ServiceUnavailable")), "tried again later"},
		"slow":              {standin.Slow(50 * time.Millisecond), ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := depottest.NewS3(t)
			d := open(t, config(s))
			s.Break("", c.fault)
			_, err := d.Put(t.Context(), name, bytes.NewReader(make([]byte, 20<<20)))
			s.Heal()
			switch {
			case what == "a page":
				if err == nil {
					t.Error("a page of HTML counts as a store")
				}
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("it says: %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), depottest.SecretKey) || strings.Contains(err.Error(), "c4n4ry")) {
				t.Errorf("what the store said is passed on: %v", err)
			}
			if all, err := d.List(t.Context(), depottest.Mine); err != nil || (c.says == "" && what != "a page") != (len(all) == 1) {
				t.Errorf("it lists %v, %v", all, err)
			}
		})
	}
}

// gone breaks the connection without an answer.
func gone(*standin.Fake, http.ResponseWriter, *http.Request, http.Handler) {
	panic(http.ErrAbortHandler)
}

func TestAnAnswerThatIsCut(t *testing.T) {
	s := depottest.NewS3(t)
	d := open(t, config(s))
	_, err := d.Put(t.Context(), name, bytes.NewReader(make([]byte, 1<<20)))
	must(t, err)
	s.Break("", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		rw.Header().Set("Content-Length", "1048576")
		standin.CutOff(nil, rw, r, next)
	})
	r, err := d.Get(t.Context(), name)
	must(t, err)
	n, err := io.Copy(io.Discard, r)
	must(t, r.Close())
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a backup ends with %v after %d bytes", err, n)
	}
}

// TestStoppingTakesSeconds has a store that answers no more just when a put is
// stopped.
func TestStoppingTakesSeconds(t *testing.T) {
	s := depottest.NewS3(t)
	d := open(t, config(s))
	s.Break("", standin.After(1, standin.Hang))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := d.Put(ctx, name, bytes.NewReader(make([]byte, 20<<20)))
	if took := time.Since(began); err == nil || took > 10*time.Second {
		t.Errorf("it took %s: %v", took, err)
	}
}

func TestNobodyListens(t *testing.T) {
	s := depottest.NewS3(t)
	c := config(s)
	s.Close()
	if err := open(t, c).Check(t.Context(), depottest.Mine); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("it says: %v", err)
	}
}

func TestKeysThatAreWrong(t *testing.T) {
	s := depottest.NewS3(t)
	for want, change := range map[string]func(*depot.Config){
		"does not know the access key": func(c *depot.Config) { c.S3.AccessKey = "else" },
		"the secret key does not":      func(c *depot.Config) { c.S3.SecretKey = "else" },
		"there is no such bucket":      func(c *depot.Config) { c.To = "s3://elsewhere" },
	} {
		c := config(s)
		change(&c)
		if err := open(t, c).Check(t.Context(), depottest.Mine); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says: %v", err)
		}
	}
}

func TestCertificates(t *testing.T) {
	s := depottest.NewS3(t)
	secure := httptest.NewUnstartedServer(s)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	c := config(s)
	c.S3.Endpoint = secure.URL
	if err := open(t, c).Check(t.Context(), depottest.Mine); err == nil || !strings.Contains(err.Error(), "backup.s3.ca_file") {
		t.Errorf("it says: %v", err)
	}
	c.S3.CA = x509.NewCertPool()
	c.S3.CA.AddCert(secure.Certificate())
	_, err := open(t, c).Put(t.Context(), name, bytes.NewReader(make([]byte, 20<<20)))
	must(t, err)
}

// TestMemoryStaysFlat puts much more than may be in memory.
func TestMemoryStaysFlat(t *testing.T) {
	var most uint64
	s := depottest.NewS3(t)
	hollow := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch q := r.URL.Query(); {
		case q.Has("uploads"):
			_, _ = io.WriteString(rw, `<InitiateMultipartUploadResult><Bucket>safe</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(rw, `<CompleteMultipartUploadResult><Bucket>safe</Bucket><Key>k</Key><ETag>e</ETag></CompleteMultipartUploadResult>`)
		default:
			rw.Header().Set("ETag", `"e"`)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}))
	defer hollow.Close()
	c := config(s)
	c.S3.Endpoint = hollow.URL
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	const size = 200 << 20
	n, err := open(t, c).Put(t.Context(), name, io.LimitReader(zeros{}, size))
	must(t, err)
	if grown := int64(most) - int64(before.HeapInuse); n != size || grown > 64<<20 {
		t.Errorf("%d bytes were put, and the heap grew by %d", n, grown)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
