package warden_test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// Keys of the store begin with these.
const (
	tagSession        = 0x2e
	tagDevice         = 0x54
	tagDeviceUserCode = 0x55
)

// desk is a house with somebody in a browser, and a program without one.
type desk struct {
	*house
	w       *warden.Warden
	ann     warden.Caller // in her browser
	program warden.Caller
}

func newDesk(t *testing.T) *desk {
	h := newHouse(t)
	return h.desk(h.warden(kvtest.Twice(h.db)))
}

func (h *house) desk(w *warden.Warden) *desk {
	h.t.Helper()
	program, err := w.Stranger(warden.Credential{IP: netip.MustParseAddr("203.0.113.7"), UserAgent: "tool/1\u202e\n"})
	must(h.t, err)
	return &desk{h, w, warden.InBrowser(h.ann(w), 1), program}
}

func (d *desk) start() *api.StartedDevice {
	d.t.Helper()
	made, err := d.w.StartDevice(d.t.Context(), d.program, api.StartDevice{Repository: new("ann/api"), RepoID: new(api.HostID(1 << 63))})
	must(d.t, err)
	return made
}

func (d *desk) verify(who warden.Caller, code string) *api.VerifiedDevice {
	d.t.Helper()
	shown, err := d.w.VerifyDevice(d.t.Context(), who, api.VerifyDevice{UserCode: code})
	must(d.t, err)
	return shown
}

func decision(v *api.VerifiedDevice) api.DecideDevice {
	return api.DecideDevice{ConfirmToken: api.NewSecret(string(v.ConfirmToken))}
}

// approve verifies and approves as ann.
func (d *desk) approve(made *api.StartedDevice) {
	d.t.Helper()
	must(d.t, second(d.w.ApproveDevice(d.t.Context(), d.ann, decision(d.verify(d.ann, made.UserCode)))))
}

func (d *desk) poll(made *api.StartedDevice) (*api.PolledDevice, error) {
	return d.w.PollDevice(d.t.Context(), d.program, api.PollDevice{DeviceCode: api.NewSecret(string(made.DeviceCode))})
}

// stands wants a poll to be told this.
func (d *desk) stands(made *api.StartedDevice, want string) *api.PolledDevice {
	d.t.Helper()
	got, err := d.poll(made)
	must(d.t, err)
	if got.Status != want || (got.KeywayToken != "") != (want == api.DeviceApproved) ||
		(got.Message != "") != (want == api.DeviceExpired || want == api.DeviceDenied) {
		d.t.Errorf("a poll is told %+v, want %s", got, want)
	}
	return got
}

