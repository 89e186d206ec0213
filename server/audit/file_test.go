package audit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
)

// TestLinesNeverChange: files that are out there are compared with what this
// package would write, byte by byte. A difference means that they no longer
// verify, unless the format got a new name and the old one is still written.
func TestLinesNeverChange(t *testing.T) {
	at := api.At(time.Date(2026, 11, 20, 9, 15, 0, 123_000_000, time.UTC))
	vault, repo, ip, agent := "0193a1b2-0000-7000-8000-000000000001", "acme/api", "203.0.113.7", "coffer/1 <&>"
	mark := Mark{Number: 12, VaultNumber: 3, Link: []byte("link"), Base: 7, Time: at, Signature: []byte("signature")}
	shown := &api.Activity{
		ID: vault, Action: "secrets_pulled", VaultID: &vault, RepoFullName: &repo, Actor: &api.Actor{ID: &vault, Username: "ann"}, Platform: "cli",
		Metadata: map[string]any{"secretCount": int64(2), "secretKeys": []any{"A", "B"}, "environment": "pröd\u2028\n\x01", "apiKeyId": nil, "share": 0.5},
		IP:       &ip, UserAgent: &agent, Timestamp: at,
	}
	for want, v := range map[string]any{
		`{"format":"coffer-audit/1","kind":"export","instance":"i","publicKey":"k","begins":{"number":12,"vaultNumber":3,"link":"bGluaw==","base":7,"time":"2026-11-20T09:15:00.123Z","signature":"c2lnbmF0dXJl"}}`: &Header{Format: Format, Kind: Export, Instance: "i", PublicKey: "k", Begins: mark},
		`{"format":"coffer-audit/1","kind":"stream","instance":"i","vaultId":"v","publicKey":"k","begins":{"number":0,"link":null,"base":0,"time":"2026-11-20T09:15:00.123Z","signature":null}}`:                    &Header{Format: Format, Kind: Stream, Instance: "i", VaultID: "v", PublicKey: "k", Begins: Mark{Time: at}},
		`{"ends":{"number":12,"vaultNumber":3,"link":"bGluaw==","base":7,"time":"2026-11-20T09:15:00.123Z","signature":"c2lnbmF0dXJl"}}`:                                                                            &End{&mark},
		`{"number":12,"prev":"cHJldg==","link":"bGluaw==","record":"cmVjb3Jk"}`:                                                                                                                                     &Record{Number: 12, Prev: []byte("prev"), Link: []byte("link"), Stored: []byte("record")},
		`{"number":12,"vaultNumber":3,"id":"0193a1b2-0000-7000-8000-000000000001","action":"secrets_pulled","vaultId":"0193a1b2-0000-7000-8000-000000000001","repoFullName":"acme/api","actor":{"id":"0193a1b2-0000-7000-8000-000000000001","username":"ann","avatarUrl":null},"platform":"cli","metadata":{"apiKeyId":null,"environment":"pröd\u2028\n\u0001","secretCount":2,"secretKeys":["A","B"],"share":0.5},"ip":"203.0.113.7","userAgent":"coffer/1 <&>","timestamp":"2026-11-20T09:15:00.123Z","prev":"cHJldg==","link":"bGluaw==","record":"cmVjb3Jk"}`: &Record{Number: 12, VaultNumber: 3, Shown: shown, Prev: []byte("prev"), Link: []byte("link"), Stored: []byte("record")},
		`{"number":1,"id":"","action":"a","vaultId":null,"repoFullName":null,"actor":null,"platform":"","metadata":null,"ip":null,"userAgent":null,"timestamp":"2026-11-20T09:15:00.123Z","prev":null,"link":null,"record":null}`:                                                                                                                                                                                                                                                                                                                                 &Record{Number: 1, Shown: &api.Activity{Action: "a", Timestamp: at}},
	} {
		if diff := cmp.Diff(want+"\n", string(text(v))); diff != "" {
			t.Error(diff)
		}
	}
}
