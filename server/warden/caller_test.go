package warden

import (
	"testing"

	"coffer/server/access"
	"coffer/store"
)

func TestRequestsAreCountedByKeyOrElseByUser(t *testing.T) {
	user, key := store.ID{1}, store.ID{2}
	for kind, want := range map[access.Kinds]store.ID{
		access.APIKey: key, access.JWT: user, access.PAT: user, access.Session: user,
	} {
		who := Caller{kind: kind, user: store.User{ID: user}}
		if kind == access.APIKey {
			who.key.ID = key
		}
		if got := who.ID(); got != want {
			t.Errorf("%s: counted by %x, want %x", kind, got, want)
		}
		if got := who.InBrowser(); got != (kind == access.Session) {
			t.Errorf("%s: in the browser: %t", kind, got)
		}
	}
	if got := (Caller{kind: access.Operator}).ID(); got != (store.ID{}) {
		t.Errorf("the operator is counted by %x", got)
	}
}

func TestOnlyWhatWasBroughtCanBeWrong(t *testing.T) {
	if !(Credential{Operator: true, UserAgent: "x"}).Empty() || (Credential{Bearer: "x"}).Empty() {
		t.Error("a bearer token, and nothing else, is a credential")
	}
}

// InBrowser makes of a caller one who asks in a session of the web UI.
func InBrowser(who Caller, session byte) Caller {
	return Caller{kind: access.Session, user: who.user, scopes: access.All, session: store.Session{ID: store.ID{session}, User: who.user.ID}}
}
