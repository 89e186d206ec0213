package cli

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// unpackOldData makes D the data directory of an earlier schema, with its key file,
// and the environment that of ann, who has a key there.
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
	data, err := gzip.NewReader(packed)
	ts.Check(err)
	text, err := io.ReadAll(data)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(to, "coffer.db"), text, 0o600))
	text, err = os.ReadFile(filepath.Join(from, "coffer.key"))
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(to, "coffer.key"), text, 0o600))
	text, err = os.ReadFile(filepath.Join(from, "kept.json"))
	ts.Check(err)
	var kept struct{ Tokens map[string]string }
	ts.Check(json.Unmarshal(text, &kept))
	ts.Setenv("COFFER_TOKEN", kept.Tokens["ann's key"])
	ts.Setenv("COFFER_REPO", "ann/app")
}

// storiesFrom is where the tests of this package run.
var storiesFrom, _ = os.Getwd()
