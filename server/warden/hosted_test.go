package warden_test

import (
	"sync"
	"testing"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

func TestARoleCountsForAMinuteAndANoForLess(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.sleep(time.Hour)
	who := h.caller(pat)
	for range 3 {
		if _, code := h.look(who, "acme/api"); code != "" {
			t.Fatalf("an admin: %s", code)
		}
	}
	asked := h.count()
	h.set(func() { h.role = forge.None })
	h.sleep(59 * time.Second)
	if v, _ := h.look(who, "acme/api"); v.ID == "" || h.count() != asked {
		t.Error("a role was not remembered for a minute")
	}
	h.sleep(2 * time.Second)
	if _, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("whose role was taken away a minute ago: %q", code)
	}
	h.set(func() { h.role = forge.Read })
	h.sleep(14 * time.Second)
	if _, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("a no is remembered for a while: %q", code)
	}
	h.sleep(2 * time.Second)
	if v, _ := h.look(who, "acme/api"); v.ID == "" {
		t.Error("whoever was let in stays out after a quarter of a minute")
	}
}

func TestAHostThatIsDownNeverGivesARole(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.sleep(time.Hour)
	who := h.caller(pat)
	h.set(func() { h.down = &forge.Unavailable{RetryAfter: 42 * time.Second, Err: errHangs} })
	_, err := h.w.Vault(t.Context(), who, api.Ref{Owner: "acme", Repo: "api"})
	if api.CodeOf(err) != api.Unavailable || retryAfter(err) != 42*time.Second {
		t.Errorf("a host that is down: %v", err)
	}
	if _, code := h.look(who, "acme/other"); code != api.Unavailable {
		t.Errorf("a vault that may or may not be there: %s", code)
	}
	h.sleep(time.Hour)
	if _, err := h.w.Identify(t.Context(), warden.Credential{Bearer: pat}); api.CodeOf(err) != api.Unavailable {
		t.Errorf("a token that nobody can be asked about: %v", err)
	}
	h.set(func() { h.down = nil })
	if v, _ := h.look(h.caller(pat), "acme/api"); v.ID == "" {
		t.Error("the failure was remembered")
	}
}

func TestManyWhoAskAtOnceAreOneQuestion(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.sleep(time.Hour)
	who := h.caller(pat)
	slow := make(chan struct{})
	h.set(func() { h.slow = slow })
	asked := h.count()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if v, _ := h.look(who, "acme/api"); v.ID == "" {
				t.Error("no answer")
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(slow)
	all.Wait()
	if n := h.count() - asked; n != 1 {
		t.Errorf("%d questions", n)
	}
}

// TestAnAnswerFromBeforeAChangeIsNotKept asks, has a webhook say meanwhile that
// roles changed, and lets the old answer arrive only then.
func TestAnAnswerFromBeforeAChangeIsNotKept(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.sleep(time.Hour)
	who := h.caller(pat)
	slow := make(chan struct{})
	h.set(func() { h.slow = slow })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h.look(who, "acme/api")
	}()
	time.Sleep(20 * time.Millisecond)
	h.w.ForgetHost()
	close(slow)
	<-done
	h.set(func() { h.slow, h.role = nil, forge.None })
	if _, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("after the webhook: %q", code)
	}
}

func TestWhoeverReachesFurthestIsAsked(t *testing.T) {
	h := newHosted(t)
	h.vault()
	key := h.key()
	h.sleep(time.Hour)

	if _, code := h.look(key(), "acme/api"); code != api.Forbidden {
		t.Errorf("nobody can be asked: %s", code)
	}
	h.set(func() { h.granted = "grant" })
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "grant"}))
	h.sleep(time.Hour)
	if v, code := h.look(key(), "acme/api"); v.ID == "" || h.last() != "role grant" {
		t.Errorf("with a grant: %s, asked %q", code, h.last())
	}
	h.set(func() { h.service = true })
	h.sleep(time.Hour)
	if v, code := h.look(key(), "acme/api"); v.ID == "" || h.last() != "role " {
		t.Errorf("with a service credential: %s, asked %q", code, h.last())
	}
	if v, _ := h.look(h.caller(pat), "acme/api"); v.ID == "" || h.last() != "role "+pat {
		t.Errorf("a token of the code host has its own reach; asked %q", h.last())
	}
}

