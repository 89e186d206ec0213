package warden_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
	"coffer/store/kv"
)

// TestOneGrantThatFailsKeepsNoOtherFromBeingRenewed: the others would end.
func TestOneGrantThatFailsKeepsNoOtherFromBeingRenewed(t *testing.T) {
	h := newHosted(t)
	h.key()
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "broken", Refresh: "broken", Expires: h.now.Add(time.Hour)}))
	h.set(func() {
		h.tokens["ghp_bob"], h.granted, h.refresh = "8", "a", "r"
		h.broken["broken"] = &forge.Unavailable{Err: errHangs}
	})
	bob := h.caller("ghp_bob")
	must(t, second(h.w.IssueToken(t.Context(), operator(t, h.w), api.IssueToken{Username: "login8", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets}})))
	must(t, h.w.KeepGrant(t.Context(), bob, forge.Grant{Access: "a", Refresh: "r", Expires: h.now.Add(time.Hour)}))
	h.sleep(8 * 24 * time.Hour)
	if err := h.w.RenewGrants(t.Context()); api.CodeOf(err) != api.Unavailable {
		t.Errorf("it says %v", err)
	}
	if h.granted != "a'" {
		t.Error("the other one is not renewed")
	}
}

// fullDB is a store that at times has no room left.
type fullDB struct {
	kv.DB
	full atomic.Bool
}

func (f *fullDB) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if f.full.Load() {
		return kv.ErrFull
	}
	return f.DB.Update(ctx, fn)
}

// TestNoGrantIsRenewedThatCannotBeStored: at most hosts the old one is dead then,
// and the user locked out.
func TestNoGrantIsRenewedThatCannotBeStored(t *testing.T) {
	h := newHosted(t)
	db := &fullDB{DB: h.house.db}
	h.house.db = db
	h.reopen()
	h.vault()
	key := h.key()
	h.set(func() { h.granted, h.refresh = "a", "r" })
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "a", Refresh: "r", Expires: h.now.Add(30 * time.Second)}))
	who := key()
	h.w.ForgetHost()
	db.full.Store(true)
	_, err := h.w.Vault(t.Context(), who, api.Ref{Owner: "acme", Repo: "api"})
	if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "storage is full") || h.renewals != 0 {
		t.Errorf("without room: %v, %d renewals", err, h.renewals)
	}
	db.full.Store(false)
	if v, code := h.look(who, "acme/api"); v.ID == "" || h.renewals != 1 {
		t.Errorf("with room again: %s, %d renewals", code, h.renewals)
	}
}

// TestAQuestionThatTakesTooLongIsNotTheRequest: the request has time left, and may
// be told to come again.
func TestAQuestionThatTakesTooLongIsNotTheRequest(t *testing.T) {
	h := newHosted(t)
	h.vault()
	who := h.caller(pat)
	h.w.ForgetHost()
	h.set(func() { h.down = context.DeadlineExceeded })
	if _, code := h.look(who, "acme/api"); code != api.Unavailable {
		t.Errorf("about a role: %s", code)
	}
	if _, err := h.w.Identify(t.Context(), warden.Credential{Bearer: pat}); api.CodeOf(err) != api.Unavailable {
		t.Errorf("about a token: %v", err)
	}
}

// TestADeadTokenIsNotTriedAgainAndAgain: hosts lock out who keeps coming with one.
func TestADeadTokenIsNotTriedAgainAndAgain(t *testing.T) {
	h := newHosted(t)
	h.vault()
	who := h.key()()
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "dead"}))
	before := h.times("role dead")
	for range 5 {
		if _, code := h.look(who, "acme/api"); code != api.Forbidden {
			t.Errorf("nobody can be asked: %s", code)
		}
	}
	if n := h.times("role dead") - before; n != 1 {
		t.Errorf("the host was shown it %d times", n)
	}
	h.sleep(46 * time.Second)
	h.set(func() { h.granted = "dead" })
	if v, code := h.look(who, "acme/api"); v.ID == "" {
		t.Errorf("the host was wrong, and takes it again: %s", code)
	}
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "new"}))
}
