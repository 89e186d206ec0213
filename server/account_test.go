package server_test

import (
	"regexp"
	"strings"
	"testing"

	"coffer/server/servertest"
)

// current is which places of the navigation a page says that it is at.
func current(s *servertest.Seen) string {
	var names []string
	for _, m := range regexp.MustCompile(`aria-current="(page|true)">([^<]+)<`).FindAllStringSubmatch(s.Text, -1) {
		names = append(names, m[2]+" "+m[1])
	}
	return strings.Join(names, ", ")
}

func TestTheAccountPageSaysWhatIsUsed(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	expect(t, in.Browser().Open("/account"), 303, "/login?return=%2Faccount")
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/account"), 200, "Signed in as ann", "<td>1</td>", "This browser")
	lacks(t, s, "unlimited", "Allowed")
	if got := current(s); got != "Account page" {
		t.Errorf("it is at %q", got)
	}
	if strings.Contains(s.Text, "Operator") {
		t.Error("a user is offered the operator's pages")
	}
	in.Restart(onPlan("free"))
	s = expectSeen(t, inBrowser(in, "ann").Open("/account"), 200, "<td>1</td><td>1</td>", "unlimited", "Allowed")
	lacks(t, s, "/upgrade", "subscribe")
}

// TestANoticeIsShownOnce, and only if it is one of ours.
func TestANoticeIsShownOnce(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b, other := inBrowser(in, "ann"), inBrowser(in, "ann")
	end := regexp.MustCompile(`action="(/sessions/[^"]+/end)"`).FindStringSubmatch(b.Open("/account").Text)
	expect(t, b.Submit(end[1]), 303, "/account")
	expectSeen(t, b.Open("/account"), 200, `<p class="notice" role="status">The session has ended.</p>`)
	if s := b.Open("/account"); strings.Contains(s.Text, "notice") {
		t.Error("it is shown again")
	}
	s := b.Send("GET", "/account", "", "Cookie", "coffer_notice=<b>you+won")
	if s.Status != 200 || strings.Contains(s.Text, "notice") || strings.Contains(s.Text, "you+won") {
		t.Errorf("a notice that is none of ours: %d %s", s.Status, s.Text)
	}

	// Whose session has ended is led to the sign-in, and back to where the form was.
	for referer, want := range map[string]string{
		in.Browser().Public + "/account?a=b":    "/login?return=%2Faccount%3Fa%3Db",
		in.Browser().Public + ".evil.example/x": "/login?return=%2F",
		"https://evil.example/account":          "/login?return=%2F",
		"":                                      "/login?return=%2F",
	} {
		expect(t, other.Send("POST", end[1], "", "Referer", referer), 303, want)
	}
}

func TestPagesOfErrorsKeepTheNavigation(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Submit("/sessions/1/end"), 404, "Account")
	if strings.Contains(s.Text, "aria-current") {
		t.Errorf("it is at %q", current(s))
	}
}
