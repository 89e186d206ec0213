package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/client"
	"coffer/server/forge"
	"coffer/server/servertest"
)

// shop is an instance that is a paid service, where ann owns acme.
type shop struct {
	*servertest.Instance
	t      *testing.T
	stripe *stripetest.Server
	clock  *clock
	ann    *client.Client
}

var shopPrices = []stripetest.Price{
	{ID: "price_team", Amount: 1500, Currency: "eur", Interval: "month"},
	{ID: "price_team_year", LookupKey: "team_year", Amount: 15000, Currency: "eur", Interval: "year"},
	{ID: "price_pro", Amount: 900, Currency: "eur", Interval: "month"},
	{ID: "price_other", Amount: 100, Currency: "eur", Interval: "month"},
}

const shopPage = "https://vault.example/orgs/acme"

func newShop(t *testing.T, options ...func(*server.Config)) *shop {
	t.Helper()
	s := &shop{t: t, stripe: stripetest.New(t, shopPrices...), clock: new(clock)}
	s.stripe.SetNow(s.clock.now)
	s.Instance = servertest.New(t, append([]func(*server.Config){s.clock.option, s.sells}, options...)...)
	s.User("ann")
	s.User("bob")
	if _, err := s.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	s.Member("acme", "ann", "owner")
	s.Member("acme", "bob", "member")
	s.ann = s.SignIn("ann")
	return s
}

func (s *shop) sells(c *server.Config) {
	c.Billing.Stripe = server.StripeConfig{
		SecretKey: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIURL: s.stripe.URL,
		Prices: []server.PlanPrice{{Plan: "team", Price: "price_team"}, {Plan: "team", Yearly: true, Price: "team_year"}, {Plan: "pro", Price: "price_pro"}},
	}
}

// billing is what ann is shown.
func (s *shop) billing() *api.Billing {
	s.t.Helper()
	b, err := s.ann.OrgBilling(s.t.Context(), "acme")
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *shop) checkout(c *client.Client, price string) (string, error) {
	v, err := c.OpenCheckout(s.t.Context(), api.OpenCheckout{OrgRef: api.OrgRef{Org: "acme"}, PriceID: price, SuccessURL: shopPage + "?done={CHECKOUT_SESSION_ID}", CancelURL: shopPage})
	if err != nil {
		return "", err
	}
	return v.URL, nil
}

// subscribe has ann subscribe, and Stripe's events arrive.
func (s *shop) subscribe(price string) (subscription string) {
	s.t.Helper()
	at, err := s.checkout(s.ann, price)
	if err != nil {
		s.t.Fatal(err)
	}
	subscription = s.stripe.Complete(at)
	s.flush()
	return subscription
}

func (s *shop) flush() {
	s.t.Helper()
	if n := s.stripe.Flush(s.URL + "/v1/billing/webhook"); n != 0 {
		s.t.Errorf("%d events were not taken", n)
	}
}

// restart ends the process, lets time pass, and starts another.
func (s *shop) restart(after time.Duration, options ...func(*server.Config)) {
	s.t.Helper()
	s.Stop()
	s.clock.turn(after)
	s.Restart(options...)
	s.ann.URL = s.URL
}

// recorded are the records of the audit log of these actions, in order, with their
// metadata.
func (s *shop) recorded(actions ...string) []string {
	s.t.Helper()
	var log bytes.Buffer
	if err := s.Operator.ExportAudit(s.t.Context(), &log); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for lines := bufio.NewScanner(&log); lines.Scan(); {
		var line struct {
			Action   string
			Metadata map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			s.t.Fatal(err)
		}
		if !slices.Contains(actions, line.Action) {
			continue
		}
		delete(line.Metadata, "endsAt")
		delete(line.Metadata, "endedAt")
		meta, _ := json.Marshal(line.Metadata)
		all = append(all, line.Action+" "+string(meta))
	}
	return all
}

// stage is what an organization has at one step of the walk.
type stage struct {
	Plan, Effective, Status, Trial string
	ReadOnly                       string // of acme/api, which is private
	Batch                          int    // the largest push that is taken
}

