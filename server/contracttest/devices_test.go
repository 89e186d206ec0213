package contracttest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	startDevice   = "POST /v1/auth/device/start"
	pollDevice    = "POST /v1/auth/device/poll"
	verifyDevice  = "POST /v1/auth/device/verify"
	approveDevice = "POST /v1/auth/device/approve"
	denyDevice    = "POST /v1/auth/device/deny"
)

// started is what an answer to start holds, apart from its codes.
func started(userCode string) string {
	return fmt.Sprintf(`{"deviceCode":"<text>","userCode":%[1]q,"verificationUri":"https://vault.example/device",
		"verificationUriComplete":"https://vault.example/device?user_code=%[1]s","expiresIn":900,"interval":5,"githubAppInstallUrl":null}`, userCode)
}

// flat is an answer with its fields at the top and under data.
func flat(fields string) string {
	fields = strings.TrimSuffix(fields, "}")
	return fields + `,"data":` + fields + `},"meta":{"requestId":"<id>"}}`
}

func TestADeviceLoginStarts(t *testing.T) {
	t.Parallel()
	nobody := newSite(t).nobody()
	seen := make(map[string]bool)
	for _, body := range []string{
		"", "{}", `{"repository":"acme/api"}`, `{"repository":"acme/api","ownerId":1,"repoId":2}`, `{"repository":null,"ownerId":null,"repoId":null}`,
		`{"ownerId":"18446744073709551615","repoId":18446744073709551615}`, `{"ownerId":0,"repoId":"007"}`, `{"unknown":{}}`,
	} {
		a := nobody.do(t, startDevice, body, "Content-Type", "application/json").ok(200)
		code, device := a.text("userCode"), a.text("deviceCode")
		a.is(200, flat(started(code)))
		if !regexp.MustCompile(`^[A-HJKMNP-Z2-9]{5}-[A-HJKMNP-Z2-9]{5}$`).MatchString(code) || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(device) {
			t.Errorf("codes %q and %q", code, device)
		}
		if device != a.text("data.deviceCode") || seen[code] || seen[device] {
			t.Errorf("codes %q and %q again, or another under data", code, device)
		}
		seen[code], seen[device] = true, true
		nobody.do(t, pollDevice, `{"deviceCode":"`+device+`"}`).is(200, flat(`{"status":"pending"}`))
	}
	// Whatever credential comes along is not looked at.
	nobody.do(t, startDevice, "{}", "Authorization", "Bearer nonsense").ok(200)
}

func TestADeviceLoginIsHeldAgainstItsRules(t *testing.T) {
	t.Parallel()
	nobody := newSite(t).nobody()
	for _, r := range []rule{
		{startDevice, `{"repository":""}`, "repository:invalid_format"},
		{startDevice, `{"repository":"acme"}`, "repository:invalid_format"},
		{startDevice, `{"repository":"acme/api/x"}`, "repository:invalid_format"},
		{startDevice, `{"repository":"https://h.example/acme/api"}`, "repository:invalid_format"},
		{startDevice, `{"repository":"acme/a\u0000"}`, "repository:invalid_format"},
		{startDevice, `{"repository":7,"ownerId":true,"repoId":[]}`, "repository:invalid_type ownerId:invalid_type repoId:invalid_type"},
		{startDevice, `{"ownerId":-1,"repoId":1.5}`, "ownerId:too_small repoId:invalid_type"},
		{startDevice, `{"ownerId":"-1","repoId":"1.5"}`, "ownerId:too_small repoId:invalid_type"},
		{startDevice, `{"ownerId":18446744073709551616,"repoId":"18446744073709551616"}`, "ownerId:too_large repoId:too_large"},
		{startDevice, `{"ownerId":"","repoId":"1\u0000"}`, "ownerId:invalid_type repoId:invalid_type"},
		{pollDevice, `{}`, "deviceCode:required"},
		{pollDevice, `{"deviceCode":null}`, "deviceCode:required"},
		{pollDevice, `{"deviceCode":7}`, "deviceCode:invalid_type"},
	} {
		nobody.do(t, r.call, r.body).fails(422, "validation-error", strings.Fields(r.errors)...)
	}
	for _, body := range []string{"{", "[]", `"x"`, `{"repository":"a/b","repository":"a/b"}`, "{}{}", "{\"repository\":\"\xff\"}"} {
		nobody.do(t, startDevice, body).fails(400, "bad-request")
	}
	nobody.do(t, pollDevice, "").fails(400, "bad-request")
	nobody.do(t, pollDevice, `{"deviceCode":"a","deviceCode":"a"}`).fails(400, "bad-request")
	for _, code := range []string{"", "x", strings.Repeat("0", 64), strings.Repeat("0", 65), "BCDFG-HJK23", strings.Repeat("é", 1000)} {
		nobody.do(t, pollDevice, `{"deviceCode":"`+code+`"}`).fails(404, "not-found")
	}
	for _, call := range []string{startDevice, pollDevice} {
		nobody.do(t, call, strings.Repeat(" ", maxBody+1)).fails(413, "payload-too-large")
	}
}

