package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var data = bytes.Repeat([]byte("sealed things "), 2_000)

func content() Content {
	return Content{Header: Header{
		Format: Format, Version: "1.2.3", Schema: 2, Instance: "0197abcd-0000-7000-8000-00000000beef", Fingerprint: "f",
		Created: time.Date(2026, 11, 20, 9, 15, 0, 5, time.UTC), AuditNumber: 7, AuditLink: "aa", DataSize: int64(len(data)),
		OpensWith: []Key{{"recovery-key", "f"}},
	}}
}

func write(t testing.TB, c Content) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, c, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestABackupIsReadAsItWasWritten(t *testing.T) {
	withKeys := content()
	withKeys.Master, withKeys.Root = []byte("master\n"), []byte("root")
	for _, want := range []Content{content(), withKeys} {
		var got bytes.Buffer
		begun := false
		c, err := Read(iotest.OneByteReader(bytes.NewReader(write(t, want))), Sink{Data: &got, Begin: func(c Content) error {
			begun = true
			if diff := cmp.Diff(want, c); diff != "" {
				t.Error(diff)
			}
			return nil
		}})
		if err != nil || !begun {
			t.Fatalf("begun: %v, %v", begun, err)
		}
		if diff := cmp.Diff(want, *c); diff != "" || !bytes.Equal(got.Bytes(), data) {
			t.Error(diff, got.Len())
		}
	}
	if name := content().Header.Name(); name != "coffer-0000beef-20261120T091500Z.tar.age" {
		t.Error(name)
	}
}

func TestDataOfAnotherLengthIsNotWritten(t *testing.T) {
	for _, n := range []int{-1, 1} {
		c := content()
		c.Header.DataSize += int64(n)
		if err := Write(io.Discard, c, bytes.NewReader(data)); err == nil {
			t.Errorf("%d bytes more than said are written", -n)
		}
	}
}

func TestNoByteOfABackupMayChange(t *testing.T) {
	whole := write(t, content())
	// What the sums do not cover are fields of the archive that mean nothing here:
	// owners, times, modes. age authenticates those.
	for i := range whole {
		if middle := i > 3000 && i < len(whole)-4000; middle && i%997 != 0 {
			continue
		}
		whole[i] ^= 1
		var got bytes.Buffer
		c, err := Read(bytes.NewReader(whole), Sink{Data: &got})
		if err == nil && (!cmp.Equal(*c, content()) || !bytes.Equal(got.Bytes(), data)) {
			t.Fatalf("with byte %d changed it reads as something else", i)
		}
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("byte %d: %v", i, err)
		}
		whole[i] ^= 1
	}
}

func TestACutOrLongerBackupIsNone(t *testing.T) {
	whole := write(t, content())
	for n := 0; n < len(whole)-1024-512; n += 511 {
		if _, err := Read(bytes.NewReader(whole[:n]), Sink{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	for _, more := range [][]byte{{0}, {1}, make([]byte, 1024), whole} {
		if _, err := Read(bytes.NewReader(append(bytes.Clone(whole), more...)), Sink{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes longer: %v", len(more), err)
		}
	}
}

func TestErrorsOfOthersComeBackAsTheyAre(t *testing.T) {
	whole := write(t, content())
	mine := errors.New("mine")
	for name, read := range map[string]func() error{
		"source": func() error {
			_, err := Read(io.MultiReader(bytes.NewReader(whole[:5000]), iotest.ErrReader(mine)), Sink{})
			return err
		},
		"source at the end": func() error {
			_, err := Read(io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(mine)), Sink{})
			return err
		},
		"begin": func() error {
			_, err := Read(bytes.NewReader(whole), Sink{Begin: func(Content) error { return mine }})
			return err
		},
		"data": func() error {
			_, err := Read(bytes.NewReader(whole), Sink{Data: writerFunc(func([]byte) (int, error) { return 0, mine })})
			return err
		},
	} {
		if err := read(); !errors.Is(err, mine) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// archive is a tar of these files, by name and content.
func archive(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestForeignArchivesAreRefused(t *testing.T) {
	const head = `{"format":1,"instance":"i","dataSize":1}`
	for name, file := range map[string][]byte{
		"nothing":            {},
		"text":               []byte(strings.Repeat("no tar at all ", 100)),
		"empty archive":      archive(t),
		"another archive":    archive(t, "etc/passwd", "x"),
		"header alone":       archive(t, headerFile, head),
		"header no JSON":     archive(t, headerFile, "x", dataFile, "d"),
		"header too large":   archive(t, headerFile, head+strings.Repeat(" ", maxSmall), dataFile, "d"),
		"negative size":      archive(t, headerFile, `{"format":1,"instance":"i","dataSize":-1}`, dataFile, ""),
		"format 0":           archive(t, headerFile, `{"instance":"i","dataSize":1}`, dataFile, "d"),
		"another size":       archive(t, headerFile, head, dataFile, "dd", sumFile, "x"),
		"wrong sums":         archive(t, headerFile, head, dataFile, "d", sumFile, "x"),
		"no sums":            archive(t, headerFile, head, dataFile, "d"),
		"master but no root": archive(t, headerFile, head, masterFile, "m", dataFile, "d"),
		"path in a name":     archive(t, headerFile, head, "../"+dataFile, "d"),
		"extended header":    extended(t),
	} {
		if _, err := Read(bytes.NewReader(file), Sink{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := archive(t, headerFile, `{"format":2,"all":"different"}`)
	if _, err := Read(bytes.NewReader(newer), Sink{}); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
}

// extended is an archive with a record that could hide what its data are.
func extended(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: headerFile, Format: tar.FormatPAX, PAXRecords: map[string]string{"COFFER.x": "1"}})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTarAndSha256sumReadABackup runs the programs that the documentation names.
func TestTarAndSha256sumReadABackup(t *testing.T) {
	for _, program := range []string{"tar", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	c := content()
	c.Master, c.Root = []byte("master\n"), []byte("root")
	cmd := exec.Command("tar", "--extract", "--verbose", "--directory", dir)
	cmd.Stdin = bytes.NewReader(write(t, c))
	out, err := cmd.CombinedOutput()
	if want := "coffer.json\nmaster.txt\nroot.age\ncoffer.db\ncoffer.sum\n"; err != nil || string(out) != want {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	cmd = exec.Command("sha256sum", "--check", "--strict", sumFile)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

func FuzzRead(f *testing.F) {
	data := data[:100]
	c := content()
	c.Header.DataSize = int64(len(data))
	var whole bytes.Buffer
	if err := Write(&whole, c, bytes.NewReader(data)); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	c.Master, c.Root = []byte("m"), []byte("r")
	whole.Reset()
	if err := Write(&whole, c, bytes.NewReader(data)); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(extended(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		var got bytes.Buffer
		c, err := Read(bytes.NewReader(file), Sink{Data: &got})
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		var again bytes.Buffer
		if err := Write(&again, *c, &got); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&again, Sink{}); err != nil {
			t.Error(err)
		}
	})
}
