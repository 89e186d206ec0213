package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coffer/server/api"
)

// newFiles are files for keys, made before there are any: a full or read-only disk
// is found out first.
type newFiles struct {
	names []string
	files []*os.File
}

func (d *adding) places() (*newFiles, error) {
	n := &newFiles{}
	switch {
	case d.out == "":
	case d.req.Kind == api.MethodShares:
		for i := range d.req.Total {
			n.names = append(n.names, filepath.Join(d.out, fmt.Sprintf("coffer-share-%d-of-%d.txt", i+1, d.req.Total)))
		}
	default:
		n.names = []string{d.out}
	}
	for i, name := range n.names {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			n.names = n.names[:i]
			n.abandon()
			return nil, fmt.Errorf("make a file for the key: %w", err)
		}
		n.files = append(n.files, f)
	}
	return n, nil
}

// keep writes what was made.
func (n *newFiles) keep(made *api.AddedUnsealMethod) error {
	if len(n.files) == 0 {
		return nil
	}
	for i, text := range madeTexts(made) {
		head := fmt.Sprintf("# coffer %s, fingerprint %s\n# whoever has this file can unseal; keep it apart from the data\n", made.Kind, made.Fingerprint)
		if len(made.Shares) > 0 {
			head = fmt.Sprintf("# coffer share %d of %d, %d are needed, key %s\n# to unseal: coffer unseal\n", i+1, made.Total, made.Threshold, made.Fingerprint)
		}
		_, err := n.files[i].WriteString(head + text + "\n")
		if err := errors.Join(err, n.files[i].Sync(), n.files[i].Close()); err != nil {
			return fmt.Errorf("write the key: %w", err)
		}
	}
	return nil
}

// abandon removes the files: they hold nothing that opens anything.
func (n *newFiles) abandon() {
	for _, f := range n.files {
		_ = f.Close()
	}
	for _, name := range n.names {
		_ = os.Remove(name)
	}
}
