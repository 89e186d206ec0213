package warden_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coffer/crypto"
	"coffer/crypto/cryptotest"
	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
)

func secret(text string) *api.Secret {
	s := api.NewSecret(text)
	return &s
}

// unlocking is a house, its operator and what was added to it.
type unlocking struct {
	*warden.Warden
	h        *house
	t        *testing.T
	operator warden.Caller
	recovery string
	log      *bytes.Buffer
}

func newUnlocking(t *testing.T) *unlocking {
	t.Helper()
	u := &unlocking{t: t, log: new(bytes.Buffer)}
	u.h = bareHouse(t, func(c *warden.Config) {
		c.Log = slog.New(slog.NewTextHandler(u.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Now = func() time.Time { return u.h.now() }
	})
	u.Warden = u.h.warden(u.h.db)
	made, err := u.SetUp(t.Context(), warden.Setup{KeyFile: u.h.key})
	must(t, err)
	u.recovery = string(made.RecoveryKey)
	u.operator, err = u.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	return u
}

func (u *unlocking) list() []api.OperatorUnsealMethod {
	u.t.Helper()
	all, err := u.UnsealMethods(u.t.Context(), u.operator, api.Empty{})
	must(u.t, err)
	return all
}

func (u *unlocking) add(req api.AddUnsealMethod) *api.AddedUnsealMethod {
	u.t.Helper()
	made, err := u.AddUnsealMethod(u.t.Context(), u.operator, req)
	must(u.t, err)
	return made
}

func (u *unlocking) remove(id string, proof *api.Unseal) (*api.RemovedUnsealMethod, error) {
	return u.RemoveUnsealMethod(u.t.Context(), u.operator, api.RemoveUnsealMethod{ID: id, Proof: proof})
}

// opens seals the house and unseals it.
func (u *unlocking) opens(req api.Unseal) {
	u.t.Helper()
	must(u.t, u.Seal(u.t.Context(), u.operator))
	if err := u.Unseal(u.t.Context(), req); err != nil || u.State() != api.StateOK {
		u.t.Fatalf("still %s: %v", u.State(), err)
	}
}

func (u *unlocking) refused(err error, code api.Code, text string) {
	u.t.Helper()
	if api.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), text) {
		u.t.Errorf("got %s %v, want %s with %q", api.CodeOf(err), err, code, text)
	}
}

func TestEveryKindOfMethodOpens(t *testing.T) {
	cryptotest.InstallPlugin(t)
	u := newUnlocking(t)
	u.add(api.AddUnsealMethod{Kind: api.MethodPassphrase, Label: "night shift", Passphrase: secret("another passphrase")})
	u.add(api.AddUnsealMethod{Kind: api.MethodPassphrase, Passphrase: secret("a third passphrase")})
	recovery := u.add(api.AddUnsealMethod{Kind: api.MethodRecovery})
	at := filepath.Join(t.TempDir(), "second.key")
	keyFile := u.add(api.AddUnsealMethod{Kind: api.MethodKeyFile, KeyFile: at, Label: "rack 2"})
	shares := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	u.add(api.AddUnsealMethod{Kind: api.MethodPlugin, Identity: string(cryptotest.PluginIdentity(cryptotest.PluginOpens)), Label: "tpm"})

	u.opens(api.Unseal{Passphrase: secret("another passphrase")})
	u.opens(api.Unseal{Passphrase: secret("a third passphrase")})
	u.opens(api.Unseal{Key: secret(string(*recovery.Key))})
	u.opens(api.Unseal{Key: secret(u.recovery)})
	u.opens(api.Unseal{Key: secret(string(*keyFile.Key))})
	u.opens(api.Unseal{Share: secret(string(shares.Shares[0] + "\n" + shares.Shares[2]))})

	// By itself: the first key file, else the second, else the plugin.
	u.opens(api.Unseal{})
	must(t, os.Remove(u.h.key))
	must(t, os.WriteFile(at, []byte(*keyFile.Key), 0o600))
	u.opens(api.Unseal{})
	must(t, os.Remove(at))
	u.opens(api.Unseal{})

	kinds := ""
	for _, m := range u.list() {
		kinds += m.Kind + " "
		if m.ProtectsFrom == "" || m.DoesNotProtectFrom == "" {
			t.Errorf("%s: nobody knows what it is good for", m.Kind)
		}
	}
	if kinds != "key-file recovery-key passphrase passphrase recovery-key key-file shares plugin " {
		t.Error(kinds)
	}
	if m := u.list()[5]; m.KeyFile != at || m.Label != "rack 2" || m.Fingerprint == "" {
		t.Errorf("%+v", m)
	}
	if m := u.list()[7]; m.Plugin != "coffertest" {
		t.Errorf("%+v", m)
	}
	// Who has no credential learns neither labels nor places.
	if text := fmt.Sprintf("%+v", u.Status(t.Context())); strings.Contains(text, "rack") || strings.Contains(text, at) {
		t.Error(text)
	}
	for _, canary := range []string{"another passphrase", string(*recovery.Key), string(*keyFile.Key), string(shares.Shares[0]), u.recovery} {
		if strings.Contains(u.log.String(), canary) {
			t.Errorf("the log has %.12s…", canary)
		}
		must(t, u.h.db.View(t.Context(), func(r kv.Reader) error {
			return r.Scan(kv.Range{}, func(_, v []byte) error {
				if bytes.Contains(v, []byte(canary)) {
					t.Errorf("the data has %.12s…", canary)
				}
				return nil
			})
		}))
	}
}

