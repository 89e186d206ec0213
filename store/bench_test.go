package store

import (
	"path/filepath"
	"testing"

	"coffer/store/kv/bolt"
)

// BenchmarkAddActivity is the record of one read, appended in a transaction of
// its own and as one of a hundred that go into a commit together. The disk is
// left out.
func BenchmarkAddActivity(b *testing.B) {
	a := Activity{ID: id(5), Action: "secret_value_accessed", At: 1_795_166_100_123, Actor: id(3), ActorName: "ann", Vault: id(1),
		Repository: "acme/api", Platform: "cli", Metadata: map[string]any{"environment": "production", "key": "DATABASE_URL",
			"repoFullName": "acme/api", "apiKeyId": id(4).String()}, IP: "203.0.113.7", UserAgent: "coffer/1.2.3"}
	for name, count := range map[string]int{"alone": 1, "of100": 100} {
		b.Run(name, func(b *testing.B) {
			db, err := bolt.Open(filepath.Join(b.TempDir(), "data.db"), bolt.Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			s := &Store{db: db}
			b.ReportAllocs()
			for b.Loop() {
				err := s.Update(ctx, func(tx Tx) error {
					for range count {
						if _, err := tx.AddActivity(testChain{}, a); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/record")
		})
	}
}
