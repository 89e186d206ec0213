// Package depot keeps backups, which it never looks into: in a directory, or in
// a bucket of any store that speaks S3.
//
// Its invariants: what List names was put whole, so half a backup is never taken
// for one; and nothing is listed or deleted but files that coffer named.
package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Depot is a place for backups. Its methods may be called by many goroutines at
// once, but not two Puts for one instance. Their errors are sentences that say what
// to do, and hold no key.
type Depot interface {
	// Where is the place, as the configuration names it.
	Where() string

	// Check finds out whether a backup could be put, by putting something small
	// that is no backup, and taking it away again.
	Check(ctx context.Context, instance string) error

	// Put keeps what r gives under a name, and returns its size. A failure, of r
	// too, leaves nothing that List names.
	Put(ctx context.Context, name Name, r io.Reader) (int64, error)

	// List names the backups of an instance, or with "" of all, oldest first.
	List(ctx context.Context, instance string) ([]Object, error)

	// Get opens a backup, ErrAbsent when there is none of that name.
	Get(ctx context.Context, name Name) (io.ReadCloser, error)

	// Delete removes a backup. It is no error when there is none.
	Delete(ctx context.Context, name Name) error

	// Clean removes what Puts of this instance left that never came to their end.
	Clean(ctx context.Context, instance string) error

	// Free is how many bytes there is room for, if that can be known.
	Free() (bytes uint64, known bool)
}

// Object is a backup in a depot.
type Object struct {
	Name Name
	Size int64
}

// ErrAbsent means that there is no backup of that name.
var ErrAbsent = errors.New("there is no such backup")

// Config is where backups go: To is a directory, or s3://bucket/prefix, which S3
// says more about.
type Config struct {
	To    string
	S3    S3
	Agent string // how we call ourselves
}

// Open makes the depot that a configuration names, without touching it.
func Open(c Config) (Depot, error) {
	scheme, _, isURL := strings.Cut(c.To, "://")
	switch {
	case isURL && scheme == "s3":
		return openS3(c)
	case isURL:
		return nil, fmt.Errorf("%q names no place for backups; it is a directory, or s3://bucket/prefix", c.To)
	case !filepath.IsAbs(c.To):
		return nil, fmt.Errorf("%q names no directory; write it from the root on, like /var/backups/coffer", c.To)
	default:
		return &directory{filepath.Clean(c.To)}, nil
	}
}

// bucket takes s3://bucket/prefix apart. A prefix ends with a slash.
func bucket(to string) (name, prefix string, err error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.User != nil || u.Port() != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("%q names no bucket; write it like s3://bucket/prefix", to)
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return u.Host, prefix, nil
}

// during gives what r gives until ctx ends.
type during struct {
	ctx context.Context
	r   io.Reader
}

func (d during) Read(p []byte) (int, error) {
	if err := d.ctx.Err(); err != nil {
		return 0, err
	}
	return d.r.Read(p)
}