func (s *shop) stage() stage {
	s.t.Helper()
	b := s.billing()
	out := stage{Plan: b.Plan, Effective: b.EffectivePlan, Status: b.Status, Trial: b.Trial.Status}
	v, err := s.ann.Vault(s.t.Context(), "acme/api")
	if err != nil {
		s.t.Fatal(err)
	}
	if v.ReadonlyReason != nil {
		out.ReadOnly = *v.ReadonlyReason
	}
	push := func(repo string, n int) error {
		_, err := s.ann.Push(s.t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "staging", Secrets: servertest.Secrets(numbered(n)), DryRun: true})
		return err
	}
	// What is shown is what is enforced.
	if err := push("acme/api", 1); (err == nil) == v.IsReadOnly || err != nil && api.CodeOf(err) != api.PlanLimit {
		s.t.Errorf("read-only is %v, a push ends with %v", v.IsReadOnly, err)
	}
	if got := s.Pull(s.ann, "acme/api", "production"); len(got) != 25 {
		s.t.Errorf("%d secrets are read", len(got))
	}
	for _, n := range []int{100, 500, 1000} {
		if push("acme/open", n) == nil {
			out.Batch = n
		}
	}
	org, err := s.ann.Org(s.t.Context(), "acme")
	if err != nil || org.Plan != out.Plan || org.EffectivePlan != out.Effective || org.Trial != b.Trial && org.Trial.Status != out.Trial {
		s.t.Errorf("the organization is shown as %+v, %v", org, err)
	}
	return out
}