// inBrowser is the header of somebody who is signed in in a browser.
func (s *site) inBrowser(name string) []string {
	b := s.Browser()
	b.SignIn(s.real("@" + name))
	return []string{"Cookie", "coffer_session=" + b.Cookie("coffer_session", "/")}
}

func TestADeviceLoginIsDecidedOnce(t *testing.T) {
	t.Parallel()
	s := ownSite(t)
	s.user(t, "ann")
	cookie, nobody := s.inBrowser("ann"), s.nobody()
	const agent = "keyway-cli/dev"
	for call, decided := range map[string]string{approveDevice: "approved", denyDevice: "denied"} {
		made := nobody.do(t, startDevice, `{"repository":"@ann/api"}`, "User-Agent", agent).ok(200)
		code, poll := made.text("userCode"), `{"deviceCode":"`+made.text("deviceCode")+`"}`
		shown := nobody.do(t, verifyDevice, `{"userCode":"`+strings.ToLower(code)+`"}`, cookie...)
		shown.holds(200, `{"confirmToken":"<text>","userCode":"`+code+`","repository":"@ann/api","requestIp":"127.0.0.1","userAgent":"`+agent+`",
			"requestedAt":"<time>","expiresAt":"<time>"}`)
		if got := instant(t, shown.text("data.expiresAt")).Sub(instant(t, shown.text("data.requestedAt"))); got != 15*time.Minute {
			t.Errorf("a code lasts %s", got)
		}
		confirm := `{"confirmToken":"` + shown.text("data.confirmToken") + `"}`
		nobody.do(t, call, confirm, s.inBrowser("ann")...).fails(404, "not-found") // another session, though of hers
		nobody.do(t, call, confirm, cookie...).holds(200, `{"status":"`+decided+`"}`)
		nobody.do(t, approveDevice, confirm, cookie...).fails(404, "not-found")
		nobody.do(t, denyDevice, confirm, cookie...).fails(404, "not-found")
		nobody.do(t, verifyDevice, `{"userCode":"`+code+`"}`, cookie...).fails(404, "not-found")
		if decided == "denied" {
			nobody.do(t, pollDevice, poll).is(200, flat(`{"status":"denied","message":"<text>"}`))
			continue
		}
		a := nobody.do(t, pollDevice, poll)
		a.is(200, flat(`{"status":"approved","keywayToken":"<text>","githubLogin":"@ann","expiresAt":"<time>"}`))
		token := a.text("keywayToken")
		a = nobody.do(t, "GET /v1/auth/sessions", "", "Authorization", "Bearer "+token).ok(200)
		a.same(`[true,"`+agent+`","127.0.0.1"]`, []any{a.at("data.sessions.0.current"), a.at("data.sessions.0.userAgent"), a.at("data.sessions.0.ip")})
	}
	ann := s.signIn(t, "ann")
	records := make(map[any]any)
	a := ann.do(t, "GET /v1/activity", "").ok(200)
	for i, action := range a.each("action") {
		meta := a.at(fmt.Sprintf("data.%d.metadata", i)).(map[string]any)
		if action == "device_login_denied" || meta["method"] == "device" {
			records[action] = meta
		}
	}
	a.same(`{"method":"device","requestIp":"127.0.0.1","requestUserAgent":"`+agent+`","repository":"@ann/api"}`, records["user_login"])
	a.same(`{"requestIp":"127.0.0.1","requestUserAgent":"`+agent+`","repository":"@ann/api"}`, records["device_login_denied"])

	for call, member := range map[string]string{verifyDevice: "userCode", approveDevice: "confirmToken", denyDevice: "confirmToken"} {
		nobody.do(t, call, "", cookie...).fails(400, "bad-request")
		nobody.do(t, call, "{}", cookie...).fails(422, "validation-error", member+":required")
		nobody.do(t, call, `{"`+member+`":7}`, cookie...).fails(422, "validation-error", member+":invalid_type")
		nobody.do(t, call, `{"`+member+`":"x"}`, cookie...).fails(404, "not-found")
		nobody.do(t, call, `{"`+member+`":""}`, cookie...).fails(404, "not-found")
	}
}

