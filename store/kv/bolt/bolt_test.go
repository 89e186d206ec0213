package bolt

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

func TestMain(m *testing.M) {
	childMain()
	goleak.VerifyTestMain(m)
}

var background = context.Background()

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return open(t, Options{NoSync: true}) })
}

func TestConformanceWithFsync(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return open(t, Options{}) })
}

func TestConformanceTwice(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return kvtest.Twice(open(t, Options{NoSync: true})) })
}

func open(t testing.TB, o Options) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "coffer.db"), o)
}

func openAt(t testing.TB, path string, o Options) *DB {
	t.Helper()
	d, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func put(t testing.TB, d kv.DB, key string, value []byte) {
	t.Helper()
	if err := tryPut(d, key, value); err != nil {
		t.Fatal(err)
	}
}

func tryPut(d kv.DB, key string, value []byte) error {
	return d.Update(background, func(tx kv.Tx) error { return tx.Put([]byte(key), value) })
}

func has(t testing.TB, d kv.DB, key string) bool {
	t.Helper()
	found := false
	err := d.View(background, func(r kv.Reader) error {
		_, err := r.Get([]byte(key))
		found = err == nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