func TestATokensAnswerIsNotItsOwnersAnswer(t *testing.T) {
	h := newHosted(t)
	h.vault()
	key := h.key()
	h.set(func() { h.service = true })
	h.sleep(time.Hour)
	if v, _ := h.look(h.caller(pat), "acme/api"); v.ID == "" {
		t.Fatal("no answer")
	}
	asked := h.count()
	if _, code := h.look(key(), "acme/api"); h.count() != asked+1 {
		t.Errorf("the key used what the token was told: %s", code)
	}
}

func TestAGrantIsRenewedOnceForAll(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.set(func() { h.granted, h.refresh = "a", "r" })
	key := h.key()
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "a", Refresh: "r", Expires: h.now.Add(59 * time.Second)}))
	h.sleep(time.Second)
	h.w.ForgetHost()
	slow := make(chan struct{})
	h.set(func() { h.slow = slow })
	time.AfterFunc(30*time.Millisecond, func() { close(slow) })
	var all sync.WaitGroup
	who := key()
	for i := range 10 {
		all.Go(func() {
			if i%2 == 0 {
				h.w.ForgetHost() // makes flights of their own
			}
			if v, code := h.look(who, "acme/api"); v.ID == "" {
				t.Errorf("no answer: %s", code)
			}
		})
	}
	all.Wait()
	if h.renewals != 1 || h.last() != "role a'" {
		t.Errorf("%d renewals, asked %q", h.renewals, h.last())
	}
}

func TestAGrantEndsOnlyWhenTheHostSaysSo(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.set(func() { h.granted, h.refresh = "a", "r" })
	key := h.key()
	must(t, h.w.KeepGrant(t.Context(), h.caller(pat), forge.Grant{Access: "a", Refresh: "r", Expires: h.now.Add(30 * time.Second)}))
	h.w.ForgetHost()
	h.set(func() { h.refusals = &forge.Unavailable{Err: errHangs} })
	if _, code := h.look(key(), "acme/api"); code != api.Unavailable {
		t.Errorf("a renewal that fails: %s", code)
	}
	h.set(func() { h.refusals = nil })
	if v, code := h.look(key(), "acme/api"); v.ID == "" {
		t.Errorf("after it: %s", code)
	}
	h.set(func() { h.granted, h.refresh = "other", "other" })
	h.w.ForgetHost()
	if _, code := h.look(key(), "acme/api"); code != api.Forbidden {
		t.Errorf("a grant that the user withdrew: %s", code)
	}
	renewals := h.renewals
	if _, code := h.look(key(), "acme/api"); code != api.Forbidden || h.renewals != renewals {
		t.Errorf("it was tried again: %s", code)
	}
}

func TestWrongTokensAreAskedAboutOnce(t *testing.T) {
	h := newHosted(t)
	identify := func(token string) error {
		_, err := h.w.Identify(t.Context(), warden.Credential{Bearer: token})
		return err
	}
	for range 5 {
		if err := identify("ghp_wrong"); api.CodeOf(err) != api.Unauthorized {
			t.Errorf("a wrong token: %v", err)
		}
	}
	if n := h.count(); n != 1 {
		t.Errorf("%d questions", n)
	}
	h.sleep(46 * time.Second)
	_ = identify("ghp_wrong")
	if n := h.count(); n != 2 {
		t.Errorf("%d questions after a while", n)
	}
	for _, token := range []string{"with blank", "tab\t", "ümlaut", string(make([]byte, 513)), "coffer_live_x", "eyJraWQiOiJjb2ZmZXItMSJ9.e30.x"} {
		if err := identify(token); api.CodeOf(err) != api.Unauthorized {
			t.Errorf("%q: %v", token, err)
		}
	}
	if n := h.count(); n != 2 {
		t.Errorf("what is no token of the host's was sent there")
	}
	who, err := h.w.Identify(t.Context(), warden.Credential{Bearer: "ghp_new", Exhausted: func() bool { return true }})
	if api.CodeOf(err) != api.Unauthorized || h.count() != 2 {
		t.Errorf("an address that guesses: %v, %v", who.Kind(), err)
	}
}

