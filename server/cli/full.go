package cli

import (
	"errors"
	"syscall"
)

// isFull reports whether there was no room for something.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