// TestOnlyABrowsersSessionDecides: tokens that a program holds, and be it one that
// was just signed in, must not sign others in.
func TestOnlyABrowsersSessionDecides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	made := s.nobody().do(t, startDevice, "").ok(200)
	for call, body := range map[string]string{verifyDevice: `{"userCode":"` + made.text("userCode") + `"}`, approveDevice: `{"confirmToken":"x"}`, denyDevice: `{"confirmToken":"x"}`} {
		ann.do(t, call, body).fails(403, "forbidden")
		s.signIn(t, "ann").do(t, call, body).fails(403, "forbidden")
		s.nobody().do(t, call, body).fails(401, "unauthorized")
	}
	s.nobody().do(t, pollDevice, `{"deviceCode":"`+made.text("deviceCode")+`"}`).is(200, flat(`{"status":"pending"}`))
}

// TestPollingIsNeverLimited polls as existing clients do: every five seconds until
// the code ends.
func TestPollingIsNeverLimited(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t)
	nobody := s.nobody()
	poll := func(made *answer) *answer {
		return nobody.do(t, pollDevice, `{"deviceCode":"`+made.text("deviceCode")+`"}`)
	}
	one := nobody.do(t, startDevice, "{}").stands(c, 200, 100, 99, 900)
	two := nobody.do(t, startDevice, "{}").stands(c, 200, 100, 98, 900)
	for n := range 900 / 5 {
		for _, made := range []*answer{one, two} {
			poll(made).stands(c, 200, 30, 29-n%12, 60-n%12*5).is(200, flat(`{"status":"pending"}`))
		}
		c.forward(5 * time.Second)
	}
	poll(one).is(200, flat(`{"status":"expired","message":"<text>"}`))
	for n := range 29 {
		poll(one).stands(c, 200, 30, 28-n, 60)
	}
	poll(one).stands(c, 429, 30, 0, 60)
	poll(two).stands(c, 200, 30, 29, 60) // another login is not in its way
	c.forward(time.Hour - time.Second)
	poll(two).is(200, flat(`{"status":"expired","message":"<text>"}`))
	c.forward(time.Second)
	poll(two).fails(404, "not-found")
}

func TestGuessedDeviceCodesCountByAddress(t *testing.T) {
	t.Parallel()
	s, c := limitedSite(t, behindProxy)
	made := s.nobody().do(t, startDevice, "", "X-Forwarded-For", "203.0.113.7").ok(200)
	for n := range 30 {
		s.nobody().do(t, pollDevice, fmt.Sprintf(`{"deviceCode":"%064x"}`, n), "X-Forwarded-For", "203.0.113.7").stands(c, 404, 30, 29-n, 60)
	}
	s.nobody().do(t, pollDevice, `{"deviceCode":"x"}`, "X-Forwarded-For", "203.0.113.7").stands(c, 429, 30, 0, 60)
	s.nobody().do(t, pollDevice, `{}`, "X-Forwarded-For", "203.0.113.7").stands(c, 429, 30, 0, 60)
	s.nobody().do(t, pollDevice, `{"deviceCode":"x"}`, "X-Forwarded-For", "203.0.113.8").stands(c, 404, 30, 29, 60)
	s.nobody().do(t, pollDevice, `{"deviceCode":"`+made.text("deviceCode")+`"}`, "X-Forwarded-For", "203.0.113.7").stands(c, 200, 30, 29, 60)
}