func TestAKeyOfOnesOwnIsTaken(t *testing.T) {
	u := newUnlocking(t)
	text, err := os.ReadFile(u.h.key)
	must(t, err)
	made := u.add(api.AddUnsealMethod{Kind: api.MethodKeyFile, Key: secret(string(text))})
	if made.Key != nil {
		t.Error("a key that somebody has is in the answer")
	}
	_, err = u.AddUnsealMethod(t.Context(), u.operator, api.AddUnsealMethod{Kind: api.MethodKeyFile, Key: secret("canary")})
	u.refused(err, api.Invalid, "")
	_, err = u.AddUnsealMethod(t.Context(), u.operator, api.AddUnsealMethod{Kind: api.MethodKeyFile, Recipient: "age1canary"})
	u.refused(err, api.Invalid, "")
}

// TestNobodyAddsAMethodWithoutShowingOne: rights to the running server are no keys.
func TestNobodyAddsAMethodWithoutShowingOne(t *testing.T) {
	u := newUnlocking(t)
	must(t, os.Remove(u.h.key))
	add := func(proof *api.Unseal) error {
		_, err := u.AddUnsealMethod(t.Context(), u.operator, api.AddUnsealMethod{Kind: api.MethodRecovery, Proof: proof})
		return err
	}
	u.refused(add(nil), api.Forbidden, "The key file is missing")
	u.refused(add(&api.Unseal{Passphrase: secret("x")}), api.Forbidden, "no passphrase")
	u.refused(add(&api.Unseal{Key: secret("x")}), api.Forbidden, "not a usable key")
	other := newUnlocking(t)
	u.refused(add(&api.Unseal{Key: secret(other.recovery)}), api.Forbidden, "another instance")
	if n := len(u.list()); n != 2 {
		t.Errorf("%d methods", n)
	}
	must(t, add(&api.Unseal{Key: secret(u.recovery)}))
	_, err := u.AddUnsealMethod(t.Context(), warden.Caller{}, api.AddUnsealMethod{Kind: api.MethodRecovery, Proof: &api.Unseal{Key: secret(u.recovery)}})
	u.refused(err, api.Forbidden, "")
}