func wantCode(t *testing.T, what string, err error, want api.Code) {
	t.Helper()
	if err == nil || api.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

func (d *desk) lastRecord(action string) *api.Activity {
	d.t.Helper()
	log, err := d.w.Activity(d.t.Context(), d.ann, api.ListActivity{})
	must(d.t, err)
	for _, a := range log.Items {
		if a.Action == action {
			return &a
		}
	}
	return nil
}

func TestAProgramIsSignedInByWayOfABrowser(t *testing.T) {
	d := newDesk(t)
	made := d.start()
	if made.ExpiresIn != 900 || made.Interval != 5 || made.GitHubAppInstallURL != nil {
		t.Errorf("got %+v", made)
	}
	d.stands(made, api.DevicePending)
	shown := d.verify(d.ann, " "+strings.ToLower(strings.ReplaceAll(made.UserCode, "-", ""))+"\n")
	want := &api.VerifiedDevice{ConfirmToken: shown.ConfirmToken, UserCode: made.UserCode, Repository: new("ann/api"),
		RequestIP: new("203.0.113.7"), UserAgent: new("tool/1\ufffd\ufffd"), RequestedAt: shown.RequestedAt,
		ExpiresAt: api.At(shown.RequestedAt.Add(15 * time.Minute))}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	d.stands(made, api.DevicePending)
	decided, err := d.w.ApproveDevice(t.Context(), d.ann, decision(shown))
	must(t, err)
	if decided.Status != api.DeviceApproved {
		t.Errorf("got %+v", decided)
	}
	got := d.stands(made, api.DeviceApproved)
	if got.GitHubLogin != "ann" || got.ExpiresAt == nil || got.ExpiresAt.Sub(d.now()).Round(time.Hour) != 30*day {
		t.Errorf("got %+v", got)
	}
	who, err := d.w.Identify(t.Context(), warden.Credential{Bearer: string(got.KeywayToken)})
	must(t, err)
	sessions, err := d.w.Sessions(t.Context(), who, api.Empty{})
	must(t, err)
	if s := sessions.Sessions; len(s) != 1 || !s[0].Current || *s[0].IP != "203.0.113.7" || *s[0].UserAgent != "tool/1\ufffd\ufffd" {
		t.Errorf("the session is not the program's: %+v", s)
	}
	record := d.lastRecord("user_login")
	meta := map[string]any{"method": "device", "requestIp": "203.0.113.7", "requestUserAgent": "tool/1\ufffd\ufffd", "repository": "ann/api"}
	if record == nil || cmp.Diff(meta, record.Metadata) != "" || record.IP != nil {
		t.Errorf("recorded: %+v", record)
	}
	must(t, d.w.EndSession(t.Context(), who, api.IDRef{ID: sessions.Sessions[0].ID}))
	d.stands(made, api.DeviceExpired)
}

// rename gives ann another name.
func (d *desk) rename(login string) {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	must(d.t, s.Update(d.t.Context(), func(tx store.Tx) error {
		u, err := tx.UserAt("local", "1")
		if err != nil {
			return err
		}
		u.Login = login
		return tx.PutUser(u)
	}))
}

func TestTheTokenIsHandedOutForAMinute(t *testing.T) {
	d := newDesk(t)
	made := d.start()
	d.approve(made)
	d.sleep(14 * time.Minute)
	first := d.stands(made, api.DeviceApproved)
	d.sleep(59 * time.Second)
	d.rename("anna") // the name is in the token, and changes at the code host
	again := d.stands(made, api.DeviceApproved)
	if diff := cmp.Diff(string(first.KeywayToken), string(again.KeywayToken)); diff != "" {
		t.Errorf("another token: %s", diff)
	}
	d.sleep(time.Second)
	d.stands(made, api.DeviceExpired)
	must(t, second(d.w.Identify(t.Context(), warden.Credential{Bearer: string(first.KeywayToken)})))
}

func TestADeviceLoginEndsAndIsForgotten(t *testing.T) {
	d := newDesk(t)
	left, approved, denied, fetched := d.start(), d.start(), d.start(), d.start()
	d.approve(approved)
	d.approve(fetched)
	d.stands(fetched, api.DeviceApproved)
	must(t, second(d.w.DenyDevice(t.Context(), d.ann, decision(d.verify(d.ann, denied.UserCode)))))
	shown := d.verify(d.ann, left.UserCode)
	d.sleep(15*time.Minute - time.Second)
	d.stands(left, api.DevicePending)
	d.stands(denied, api.DeviceDenied)
	d.sleep(time.Second)
	d.stands(left, api.DeviceExpired)
	d.stands(approved, api.DeviceExpired)
	d.stands(denied, api.DeviceDenied)
	d.stands(fetched, api.DeviceExpired)
	for _, made := range []*api.StartedDevice{left, approved, denied, fetched} {
		wantCode(t, "verify", second(d.w.VerifyDevice(t.Context(), d.ann, api.VerifyDevice{UserCode: made.UserCode})), api.NotFound)
	}
	wantCode(t, "approve too late", second(d.w.ApproveDevice(t.Context(), d.ann, decision(shown))), api.NotFound)
	d.sleep(time.Hour - time.Second)
	d.stands(left, api.DeviceExpired)
	d.expect("before the hour", 0, func() (int, error) { return d.w.ExpireDevices(t.Context()) })
	d.sleep(time.Second)
	wantCode(t, "poll", second(d.poll(left)), api.NotFound)
	if n := d.count(tagSession); n != 2 {
		t.Errorf("%d sessions", n)
	}
	d.expect("when the hour is over", 4, func() (int, error) { return d.w.ExpireDevices(t.Context()) })
	if devices, codes, sessions := d.count(tagDevice), d.count(tagDeviceUserCode), d.count(tagSession); devices+codes != 0 || sessions != 1 {
		t.Errorf("%d device codes, %d user codes and %d sessions are left", devices, codes, sessions)
	}
	wantCode(t, "poll", second(d.poll(denied)), api.NotFound)
}

func TestOnlyTheSessionThatWasShownItDecides(t *testing.T) {
	d := newDesk(t)
	made := d.start()
	other := warden.InBrowser(d.ann, 2)
	shown := d.verify(d.ann, made.UserCode)
	for name, token := range map[string]string{
		"none": "", "half": string(shown.ConfirmToken[:64]), "cut": string(shown.ConfirmToken[:107]), "longer": string(shown.ConfirmToken) + "a",
		"no hex": "x" + string(shown.ConfirmToken[1:]), "another device": strings.Repeat("0", 64) + string(shown.ConfirmToken[64:]),
	} {
		wantCode(t, name, second(d.w.ApproveDevice(t.Context(), d.ann, api.DecideDevice{ConfirmToken: api.NewSecret(token)})), api.NotFound)
	}
	wantCode(t, "another session", second(d.w.ApproveDevice(t.Context(), other, decision(shown))), api.NotFound)
	wantCode(t, "another session", second(d.w.DenyDevice(t.Context(), other, decision(shown))), api.NotFound)
	again := d.verify(d.ann, made.UserCode)
	wantCode(t, "an older token", second(d.w.ApproveDevice(t.Context(), d.ann, decision(shown))), api.NotFound)
	third := d.verify(other, made.UserCode)
	wantCode(t, "a token of before another looked", second(d.w.ApproveDevice(t.Context(), d.ann, decision(again))), api.NotFound)
	d.stands(made, api.DevicePending)
	must(t, second(d.w.DenyDevice(t.Context(), other, decision(third))))
	wantCode(t, "a used token", second(d.w.ApproveDevice(t.Context(), other, decision(third))), api.NotFound)
	wantCode(t, "a used token", second(d.w.DenyDevice(t.Context(), other, decision(third))), api.NotFound)
	d.stands(made, api.DeviceDenied)
	if r := d.lastRecord("device_login_denied"); r == nil || r.Metadata["requestIp"] != "203.0.113.7" || r.Metadata["repository"] != "ann/api" {
		t.Errorf("recorded: %+v", r)
	}

	made = d.start()
	shown = d.verify(d.ann, made.UserCode)
	for name, who := range map[string]warden.Caller{"an API key": d.house.ann(d.w), "a stranger": d.program} {
		wantCode(t, name, second(d.w.VerifyDevice(t.Context(), who, api.VerifyDevice{UserCode: made.UserCode})), api.Forbidden)
		wantCode(t, name, second(d.w.ApproveDevice(t.Context(), who, decision(shown))), api.Forbidden)
		wantCode(t, name, second(d.w.DenyDevice(t.Context(), who, decision(shown))), api.Forbidden)
	}
	for _, code := range []string{"", "BCDFG-HJK23", "nonsense", strings.Repeat("B", 1000)} {
		wantCode(t, "code "+code, second(d.w.VerifyDevice(t.Context(), d.ann, api.VerifyDevice{UserCode: code})), api.NotFound)
	}
}

// TestDecisionsAreFinalHoweverManyComeAtOnce lets many approve, deny and poll in
// the same moment.
func TestDecisionsAreFinalHoweverManyComeAtOnce(t *testing.T) {
	d := newDesk(t)
	for range 20 {
		made := d.start()
		shown := d.verify(d.ann, made.UserCode)
		var mu sync.Mutex
		var decided []string
		tokens := make(map[api.Revealed]bool)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				decide := d.w.ApproveDevice
				if i%2 == 1 {
					decide = d.w.DenyDevice
				}
				got, err := decide(t.Context(), d.ann, decision(shown))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					decided = append(decided, got.Status)
				} else if api.CodeOf(err) != api.NotFound {
					t.Error(err)
				}
			})
			all.Go(func() {
				got, err := d.poll(made)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				} else if got.Status == api.DeviceApproved {
					tokens[got.KeywayToken] = true
				}
			})
		}
		all.Wait()
		if len(decided) != 1 || len(tokens) > 1 || decided[0] == api.DeviceDenied && len(tokens) != 0 {
			t.Fatalf("decided %v, %d tokens", decided, len(tokens))
		}
		if last := d.stands(made, decided[0]); len(tokens) == 1 && !tokens[last.KeywayToken] {
			t.Error("another token")
		}
	}
}

