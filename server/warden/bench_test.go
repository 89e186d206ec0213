package warden_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"coffer/crypto"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
)

func benchStore(b *testing.B) *store.Store {
	b.Helper()
	db, err := bolt.Open(filepath.Join(b.TempDir(), "data.db"), bolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	s, err := store.Open(context.Background(), db)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchChain(b *testing.B) *crypto.Chain {
	b.Helper()
	m, err := crypto.NewMaster()
	if err != nil {
		b.Fatal(err)
	}
	root, _, err := crypto.NewRoot(m)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(root.Destroy)
	k, _, err := root.NewDataKey(crypto.ID{1})
	if err != nil {
		b.Fatal(err)
	}
	chain, _ := k.NewChain(nil)
	return chain
}

// BenchmarkAddActivity is the record of one read, appended in a transaction of
// its own and as one of a hundred that go into a commit together. The disk is
// left out.
func BenchmarkAddActivity(b *testing.B) {
	id := func(n byte) store.ID { return store.ID{0: 1, 6: 0x70, 8: 0x80, 15: n} }
	a := store.Activity{ID: id(5), Action: "secret_value_accessed", At: 1_795_166_100_123, Actor: id(3), ActorName: "ann", Vault: id(1),
		Repository: "acme/api", Platform: "cli", Metadata: map[string]any{"environment": "production", "key": "DATABASE_URL",
			"repoFullName": "acme/api", "apiKeyId": id(4).String()}, IP: "203.0.113.7", UserAgent: "coffer/1.2.3"}
	for _, c := range []struct {
		name  string
		count int
	}{{"alone", 1}, {"of100", 100}} {
		b.Run(c.name, func(b *testing.B) {
			s, chain := benchStore(b), benchChain(b)
			err := s.Update(context.Background(), func(tx store.Tx) error { return tx.BeginActivity(chain, store.Checkpoint{}) })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				err := s.Update(context.Background(), func(tx store.Tx) error {
					for range c.count {
						if _, err := tx.AddActivity(chain, a); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.count), "ns/record")
		})
	}
}

// BenchmarkVerify judges, exports and checks a log of many records.
func BenchmarkVerify(b *testing.B) {
	const records = 20_000
	h := newHouse(b)
	w := h.wardenWith(h.db, func(c *warden.Config) { c.BatchReads = true })
	h.use(w, records)
	who, ctx := operator(b, w), context.Background()
	var file bytes.Buffer
	if err := w.ExportAudit(ctx, who, &file); err != nil {
		b.Fatal(err)
	}
	per := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
	}
	b.Run("data", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r, err := w.VerifyAudit(ctx, who); err != nil || !r.Intact || !r.Complete {
				b.Fatal(r, err)
			}
		}
		per(b)
	})
	b.Run("export", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.ExportAudit(ctx, who, io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		per(b)
	})
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r, err := w.VerifyAuditFile(ctx, who, bytes.NewReader(file.Bytes())); err != nil || !r.Intact || !r.Complete {
				b.Fatal(r, err)
			}
		}
		per(b)
	})
}
