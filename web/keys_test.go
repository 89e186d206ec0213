package web

import (
	"strings"
	"testing"
)

var someScopes = []Scope{{"read:secrets", "Read values."}, {"write:secrets", "Change values."}}

var keysSamples = map[string]Page{
	"keys": Keys{
		Frame: Frame{User: "ann"}, Scopes: someScopes, Now: someDay,
		Live: []Key{
			{ID: "1", Name: "pipeline", Prefix: "ck_live_abcdefgh", Environment: "live", Scopes: someScopes, Sources: []string{"10.0.0.0/8", "::1/128"},
				Uses: 2, Created: someDay, Used: someDay, Expires: someDay},
			{ID: "2", Name: "other", Environment: "test", Scopes: someScopes, Created: someDay},
		},
		Ended: []Key{{ID: "3", Name: "old", Scopes: someScopes, Revoked: someDay}, {ID: "4", Name: "older", Uses: 1, Used: someDay, Expires: someDay}},
		Create: Form{Values: map[string]string{"name": "x", "environment": "test", "scopes": "write:secrets"}, Problem: "Nothing.",
			Problems: map[string]string{"name": "No.", "environment": "No.", "scopes": "No.", "expiresInDays": "No.", "allowedIps": "No."}},
	},
	"no keys":     Keys{Frame: Frame{User: "ann"}, Scopes: someScopes},
	"new key":     CreatedKey{Frame: Frame{User: "ann"}, Name: "x", Environment: "live", Token: "ck_live_x", Server: "https://vault.example"},
	"new old key": CreatedKey{Frame: Frame{User: "ann"}, Environment: "test", Expires: someDay},
}

var keysEvils = map[string]Page{
	"keys": Keys{
		Scopes: []Scope{{evil, evil}},
		Live:   []Key{{ID: evil, Name: evil, Prefix: evil, Environment: evil, Scopes: []Scope{{evil, evil}}, Sources: []string{evil}}},
		Ended:  []Key{{ID: evil, Name: evil, Prefix: evil, Environment: evil, Scopes: []Scope{{evil, evil}}, Sources: []string{evil}}},
		Once:   evil,
		Create: Form{Values: map[string]string{"name": evil, "environment": evil, "scopes": evil, "expiresInDays": evil, "allowedIps": evil},
			Problems: map[string]string{"name": evil, "environment": evil, "scopes": evil, "expiresInDays": evil, "allowedIps": evil}, Problem: evil},
	},
	"textarea": Keys{Scopes: someScopes, Create: Form{Values: map[string]string{"allowedIps": `</textarea><script>`}}},
	"new key":  CreatedKey{Name: evil, Environment: evil, Token: evil, Server: evil},
}

// TestANewKeyBeginsWithLittle: who looks no further gets a key that can read, and
// not for ever.
func TestANewKeyBeginsWithLittle(t *testing.T) {
	text := rendered(t, "", keysSamples["no keys"])
	for _, part := range []string{`name="read:secrets" value="on" checked`, `value="live" checked`, `name="expiresInDays" value="90"`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if n := strings.Count(text, " checked"); n != 2 {
		t.Errorf("%d boxes are checked", n)
	}
	text = rendered(t, "", keysSamples["keys"])
	for _, part := range []string{`name="write:secrets" value="on" checked`, `value="test" checked`, `name="expiresInDays" value=""`} {
		if !strings.Contains(text, part) {
			t.Errorf("the form lost %s: %s", part, text)
		}
	}
}