func TestARefusalOnTheWayToSignInDenies(t *testing.T) {
	d := newDesk(t)
	pending, approved := d.start(), d.start()
	d.approve(approved)
	records := len(d.rows(tagRow))
	for _, code := range []string{pending.UserCode, approved.UserCode, "BCDFG-HJK23", "nonsense"} {
		refused, err := d.w.RefuseDevice(t.Context(), d.program, code)
		must(t, err)
		if refused != (code == pending.UserCode) {
			t.Errorf("%s refused: %t", code, refused)
		}
	}
	d.stands(pending, api.DeviceDenied)
	d.stands(approved, api.DeviceApproved)
	wantCode(t, "verify", second(d.w.VerifyDevice(t.Context(), d.ann, api.VerifyDevice{UserCode: pending.UserCode})), api.NotFound)
	if got := len(d.rows(tagRow)) - records; got != 1 {
		t.Errorf("%d records of one refusal", got)
	}
}

// TestAnApprovalThatFailsAnywhereDidNothing breaks every step of an approval and
// of the poll after it in turn.
func TestAnApprovalThatFailsAnywhereDidNothing(t *testing.T) {
	h := newHouse(t)
	var made *api.StartedDevice
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		good := h.desk(h.warden(h.db))
		made = good.start()
		shown := good.verify(good.ann, made.UserCode)
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		_, err := w.ApproveDevice(t.Context(), good.ann, decision(shown))
		if err == nil {
			_, err = w.PollDevice(t.Context(), good.program, api.PollDevice{DeviceCode: api.NewSecret(string(made.DeviceCode))})
		}
		return err
	}, func(error) {
		d := h.desk(h.warden(h.db))
		sessions := h.count(tagSession)
		got, err := d.poll(made)
		must(t, err)
		if got.Status == api.DeviceApproved {
			who, err := d.w.Identify(t.Context(), warden.Credential{Bearer: string(got.KeywayToken)})
			must(t, err)
			must(t, d.w.Logout(t.Context(), who, api.Empty{}))
			sessions--
		} else if got.Status != api.DevicePending {
			t.Errorf("a poll is told %s", got.Status)
		}
		if sessions != 0 {
			t.Errorf("%d sessions are left of an approval that failed", sessions)
		}
	})
}

func TestWhileSealedNothingBegins(t *testing.T) {
	d := newDesk(t)
	made := d.start()
	operator, err := d.w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	d.approve(made)
	must(t, d.w.Seal(t.Context(), operator))
	wantCode(t, "stranger", second(d.w.Stranger(warden.Credential{})), api.Sealed)
	wantCode(t, "poll", second(d.poll(made)), api.Sealed)
}
