package warden_test

import (
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
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