func TestAMethodThatOpensAlwaysStays(t *testing.T) {
	u := newUnlocking(t)
	all := u.list()
	keyFile, recovery := all[0].ID, all[1].ID
	// What the server was started with proves the removal of anything but itself.
	_, err := u.remove(keyFile, nil)
	u.refused(err, api.Forbidden, "Show another way")
	_, err = u.remove(recovery, &api.Unseal{Key: secret(u.recovery)})
	u.refused(err, api.Forbidden, "Show another way")
	_, err = u.remove("0195b7a1-0000-7000-8000-000000000000", nil)
	u.refused(err, api.NotFound, "no such way")
	// With the only other one lost, nothing goes.
	must(t, os.Rename(u.h.key, u.h.key+".away"))
	_, err = u.remove(recovery, nil)
	u.refused(err, api.Forbidden, "missing")
	must(t, os.Rename(u.h.key+".away", u.h.key))

	gone, err := u.remove(recovery, nil)
	must(t, err)
	if !strings.Contains(gone.Warning, "last recovery key") {
		t.Errorf("no warning: %+v", gone)
	}
	_, err = u.remove(keyFile, nil)
	u.refused(err, api.Conflict, "last way to unseal")
	must(t, u.Seal(t.Context(), u.operator))
	u.refused(u.Unseal(t.Context(), api.Unseal{Key: secret(u.recovery)}), api.Forbidden, "another instance")
	must(t, u.Unseal(t.Context(), api.Unseal{}))
	made := u.add(api.AddUnsealMethod{Kind: api.MethodRecovery})
	gone, err = u.remove(keyFile, &api.Unseal{Key: secret(string(*made.Key))})
	must(t, err)
	if gone.Warning != "" {
		t.Errorf("%+v", gone)
	}
}

// TestRacingRemovalsLeaveOne: each is proven by what the other removes.
func TestRacingRemovalsLeaveOne(t *testing.T) {
	for range 10 {
		u := newUnlocking(t)
		all := u.list()
		errs := make([]error, 2)
		var both sync.WaitGroup
		both.Go(func() { _, errs[0] = u.remove(all[0].ID, &api.Unseal{Key: secret(u.recovery)}) })
		both.Go(func() { _, errs[1] = u.remove(all[1].ID, nil) })
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || len(u.list()) != 1 {
			t.Fatalf("%v, %v, %d left", errs[0], errs[1], len(u.list()))
		}
		req := api.Unseal{}
		if errs[0] == nil {
			req.Key = secret(u.recovery)
		}
		u.opens(req)
	}
}

func TestSharesComeOneByOne(t *testing.T) {
	u := newUnlocking(t)
	made := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 3, Total: 5})
	again := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 2})
	must(t, u.Seal(t.Context(), u.operator))
	give := func(s api.Revealed) error { return u.Unseal(t.Context(), api.Unseal{Share: secret(string(s))}) }
	given := func(n int) {
		t.Helper()
		p := u.Status(t.Context()).Shares
		if n == 0 && p == nil {
			return
		}
		if p == nil || p.Given != n || p.Missing != 3-n || p.Threshold != 3 || p.Fingerprint != made.Fingerprint || u.State() != api.StateSealed {
			t.Errorf("want %d: %+v", n, p)
		}
	}
	given(0)
	must(t, give(made.Shares[0]))
	given(1)
	u.refused(give(made.Shares[0]), api.Forbidden, "Share 1 was given already")
	u.refused(give(made.Shares[1][:40]+"X"+made.Shares[1][41:]), api.Forbidden, "group")
	u.refused(give(again.Shares[0]), api.Forbidden, "those given before belong to")
	other := newUnlocking(t)
	foreign := other.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 3, Total: 5})
	u.refused(give(foreign.Shares[1]), api.Forbidden, "belongs to another key")
	given(1)
	must(t, give(made.Shares[3]))
	given(2)
	must(t, give(made.Shares[4]))
	if u.State() != api.StateOK || u.Status(t.Context()).Shares != nil {
		t.Error("still sealed")
	}
	// Dropped on sealing, after their time, and when something else opens.
	must(t, u.Seal(t.Context(), u.operator))
	must(t, give(made.Shares[0]))
	u.h.sleep(warden.SharesTime)
	given(0)
	must(t, give(made.Shares[1]))
	given(1)
	must(t, u.Unseal(t.Context(), api.Unseal{}))
	must(t, u.Seal(t.Context(), u.operator))
	given(0)
	must(t, give(made.Shares[1]))
	given(1)
	if strings.Contains(u.log.String(), string(made.Shares[1])) {
		t.Error("a share is in the log")
	}
}

