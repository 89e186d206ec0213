//go:build unix

package bench

import (
	"testing"

	"coffer/server/api"
	"coffer/server/warden"
)

// BenchmarkWarden leaves out HTTP and the disk: what remains is the rules, the
// cryptography and the store. Its allocations do not depend on the machine.
func BenchmarkWarden(b *testing.B) {
	d := teamData(b).copy(b)
	w, done, err := openWarden(b.Context(), d.Dir, true)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := done(); err != nil {
			b.Error(err)
		}
	})
	repo, environment := repository(0), environments[0]
	turn := 0
	calls := map[string]func(warden.Caller) error{
		"view": func(who warden.Caller) error {
			_, err := w.ViewSecret(b.Context(), who, api.ViewSecret{Repo: repo, Environment: environment, Key: secretName(7)})
			return err
		},
		"pull50": func(who warden.Caller) error {
			_, err := w.Pull(b.Context(), who, api.PullSecrets{Repo: repo, Environment: environment})
			return err
		},
		"push50changed": func(who warden.Caller) error {
			turn++
			_, err := w.Push(b.Context(), who, api.PushSecrets{
				RepoFullName: repo, Environment: environment, Secrets: secretValues(0, perPush, turn%2+1),
			})
			return err
		},
	}
	for _, name := range []string{"identify", "view", "pull50", "push50changed"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				who, err := w.Identify(b.Context(), warden.Credential{Bearer: d.Token, UserAgent: "coffer-bench/1"})
				if err == nil && calls[name] != nil {
					err = calls[name](who)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