// TestAnOrganizationGoesThroughEveryPlanAndBack walks the trial, the subscription
// through every status, and the operator's plan, and looks at each step at what it
// is worth.
func TestAnOrganizationGoesThroughEveryPlanAndBack(t *testing.T) {
	s := newShop(t)
	for _, r := range []api.AddLocalRepo{{RepoFullName: "acme/open", Public: true}, {RepoFullName: "acme/api"}} {
		if _, err := s.Operator.AddLocalRepo(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	s.Vault(s.ann, "acme/open")
	_, err := s.ann.CreateVault(t.Context(), "acme/api")
	wantTrialOffer(t, err, true)
	err = nil
	if _, err := s.ann.StartTrial(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	s.Vault(s.ann, "acme/api")
	s.Push(s.ann, "acme/api", "production", numbered(25))

	const free, pro, team = 100, 500, 1000
	const gone = "org_free_plan"
	var sub string
	give := func(plan string) func() {
		return func() {
			if _, err := s.Operator.SetPlan(t.Context(), api.SetPlan{Kind: "org", Name: "ACME", Plan: plan}); err != nil {
				t.Error(err)
			}
		}
	}
	move := func(status string) func() {
		return func() {
			s.stripe.Move(sub, status)
			s.flush()
		}
	}
	var opened string
	for _, step := range []struct {
		name string
		do   func()
		want stage
	}{
		{"the trial runs", func() {}, stage{"free", "team", "none", "active", "", team}},
		{"its last minute", func() { s.clock.turn(14*24*time.Hour - time.Minute) }, stage{"free", "team", "none", "active", "", team}},
		{"it ended while the process was down", func() { s.restart(2 * time.Minute) }, stage{"free", "free", "none", "expired", gone, free}},
		{"a checkout is opened", func() { opened, err = s.checkout(s.ann, "price_team") }, stage{"free", "free", "none", "expired", gone, free}},
		{"and left", func() { s.stripe.Abandon(opened); s.flush() }, stage{"free", "free", "none", "expired", gone, free}},
		{"paid", func() { sub = s.subscribe("price_team") }, stage{"team", "team", "active", "expired", "", team}},
		{"a payment fails", move("past_due"), stage{"team", "team", "past_due", "expired", "", team}},
		{"and is given up", move("unpaid"), stage{"free", "free", "unpaid", "expired", gone, free}},
		{"it is paid after all", move("active"), stage{"team", "team", "active", "expired", "", team}},
		{"paused", move("paused"), stage{"free", "free", "paused", "expired", gone, free}},
		{"resumed", move("active"), stage{"team", "team", "active", "expired", "", team}},
		{"on trial at the provider", move("trialing"), stage{"team", "team", "trialing", "expired", "", team}},
		{"canceled", move("canceled"), stage{"free", "free", "canceled", "expired", gone, free}},
		{"a smaller plan", func() { sub = s.subscribe("price_pro") }, stage{"pro", "pro", "active", "expired", gone, pro}},
		{"changed to the larger in the portal", func() {
			s.stripe.Change(sub, func(x *stripetest.Subscription) { x.Price = "price_team_year" })
			s.flush()
		}, stage{"team", "team", "active", "expired", "", team}},
		{"changed to what is not on offer", func() {
			s.stripe.Change(sub, func(x *stripetest.Subscription) { x.Price = "price_other" })
			s.flush()
		}, stage{"free", "free", "active", "expired", gone, free}},
		{"given a plan by the operator", give("enterprise"), stage{"enterprise", "enterprise", "active", "expired", "", team}},
		{"given a smaller one", give("pro"), stage{"pro", "pro", "active", "expired", gone, pro}},
		{"given none", give("none"), stage{"free", "free", "active", "expired", gone, free}},
		{"another try that hangs", func() { move("canceled")(); sub = s.subscribe("price_team"); move("incomplete")() }, stage{"free", "free", "incomplete", "expired", gone, free}},
		{"and is dropped", move("incomplete_expired"), stage{"free", "free", "incomplete_expired", "expired", gone, free}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, s.stage()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", step.name, err, diff)
		}
	}
	_, err = s.ann.StartTrial(t.Context(), "acme")
	if api.CodeOf(err) != api.Conflict {
		t.Errorf("a second trial: %v", err)
	}
	_, err = s.ann.Push(t.Context(), api.PushSecrets{RepoFullName: "acme/api", Environment: "staging", Secrets: servertest.Secrets(numbered(1))})
	wantTrialOffer(t, err, false)
	for range 2 {
		if j, err := s.Operator.RunJob(t.Context(), "trials"); err != nil || j.LastError != nil {
			t.Errorf("%+v, %v", j, err)
		}
	}
	const down, up = `plan_downgraded {"from":"team","org":"acme","to":"free"}`, `plan_upgraded {"from":"free","org":"acme","to":"team"}`
	want := []string{
		`org_trial_started {"org":"acme"}`, up, down, up, down, up, down,
		`plan_upgraded {"from":"free","org":"acme","to":"pro"}`, `plan_upgraded {"from":"pro","org":"acme","to":"team"}`, down,
		`plan_set {"org":"acme","plan":"enterprise"}`, `plan_upgraded {"from":"free","org":"acme","to":"enterprise"}`,
		`plan_set {"org":"acme","plan":"pro"}`, `plan_downgraded {"from":"enterprise","org":"acme","to":"pro"}`,
		`plan_set {"org":"acme","plan":"none"}`, `plan_downgraded {"from":"pro","org":"acme","to":"free"}`,
		up, down, `org_trial_expired {"org":"acme","plan":"free"}`,
	}
	if diff := cmp.Diff(want, s.recorded("org_trial_started", "org_trial_expired", "org_trial_converted", "plan_upgraded", "plan_downgraded", "plan_set")); diff != "" {
		t.Error(diff)
	}
}

// wantTrialOffer wants a refusal by the plan that says whether a trial would help,
// in the words that existing clients read.
func wantTrialOffer(t *testing.T, err error, eligible bool) {
	t.Helper()
	e, _ := errors.AsType[*api.Error](err)
	if e == nil || e.Code != api.PlanLimit || e.UpgradeURL != "https://vault.example/upgrade" {
		t.Fatalf("got %#v", err)
	}
	info, _ := e.Extra["trialInfo"].(map[string]any)
	days := 0.0
	if eligible {
		days = 14
	}
	if info["eligible"] != eligible || info["daysAvailable"] != days || info["orgLogin"] != "acme" || info["reason"] == "" || len(info) != 4 {
		t.Errorf("the trial is offered as %v", info)
	}
}

func TestATrialIsConvertedByASubscription(t *testing.T) {
	for _, tt := range []struct {
		price, plan string
		notes       []string
	}{
		{"price_team", "team", []string{`org_trial_converted {"org":"acme","plan":"team"}`}},
		{"price_pro", "pro", []string{`org_trial_converted {"org":"acme","plan":"pro"}`, `plan_downgraded {"from":"team","org":"acme","to":"pro"}`}},
	} {
		s := newShop(t)
		if _, err := s.ann.StartTrial(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		s.clock.turn(24 * time.Hour)
		sub := s.subscribe(tt.price)
		b := s.billing()
		if b.Trial.Status != "converted" || b.Trial.IsActive || b.Trial.DaysRemaining != 0 || b.Trial.ConvertedAt == nil || b.EffectivePlan != tt.plan {
			t.Errorf("%+v", b)
		}
		s.clock.turn(20 * 24 * time.Hour)
		if _, err := s.Operator.RunJob(t.Context(), "trials"); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.notes, s.recorded("org_trial_expired", "org_trial_converted", "plan_upgraded", "plan_downgraded")); diff != "" {
			t.Error(diff)
		}
		s.stripe.Move(sub, "canceled")
		s.flush()
		if b := s.billing(); b.Trial.Status != "converted" || b.EffectivePlan != "free" || b.Status != "canceled" {
			t.Errorf("after its end: %+v", b)
		}
	}
}

func TestOwnersStartTheOneTrial(t *testing.T) {
	s := newShop(t)
	bob := s.SignIn("bob")
	s.User("eve")
	for name, c := range map[string]*client.Client{"a member": bob, "an outsider": s.SignIn("eve"), "an owner's key": s.Key("ann", "live", servertest.AllScopes...)} {
		if _, err := c.StartTrial(t.Context(), "acme"); api.CodeOf(err) != api.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := bob.OrgTrial(t.Context(), "acme"); err != nil || got.HasStarted || got.Status != "none" || got.TrialDurationDays != 14 || got.StartedAt != nil {
		t.Errorf("%+v, %v", got, err)
	}
	started, err := s.ann.StartTrial(t.Context(), "Acme")
	if err != nil || !started.IsActive || started.DaysRemaining != 14 || started.Now.DaysRemaining != 14 || !strings.Contains(started.Message, "acme") ||
		started.EndsAt.Sub(started.StartedAt.Time) != 14*24*time.Hour {
		t.Errorf("%+v, %v", started, err)
	}
	s.clock.turn(36 * time.Hour)
	if got, err := bob.OrgTrial(t.Context(), "acme"); err != nil || got.DaysRemaining != 13 || got.Status != "active" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.ann.StartTrial(t.Context(), "acme"); api.CodeOf(err) != api.Conflict {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.SignIn("eve").OrgTrial(t.Context(), "acme"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an outsider looks: %v", err)
	}

	other := newShop(t)
	other.subscribe("price_pro")
	if _, err := other.ann.StartTrial(t.Context(), "acme"); api.CodeOf(err) != api.Conflict {
		t.Errorf("with a subscription: %v", err)
	}
}

// TestMembersStartTheTrialWhereTheAppIsInstalled asks on every code host; only
// GitHub has an application that organizations install.
func TestMembersStartTheTrialWhereTheAppIsInstalled(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetMember(b.org, b.bob, forge.OrgMember)
		_, err := b.as(b.carl).StartTrial(b.t.Context(), "acme")
		if api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("an outsider: %v", err)
		}
		_, err = b.as(b.bob).StartTrial(b.t.Context(), "acme")
		if b.kind() == "github" && err != nil || b.kind() != "github" && api.CodeOf(err) != api.Forbidden {
			b.t.Errorf("a member: %v", err)
		}
		_, err = b.as(b.ann).StartTrial(b.t.Context(), "acme")
		if b.kind() == "github" && api.CodeOf(err) != api.Conflict || b.kind() != "github" && err != nil {
			b.t.Errorf("an owner: %v", err)
		}
		if _, err := b.Operator.SetPlan(b.t.Context(), api.SetPlan{Kind: "org", Name: "Acme", Plan: "enterprise"}); err != nil {
			b.t.Error(err)
		}
		if got, err := b.as(b.bob).Org(b.t.Context(), "acme"); err != nil || got.EffectivePlan != "enterprise" || got.Trial.Status != "active" {
			b.t.Errorf("%+v, %v", got, err)
		}
		if _, err := b.Operator.SetPlan(b.t.Context(), api.SetPlan{Kind: "org", Name: "never-seen", Plan: "team"}); api.CodeOf(err) != api.Invalid {
			b.t.Errorf("an organization that never was here: %v", err)
		}
	})
}

func TestTheOperatorGivesAUserAPlan(t *testing.T) {
	s := newShop(t)
	key := s.Key("ann", "live", servertest.AllScopes...)
	s.Vault(key, "ann/one")
	_, err := key.CreateVault(t.Context(), "ann/two")
	if e, _ := errors.AsType[*api.Error](err); e == nil || e.Code != api.PlanLimit || e.UpgradeURL != "https://vault.example/upgrade" || e.Extra != nil {
		t.Errorf("got %#v", err)
	}
	p, err := s.Operator.SetPlan(t.Context(), api.SetPlan{Kind: "user", Name: "ann", Plan: "pro"})
	if err != nil || p.EffectivePlan != "pro" || p.GivenPlan == nil || *p.GivenPlan != "pro" {
		t.Errorf("%+v, %v", p, err)
	}
	s.Vault(key, "ann/two")
	if me, err := key.Me(t.Context()); err != nil || me.Plan != "pro" {
		t.Errorf("%+v, %v", me, err)
	}
	if _, err := s.Operator.SetPlan(t.Context(), api.SetPlan{Kind: "user", Name: "ann", Plan: "none"}); err != nil {
		t.Error(err)
	}
	expectShown(t, key, []string{"ann/one", "ann/two"}, map[string]string{"ann/two": "plan_limit_exceeded"})
	if _, err := key.SetPlan(t.Context(), api.SetPlan{Kind: "user", Name: "ann", Plan: "team"}); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user gives herself a plan: %v", err)
	}
	want := []string{`plan_set {"plan":"pro","username":"ann"}`, `plan_upgraded {"from":"free","to":"pro","username":"ann"}`,
		`plan_set {"plan":"none","username":"ann"}`, `plan_downgraded {"from":"pro","to":"free","username":"ann"}`}
	if diff := cmp.Diff(want, s.recorded("plan_set", "plan_upgraded", "plan_downgraded")); diff != "" {
		t.Error(diff)
	}
}

// TestWhatWasReplacedIsKeptByThePlanOfWhoPays has versions expire, which they do
// not where nobody pays.
func TestWhatWasReplacedIsKeptByThePlanOfWhoPays(t *testing.T) {
	for name, tt := range map[string]struct {
		option  func(*server.Config)
		removed int
	}{
		"nobody pays":           {func(c *server.Config) { c.Billing = server.BillingConfig{} }, 0},
		"a paid service":        {func(*server.Config) {}, 1},
		"the operator keeps it": {func(c *server.Config) { c.Retention.Versions = server.Keep }, 0},
	} {
		s := newShop(t, tt.option)
		key := s.Key("ann", "live", servertest.AllScopes...)
		s.Vault(key, "ann/one")
		s.Push(key, "ann/one", "production", map[string]string{"A": "1"})
		s.Push(key, "ann/one", "production", map[string]string{"A": "2"})
		s.clock.turn(31 * 24 * time.Hour)
		if j, err := s.Operator.RunJob(t.Context(), "versions"); err != nil || j.Removed != tt.removed {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
}

// TestBillingThatIsTurnedOffAgainGrantsNothingAndTakesNothing leaves a subscription
// behind that nobody can be asked about.
func TestBillingThatIsTurnedOffAgainGrantsNothingAndTakesNothing(t *testing.T) {
	s := newShop(t)
	s.subscribe("price_team")
	s.restart(0, func(c *server.Config) { c.Billing, c.Plans.Default = server.BillingConfig{}, "pro" })
	if b := s.billing(); b.Status != "none" || b.EffectivePlan != "pro" || b.BillingEnabled || b.Prices != nil || b.CurrentPeriodEnd != nil {
		t.Errorf("off: %+v", b)
	}
	if j, err := s.Operator.RunJob(t.Context(), "subscriptions"); api.CodeOf(err) != api.NotFound {
		t.Errorf("where nobody pays there is a job about it: %+v, %v", j, err)
	}
	s.restart(0, s.sells)
	if j, err := s.Operator.RunJob(t.Context(), "subscriptions"); err != nil || j.LastError != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("on again: %+v", b)
	}
}

func TestMistakesInTheConfigurationOfBillingAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(stripetest.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	team := []server.PlanPrice{{Plan: "team", Price: "price_team"}}
	for want, c := range map[string]server.StripeConfig{
		"set billing.stripe.webhook_secret_file":    {SecretKey: stripetest.Key, Prices: team},
		"set billing.stripe.secret_key_file":        {Prices: team},
		"set a price":                               {SecretKeyFile: file, WebhookSecret: stripetest.WebhookSecret},
		"billing.stripe.secret_key_file":            {SecretKeyFile: file + "none", WebhookSecret: stripetest.WebhookSecret, Prices: team},
		`"price_team" buys both team and team`:      {SecretKeyFile: file, WebhookSecret: stripetest.WebhookSecret, Prices: append(team, server.PlanPrice{Plan: "team", Yearly: true, Price: "price_team"})},
		`there is no plan "gold"`:                   {SecretKeyFile: file, WebhookSecret: stripetest.WebhookSecret, Prices: []server.PlanPrice{{Plan: "gold", Price: "p"}}},
		"use a secret or restricted one":            {SecretKey: "pk_test_x", WebhookSecret: stripetest.WebhookSecret, Prices: team},
		"billing.stripe: the address of Stripe's A": {SecretKey: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIURL: "stripe", Prices: team},
	} {
		_, err := server.New(server.Config{Data: t.TempDir(), Billing: server.BillingConfig{Stripe: c}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), stripetest.Key) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
