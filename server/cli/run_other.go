//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os/exec"
)

// execute runs the command as a child and passes its exit code on. An interrupt
// from the terminal reaches both; the child decides what it means.
func execute(path string, argv, env []string, out *console) error {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, out.in, out.out, out.err
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return childExit(e.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}
