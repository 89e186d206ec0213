package crypto

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStockAgeOpensOurFiles runs the age program, 1.3 or later, that COFFER_AGE
// names or that is in the path. Passphrase files are left out: age reads a
// passphrase from a terminal only.
func TestStockAgeOpensOurFiles(t *testing.T) {
	program := ageProgram(t)
	m, i := mustMaster(t), mustIdentity(t)
	dir := t.TempDir()
	decrypt := func(file, key []byte) []byte {
		t.Helper()
		keyFile := filepath.Join(dir, "key.txt")
		if err := os.WriteFile(keyFile, key, 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		c := exec.Command(program, "--decrypt", "--identity", keyFile)
		c.Stdin, c.Stderr = bytes.NewReader(file), &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		return out
	}

	wrapped, err := WrapIdentity(m, i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	masterFile := decrypt(wrapped, i.File())
	if string(masterFile) != m.id.String()+"\n" {
		t.Error("the recovery key opens something else")
	}
	backup := encryptAll(t, []byte("content"), m.Recipient(), i.Recipient())
	if got := decrypt(backup, i.File()); string(got) != "content" {
		t.Errorf("backup with the recovery key: %q", got)
	}
	// What came out of the first file is itself a key file.
	if got := decrypt(backup, masterFile); string(got) != "content" {
		t.Errorf("backup with the master: %q", got)
	}
}

func ageProgram(t *testing.T) string {
	t.Helper()
	program := os.Getenv("COFFER_AGE")
	if program == "" {
		var err error
		if program, err = exec.LookPath("age"); err != nil {
			t.Skip("no age program")
		}
	}
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"v1.0.", "v1.1.", "v1.2.", "1.0.", "1.1.", "1.2."} {
		if strings.HasPrefix(string(version), old) {
			t.Skipf("age %s knows no hybrid keys", bytes.TrimSpace(version))
		}
	}
	return program
}
