//go:build unix

package server_test

import (
	"os/exec"
	"syscall"
)

// inOwnGroup lets a process and its children be killed together.
func inOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
