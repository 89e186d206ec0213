package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"coffer/store/kv"
)

// advice ends every error about damage.
const advice = "keep a copy of the file, then restore the newest backup"

func corrupt(cause any) error { return corruptf("%v", cause) }

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s; %s", kv.ErrCorrupt, fmt.Sprintf(format, args...), advice)
}

// explain turns an error of bbolt or of the system into one of kv where there
// is one for it.
func explain(err error, path string) error {
	switch {
	case err == nil, errors.Is(err, kv.ErrCorrupt), errors.Is(err, kv.ErrFull), errors.Is(err, kv.ErrReadOnly):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return lockedBy(path)
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return kv.ErrClosed
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return corrupt(err)
	case readOnly(err):
		return fmt.Errorf("%w: %s: %w; make it writable for the user that runs this, or name another directory", kv.ErrReadOnly, path, err)
	case full(err):
		return fmt.Errorf("%w: %s: %w", kv.ErrFull, path, err)
	}
	return err
}

// full reports whether err is about missing room. bbolt formats some errors of
// the system away, so their text has to do.
func full(err error) bool {
	if errors.Is(err, berrors.ErrMaxSizeReached) {
		return true
	}
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, no) || strings.Contains(err.Error(), no.Error()) {
			return true
		}
	}
	return false
}

// readOnly reports whether err says that nothing may be written there.
func readOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// guard runs fn and turns a panic, or a fault on a page that cannot be read,
// into kv.ErrCorrupt. fn must call bbolt and nothing else.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = corrupt(p)
		}
	}()
	return fn()
}

// damage says whether the panic p, raised while a function of the caller was
// running, tells of damaged data: bbolt was at work, or a page of the map could
// not be read. It returns nil when the function itself is to blame.
func (h *file) damage(p any, inside bool) error {
	if inside {
		return corrupt(p)
	}
	fault, ok := p.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	size, _ := h.size()
	start := h.b.Info().Data
	end := start + uintptr(max(h.mapped, size))
	if a := fault.Addr(); a < start || a >= end {
		return nil
	}
	return corruptf("page %d cannot be read: %v", (fault.Addr()-start)/uintptr(h.pages), p)
}

// panicked carries a panic from the leader's goroutine to the caller's.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("bolt: the function given to Update panicked: %v\n\n%s", p.value, p.stack)
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}
