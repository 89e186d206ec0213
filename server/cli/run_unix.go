//go:build unix

package cli

import (
	"fmt"
	"syscall"
)

// execute becomes the command: signals, exit code and terminal are its own.
func execute(path string, argv, env []string, _ *console) error {
	if err := syscall.Exec(path, argv, env); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}
