package warden_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/kvtest"
)

// fresh is an instance that nobody has set up, and a clock to turn.
type fresh struct {
	*warden.Warden
	t     *testing.T
	key   string // where its key file goes
	claim api.Secret
	now   time.Time
}

func newFresh(t *testing.T, options ...func(*warden.Config)) *fresh {
	t.Helper()
	f := &fresh{t: t, key: filepath.Join(t.TempDir(), "coffer.key"), now: time.Now()}
	h := bareHouse(t, func(*warden.Config) {})
	s, err := store.Open(t.Context(), kvtest.Twice(h.db))
	must(t, err)
	c := warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return f.now }}
	for _, o := range options {
		o(&c)
	}
	f.Warden = warden.New(c)
	t.Cleanup(func() { _ = f.Close() })
	claim, err := f.Open(t.Context(), warden.Start{NewKeyFile: f.key})
	must(t, err)
	f.claim = api.NewSecret(claim)
	return f
}

func (f *fresh) begin() api.Secret {
	f.t.Helper()
	ticket, err := f.ClaimSetup(f.t.Context(), f.claim)
	must(f.t, err)
	return ticket
}

func (f *fresh) setting(ticket api.Secret) *warden.Setting {
	f.t.Helper()
	s, err := f.Setting(f.t.Context(), ticket)
	must(f.t, err)
	return s
}

// asked are the characters of a recovery key that were asked for.
func asked(key api.Revealed, group int) api.Secret {
	return api.NewSecret(string(key)[(group-1)*warden.RecoveryGroup : group*warden.RecoveryGroup])
}

var byKeyFile = api.Setup{KeyFile: true}

func TestABrowserSetsAFreshInstanceUp(t *testing.T) {
	f := newFresh(t)
	ctx := t.Context()
	ticket := f.begin()
	if s := f.setting(ticket); s.Step != warden.StepMethod {
		t.Errorf("%+v", s)
	}
	must(t, f.ChooseMethod(ctx, ticket, byKeyFile))
	wantCode(t, "not looked at", f.CheckRecoveryKey(ctx, ticket, api.NewSecret("x")), api.Invalid)
	s := f.setting(ticket)
	if s.Step != warden.StepRecovery || !strings.HasPrefix(string(s.RecoveryKey), "AGE-SECRET-KEY-PQ-1") || s.KeyFile != f.key {
		t.Errorf("%+v", s)
	}
	if again := f.setting(ticket); again.RecoveryKey != "" || again.Group != s.Group {
		t.Errorf("it is shown again: %+v", again)
	}
	wantCode(t, "too early", second(f.FinishSetup(ctx, ticket, warden.Credential{}, nil)), api.Conflict)
	wantCode(t, "wrong", f.CheckRecoveryKey(ctx, ticket, api.NewSecret("QQQQQQ")), api.Invalid)
	wantCode(t, "nothing", f.CheckRecoveryKey(ctx, ticket, api.NewSecret("")), api.Invalid)
	typed := asked(s.RecoveryKey, s.Group).Reveal()
	must(t, f.CheckRecoveryKey(ctx, ticket, api.NewSecret(" "+strings.ToLower(typed[:3])+" "+typed[3:])))
	if s := f.setting(ticket); s.Step != warden.StepUser || s.RecoveryKey != "" {
		t.Errorf("%+v", s)
	}
	wantCode(t, "nobody", second(f.FinishSetup(ctx, ticket, warden.Credential{}, nil)), api.Invalid)
	if f.State() != api.StateUninitialized {
		t.Error("it is written before the last step")
	}
	session, err := f.FinishSetup(ctx, ticket, warden.Credential{}, &api.NewOperator{Username: "ann", Password: api.NewSecret("a password")})
	must(t, err)
	if f.State() != api.StateOK || session.Username != "ann" {
		t.Errorf("%s, %+v", f.State(), session)
	}
	who, err := f.Identify(ctx, warden.Credential{Cookie: session.Token.Reveal()})
	must(t, err)
	if who.Username() != "ann" {
		t.Errorf("%s is signed in", who.Username())
	}
	wantCode(t, "afterwards", second(f.Setting(ctx, ticket)), api.Conflict)
	wantCode(t, "a second time", second(f.ClaimSetup(ctx, f.claim)), api.Conflict)

	must(t, f.Seal(ctx, operator(t, f.Warden)))
	key := api.NewSecret(string(s.RecoveryKey))
	must(t, f.Unseal(ctx, api.Unseal{Key: &key}))
}

