//go:build unix && !solaris && !aix

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// lock takes hold of a directory.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil, errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.EINVAL):
		return func() { _ = f.Close() }, nil // where there are no locks, nobody has one
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = ErrBusy
	}
	_ = f.Close()
	return nil, err
}
