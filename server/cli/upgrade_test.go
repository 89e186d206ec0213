package cli

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// unpackOldData makes D the data directory of another schema. Of one that was used
// there is the key file too, and the environment is that of ann, who has a key there.
func unpackOldData(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: olddata SCHEMA")
	}
	from := filepath.Join(storiesFrom, "..", "testdata", "schema"+args[0])
	to := ts.Getenv("D")
	ts.Check(os.MkdirAll(to, 0o700))
	packed, err := os.Open(filepath.Join(from, "coffer.db.gz"))
	ts.Check(err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	ts.Check(err)
	data, err := io.ReadAll(unpacked)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(to, "coffer.db"), data, 0o600))
	text, err := os.ReadFile(filepath.Join(from, "kept.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	ts.Check(err)
	var kept struct{ Tokens map[string]string }
	ts.Check(json.Unmarshal(text, &kept))
	ts.Setenv("COFFER_TOKEN", kept.Tokens["ann's key"])
	ts.Setenv("COFFER_REPO", "ann/app")
	key, err := os.ReadFile(filepath.Join(from, "coffer.key"))
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(to, "coffer.key"), key, 0o600))
}

// storiesFrom is where the tests of this package run.
var storiesFrom, _ = os.Getwd()
