//go:build unix

package crypto

import (
	"os/exec"
	"syscall"
)

// inOwnGroup has a command die together with the processes that it started.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