func TestTheSetupBelongsToTheBrowserThatClaimedIt(t *testing.T) {
	f := newFresh(t)
	ctx := t.Context()
	wantCode(t, "a wrong token", second(f.ClaimSetup(ctx, api.NewSecret("wrong"))), api.Forbidden)
	ticket := f.begin()
	must(t, f.ChooseMethod(ctx, ticket, byKeyFile))
	wantCode(t, "a second browser", second(f.ClaimSetup(ctx, f.claim)), api.Conflict)
	wantCode(t, "a program", second(f.Initialize(ctx, api.Initialize{Setup: byKeyFile, ClaimToken: f.claim})), api.Conflict)
	for name, err := range map[string]error{
		"look":   second(f.Setting(ctx, api.NewSecret("other"))),
		"choose": f.ChooseMethod(ctx, api.NewSecret(""), byKeyFile),
		"renew":  f.AnotherRecoveryKey(ctx, f.claim),
		"check":  f.CheckRecoveryKey(ctx, f.claim, api.NewSecret("x")),
		"finish": second(f.FinishSetup(ctx, f.claim, warden.Credential{}, nil)),
		"leave":  f.LeaveSetup(ctx, f.claim),
	} {
		wantCode(t, name, err, api.Unauthorized)
	}
	must(t, f.LeaveSetup(ctx, ticket))
	wantCode(t, "left", second(f.Setting(ctx, ticket)), api.Unauthorized)

	ticket = f.begin()
	f.now = f.now.Add(15 * time.Minute)
	wantCode(t, "too late", f.ChooseMethod(ctx, ticket, byKeyFile), api.Unauthorized)
	other := f.begin()
	wantCode(t, "the first, when another has it", second(f.Setting(ctx, ticket)), api.Unauthorized)
	if s := f.setting(other); s.Step != warden.StepMethod {
		t.Errorf("%+v", s)
	}
	must(t, second(f.InitializeHere(ctx, byKeyFile)))
	wantCode(t, "when the operator was faster", f.ChooseMethod(ctx, other, byKeyFile), api.Conflict)
}

func TestARecoveryKeyThatWasNotSavedIsReplaced(t *testing.T) {
	f := newFresh(t)
	ctx := t.Context()
	ticket := f.begin()
	wantCode(t, "nothing to replace", f.AnotherRecoveryKey(ctx, ticket), api.Conflict)
	wantCode(t, "nothing to check", f.CheckRecoveryKey(ctx, ticket, api.NewSecret("x")), api.Conflict)
	passphrase := api.NewSecret("a long passphrase")
	must(t, f.ChooseMethod(ctx, ticket, api.Setup{Passphrase: &passphrase}))
	lost := f.setting(ticket)
	must(t, f.AnotherRecoveryKey(ctx, ticket))
	s := f.setting(ticket)
	if s.RecoveryKey == "" || s.RecoveryKey == lost.RecoveryKey || s.KeyFile != "" {
		t.Errorf("%+v", s)
	}
	must(t, f.CheckRecoveryKey(ctx, ticket, asked(s.RecoveryKey, s.Group)))
	must(t, second(f.FinishSetup(ctx, ticket, warden.Credential{}, &api.NewOperator{Username: "ann", Password: passphrase})))
	must(t, f.Seal(ctx, operator(t, f.Warden)))
	old, key := api.NewSecret(string(lost.RecoveryKey)), api.NewSecret(string(s.RecoveryKey))
	wantCode(t, "the lost key", f.Unseal(ctx, api.Unseal{Key: &old}), api.Forbidden)
	must(t, f.Unseal(ctx, api.Unseal{Key: &key}))
	must(t, f.Seal(ctx, operator(t, f.Warden)))
	must(t, f.Unseal(ctx, api.Unseal{Passphrase: &passphrase}))
}

// TestEveryGroupIsWholeAndSecret: what is asked for must stand in the key, and not
// in every key.
func TestEveryGroupIsWholeAndSecret(t *testing.T) {
	f := newFresh(t)
	ticket := f.begin()
	must(t, f.ChooseMethod(t.Context(), ticket, byKeyFile))
	seen := make(map[int]bool)
	for range 200 {
		must(t, f.AnotherRecoveryKey(t.Context(), ticket))
		s := f.setting(ticket)
		seen[s.Group] = true
		from, to := (s.Group-1)*warden.RecoveryGroup, s.Group*warden.RecoveryGroup
		if from < len("AGE-SECRET-KEY-PQ-1") || to > len(s.RecoveryKey) {
			t.Fatalf("group %d of %d characters", s.Group, len(s.RecoveryKey))
		}
	}
	if len(seen) < 4 {
		t.Errorf("only groups %v", seen)
	}
}

func TestWithAnotherCodeHostNobodyIsMade(t *testing.T) {
	f := newFresh(t, func(c *warden.Config) {
		c.Forge = func(forge.Directory) forge.Forge { return &host{} }
		c.ForgeURL = "https://git.example"
	})
	ctx := t.Context()
	ticket := f.begin()
	must(t, f.ChooseMethod(ctx, ticket, byKeyFile))
	s := f.setting(ticket)
	must(t, f.CheckRecoveryKey(ctx, ticket, asked(s.RecoveryKey, s.Group)))
	session, err := f.FinishSetup(ctx, ticket, warden.Credential{}, &api.NewOperator{Username: "ann", Password: api.NewSecret("a password")})
	if err != nil || session != nil || f.State() != api.StateOK {
		t.Errorf("%v, %v, %s", session, err, f.State())
	}
}