func TestAVaultFollowsItsRepository(t *testing.T) {
	h := newHosted(t)
	h.vault()
	was, _ := h.look(h.caller(pat), "acme/api")
	h.set(func() { h.repo.Name, h.repo.Public = "new", false })
	h.sleep(time.Hour)
	who := h.caller(pat)
	if v, code := h.look(who, "acme/new"); v.ID != was.ID || v.RepoFullName != "acme/new" || !v.IsPrivate {
		t.Errorf("by its new name: %+v, %s", v, code)
	}
	if _, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("by a name that leads nowhere: %s", code)
	}
	all, err := h.w.VaultActivity(t.Context(), who, api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "acme", Repo: "new"}}})
	must(t, err)
	seen := map[string]bool{}
	for _, a := range all.Items {
		seen[a.Action] = a.Actor == nil
	}
	if !seen["vault_renamed"] || !seen["vault_visibility_changed"] {
		t.Errorf("the log has %v", seen)
	}

	// Another repository takes the old name. It has no vault, and nobody who
	// may do something there may do it to the vault that had the name.
	first := h.repo
	h.set(func() { h.repo.ID, h.repo.Name = "2", "api" })
	h.sleep(time.Hour)
	who = h.caller(pat)
	if v, code := h.look(who, "acme/api"); code != api.NotFound {
		t.Errorf("a recycled name gives %+v", v)
	}
	made, err := h.w.CreateVault(t.Context(), who, api.CreateVault{RepoFullName: "acme/api"})
	must(t, err)
	if made.ID == was.ID {
		t.Error("two repositories share a vault")
	}
	h.set(func() { h.repo = first })
	h.sleep(time.Hour)
	if v, _ := h.look(h.caller(pat), "acme/new"); v.ID != was.ID {
		t.Error("the first vault is lost")
	}
}

func TestOnlyItsOwnerSeesTheVaultOfARepositoryThatIsGone(t *testing.T) {
	h := newHosted(t)
	h.set(func() {
		h.repo.OwnerKind, h.repo.OwnerID = forge.OwnerUser, "7"
		h.tokens["ghp_bob"] = "8"
	})
	h.vault()
	h.set(func() { h.gone = true })
	h.sleep(time.Hour)
	if _, code := h.look(h.caller("ghp_bob"), "acme/api"); code != api.NotFound {
		t.Errorf("somebody else: %s", code)
	}
	v, _ := h.look(h.caller(pat), "acme/api")
	if v.ID == "" || v.Permission != nil || v.Warning == nil || *v.Warning != "repo_inaccessible" || len(v.Environments) != 0 {
		t.Errorf("the owner: %+v", v)
	}
	ref := api.Ref{Owner: "acme", Repo: "api"}
	if _, err := h.w.Environments(t.Context(), h.caller(pat), ref); api.CodeOf(err) != api.NotFound {
		t.Errorf("the owner looks inside: %v", err)
	}
	if err := h.w.DeleteVault(t.Context(), h.caller("ghp_bob"), ref); api.CodeOf(err) != api.NotFound {
		t.Errorf("somebody else deletes it: %v", err)
	}
	must(t, h.w.DeleteVault(t.Context(), h.caller(pat), ref))
	if _, code := h.look(h.caller(pat), "acme/api"); code != api.NotFound {
		t.Errorf("after that: %s", code)
	}
}

func TestTheBuiltInHostIsClosedElsewhere(t *testing.T) {
	h := newHosted(t)
	operator, err := h.w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	_, err = h.w.AddLocalUser(t.Context(), operator, api.AddLocalUser{Username: "ann", Password: api.NewSecret("a password")})
	if api.CodeOf(err) != api.Conflict {
		t.Errorf("a user who would share her id with a stranger: %v", err)
	}
	if _, err := h.w.SignIn(t.Context(), operator, api.SignIn{Username: "login7"}); api.CodeOf(err) != api.Invalid {
		t.Errorf("somebody who was never here: %v", err)
	}
	if k := h.caller(pat).Kind(); k != access.PAT.String() {
		t.Error(k)
	}
	must(t, second(h.w.SignIn(t.Context(), operator, api.SignIn{Username: "LOGIN7"})))
}