// TestPublicHalvesAreFilledIn: versions before kept none.
func TestPublicHalvesAreFilledIn(t *testing.T) {
	u := newUnlocking(t)
	s, err := store.Open(context.Background(), u.h.db)
	must(t, err)
	edit := func(work func(store.Tx) error) { t.Helper(); must(t, s.Update(t.Context(), work)) }
	edit(func(tx store.Tx) error {
		i, err := tx.Instance()
		must(t, err)
		i.Recipient = ""
		all, err := tx.Methods()
		must(t, err)
		for _, m := range all {
			m.Recipient = ""
			must(t, tx.PutMethod(m))
		}
		return tx.PutInstance(i)
	})
	u.opens(api.Unseal{Key: secret(u.recovery)})
	edit(func(tx store.Tx) error {
		i, _ := tx.Instance()
		all, _ := tx.Methods()
		if !strings.HasPrefix(i.Recipient, "age1pq1") || all[0].Recipient != "" || !strings.HasPrefix(all[1].Recipient, "age1pq1") {
			t.Errorf("%.10q %.10q %.10q", i.Recipient, all[0].Recipient, all[1].Recipient)
		}
		return nil
	})
	u.opens(api.Unseal{})
	edit(func(tx store.Tx) error {
		if all, _ := tx.Methods(); !strings.HasPrefix(all[0].Recipient, "age1pq1") {
			t.Error("that of the key file is not filled in")
		}
		return nil
	})

	// Nor does a stranger's stay in the place of the master key's.
	stranger, err := crypto.NewMaster()
	must(t, err)
	edit(func(tx store.Tx) error {
		i, err := tx.Instance()
		must(t, err)
		i.Recipient = stranger.Recipient()
		return tx.PutInstance(i)
	})
	u.opens(api.Unseal{})
	edit(func(tx store.Tx) error {
		if i, _ := tx.Instance(); i.Recipient == stranger.Recipient() || !strings.HasPrefix(i.Recipient, "age1pq1") {
			t.Error("the master key's public half is a stranger's")
		}
		return nil
	})
}

func TestEveryWayThatWasTriedSaysWhyItFailed(t *testing.T) {
	cryptotest.InstallPlugin(t)
	u := newUnlocking(t)
	identity := cryptotest.PluginIdentity(cryptotest.PluginOpens)
	u.add(api.AddUnsealMethod{Kind: api.MethodPlugin, Identity: string(identity), Label: "yubikey"})
	must(t, os.Remove(u.h.key))
	t.Setenv(cryptotest.Device, filepath.Join(t.TempDir(), "unplugged"))
	must(t, u.Seal(t.Context(), u.operator))
	u.refused(u.Unseal(t.Context(), api.Unseal{}), api.Forbidden, "no device is plugged in")
	st := u.Status(t.Context())
	if len(st.Attempts) != 2 || !strings.Contains(st.Attempts[0].Reason, "missing") || !strings.Contains(st.Attempts[1].Reason, "no device") || !strings.Contains(st.Attempts[1].Way, "of age-plugin-coffertest") || strings.Contains(st.Attempts[1].Way, "yubikey") {
		t.Errorf("%+v", st.Attempts)
	}
	if !strings.Contains(st.LastError, "missing") || !strings.Contains(st.LastError, "no device") {
		t.Error(st.LastError)
	}
	t.Setenv(cryptotest.Device, "")
	must(t, u.Unseal(t.Context(), api.Unseal{}))

	// A plugin that a server cannot use is refused before it counts.
	for behaviour, text := range map[string]string{cryptotest.PluginAsks: "PIN for serial", cryptotest.PluginFails: "the hardware is broken"} {
		_, err := u.AddUnsealMethod(t.Context(), u.operator, api.AddUnsealMethod{Kind: api.MethodPlugin, Proof: &api.Unseal{Key: secret(u.recovery)},
			Identity: string(cryptotest.PluginIdentity(behaviour))})
		e, _ := err.(*api.Error)
		if e == nil || e.Code != api.Invalid || !strings.Contains(fmt.Sprint(e.Fields), text) {
			t.Errorf("%s: %+v", behaviour, err)
		}
	}
}

