package crypto

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKeysWorkWithoutLockedMemory runs itself again where no memory may be locked:
// without the right to pass over the limit, which root has.
func TestKeysWorkWithoutLockedMemory(t *testing.T) {
	const child = "COFFER_TEST_NO_LOCKED_MEMORY"
	if os.Getenv(child) != "" {
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
			t.Fatal(err)
		}
		h := Harden()
		if h.KeyMemory != MemoryPlain || !h.NoCore {
			t.Errorf("with nothing to lock: %+v", h)
		}
		r := newRoot(make([]byte, KeySize))
		if r.Memory() != MemoryPlain {
			t.Errorf("the root key is in %s memory", r.Memory())
		}
		r.Destroy()
		t.Log("it ran without locked memory")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKeysWorkWithoutLockedMemory$", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
		// The test binary lies where only its owner may go.
		binary, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.CreateTemp("/tmp", "coffer-test-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(f.Name())
		if _, err := f.Write(binary); err != nil {
			t.Fatal(err)
		}
		if err := f.Chmod(0o755); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		cmd.Path = f.Name()
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "it ran without locked memory") {
		t.Errorf("%v: %s", err, out)
	}
}