func TestTicketsHaveAKeyOfTheirOwn(t *testing.T) {
	if newHosted(t).w.TakesForTicket(`{"Verifier":"v"}`) {
		t.Error("the key of stored records seals tickets")
	}
}

// TestATokenAskedAboutBeforeAChangeIsAskedAboutAgain has a webhook arrive while the
// host is asked whose a token is, and lets the old answer arrive only then.
func TestATokenAskedAboutBeforeAChangeIsAskedAboutAgain(t *testing.T) {
	h := newHosted(t)
	slow, done := make(chan struct{}), make(chan struct{})
	h.set(func() { h.slow = slow })
	identify := func() error {
		_, err := h.w.Identify(t.Context(), warden.Credential{Bearer: pat})
		return err
	}
	go func() {
		defer close(done)
		if err := identify(); err != nil {
			t.Error(err)
		}
	}()
	for h.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	h.w.ForgetHost()
	h.set(func() { h.slow = nil; delete(h.tokens, pat) })
	if err := identify(); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("while the old answer is on its way: %v", err)
	}
	h.w.ForgetHost()
	close(slow)
	<-done
	if err := identify(); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("after the old answer arrived: %v", err)
	}
}

// TestWhoCannotBeAskedAboutLearnsOfNoVault: what there is looks like what there is
// not, and neither is said to be missing.
func TestWhoCannotBeAskedAboutLearnsOfNoVault(t *testing.T) {
	h := newHosted(t)
	h.vault()
	who := h.key()()
	_, there := h.look(who, "acme/api")
	_, absent := h.look(who, "acme/none")
	if there != api.Forbidden || absent != there {
		t.Errorf("one that is there: %s; one that is not: %s", there, absent)
	}
}

// TestANameThatTwoHadNamesNobody: logins are recycled, and a key must not go to
// whoever had one before.
func TestANameThatTwoHadNamesNobody(t *testing.T) {
	h := newHosted(t)
	h.set(func() { h.tokens["ghp_eve"], h.tokens["ghp_ann"] = "ann", "ann2" })
	issue := func() error {
		return second(h.w.IssueToken(t.Context(), operator(t, h.w), api.IssueToken{Username: "LOGINann", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets}}))
	}
	h.caller("ghp_eve")
	must(t, issue())
	h.set(func() { h.logins = map[string]string{"ann2": "loginann"} })
	h.caller("ghp_ann")
	if err := issue(); api.CodeOf(err) != api.Conflict {
		t.Errorf("the name of two: %v", err)
	}
	h.set(func() { h.logins["ann"] = "evelyn" })
	h.sleep(time.Hour)
	h.caller("ghp_eve")
	must(t, issue())
}

// TestAListIsAskedForOnceInAWhile: people open the page of their vaults again and
// again, and a code host counts its questions.
func TestAListIsAskedForOnceInAWhile(t *testing.T) {
	h := newHosted(t)
	h.vault()
	list := func() int {
		t.Helper()
		all, err := h.w.ListVaults(t.Context(), h.caller(pat), api.ListVaults{})
		must(t, err)
		return len(all.Items)
	}
	h.sleep(time.Hour)
	for range 3 {
		if n := list(); n != 1 {
			t.Fatalf("%d vaults", n)
		}
	}
	if n := h.times("list"); n != 1 {
		t.Errorf("%d questions", n)
	}
	h.set(func() { h.role = forge.None })
	h.w.ForgetHost()
	if n := list(); n != 0 {
		t.Errorf("%d vaults after a webhook", n)
	}
	h.set(func() { h.role = forge.Read })
	h.sleep(16 * time.Second)
	if n := list(); n != 1 {
		t.Errorf("%d vaults, for somebody who was let in", n)
	}
}