// forged is a share that passes for one of the same set and is none. It is made by
// what crypto/DESIGN.md says of the form, and by nothing else.
func forged(t *testing.T, share api.Revealed) api.Revealed {
	t.Helper()
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	alphabet := base32.NewEncoding(digits).WithPadding(base32.NoPadding)
	var text string
	for _, group := range strings.Split(strings.TrimPrefix(string(share), "COFFER-SHARE-1-"), "-") {
		text += group[:5]
	}
	b, err := alphabet.DecodeString(text[:69])
	must(t, err)
	b[7] ^= 1
	sum := sha256.Sum256(append([]byte("COFFER-SHARE-1"), b[:39]...))
	text = alphabet.EncodeToString(append(b[:39], sum[:4]...)) + "0"
	out := "COFFER-SHARE-1"
	for i := range 14 {
		group, check := text[i*5:i*5+5], i+1
		for n, weight := range []int{3, 5, 7, 9, 11} {
			check += weight * strings.IndexByte(digits, group[n])
		}
		out += "-" + group + string(digits[check%32])
	}
	return api.Revealed(out)
}

// TestAForgedShareDropsAllThatWereGiven: nobody can tell which one it is.
func TestAForgedShareDropsAllThatWereGiven(t *testing.T) {
	u := newUnlocking(t)
	made := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	must(t, u.Seal(t.Context(), u.operator))
	give := func(s api.Revealed) error { return u.Unseal(t.Context(), api.Unseal{Share: secret(string(s))}) }
	must(t, give(forged(t, made.Shares[0])))
	u.refused(give(made.Shares[1]), api.Forbidden, "at least one of them is forged")
	if u.State() != api.StateSealed || u.Status(t.Context()).Shares != nil {
		t.Error("they are kept")
	}
	must(t, give(made.Shares[1]))
	must(t, give(made.Shares[2]))
	if u.State() != api.StateOK {
		t.Error("still sealed")
	}
}

// TestAForgedShareDoesNotKeepItSealed: anybody may give shares while it is sealed, and
// what a forged one needs to look right is shown to everybody.
func TestAForgedShareDoesNotKeepItSealed(t *testing.T) {
	u := newUnlocking(t)
	made := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	other := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	both := api.Unseal{Share: secret(string(made.Shares[0] + "\n" + made.Shares[1]))}
	for _, given := range []api.Revealed{forged(t, made.Shares[0]), forged(t, made.Shares[2]), other.Shares[0]} {
		must(t, u.Seal(t.Context(), u.operator))
		must(t, u.Unseal(t.Context(), api.Unseal{Share: secret(string(given))}))
		if err := u.Unseal(t.Context(), both); err != nil || u.State() != api.StateOK {
			t.Errorf("still %s: %v", u.State(), err)
		}
	}
}

// TestSharesAreForgottenWhateverTheClockSays sets the clock back while shares wait.
func TestSharesAreForgottenWhateverTheClockSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnlocking(t)
		defer u.Close()
		made := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
		must(t, u.Seal(t.Context(), u.operator))
		must(t, u.Unseal(t.Context(), api.Unseal{Share: secret(string(made.Shares[0]))}))
		u.h.sleep(-24 * time.Hour)
		time.Sleep(warden.SharesTime + time.Second)
		must(t, u.Unseal(t.Context(), api.Unseal{Share: secret(string(made.Shares[1]))}))
		if u.State() != api.StateSealed {
			t.Error("a share was kept beyond its time")
		}
	})
}
