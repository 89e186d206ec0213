package browsertest

import (
	"regexp"
	"strings"
	"testing"
)

var (
	shownLink = regexp.MustCompile(`http\S+/device\?user_code=\S+`)
	shownCode = regexp.MustCompile(`code: ([A-Z2-9]{5}-[A-Z2-9]{5})\b`)
)

// asking is a command line that waits for approval.
type asking struct {
	*command
	link, code string
}

// logsIn starts a login and reads what it shows.
func (c *terminal) logsIn(args ...string) asking {
	c.t.Helper()
	cmd := c.start(append([]string{"login", "--no-browser"}, args...)...)
	c.t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test ended early
	text := cmd.says("Approve only if")
	link, code := shownLink.FindString(text), shownCode.FindStringSubmatch(text)
	if link == "" || code == nil {
		c.t.Fatalf("it shows no link or no code:\n%s", text)
	}
	return asking{cmd, link, code[1]}
}

// approve goes through the pages to approve, when the form for the code is shown.
func (b *browser) approve(code string) {
	b.t.Helper()
	b.press("Continue")
	b.wants("Is this you?", code)
	b.press("I started this: sign it in")
	b.wants("The program is signed in")
}

func TestACommandLineIsSignedIn(t *testing.T) {
	in := serve(t)
	in.user("ann")
	laptop, b := newTerminal(t), newBrowser(t, in.url)
	login := laptop.logsIn(in.url, "--repo", "ann/app")
	b.open(login.link)
	b.signIn("ann", password)
	b.wants("Sign a program in")
	b.press("Continue")
	b.wants("Is this you?", login.code, "signed in as ann", "“ann/app”", "127.0.0.1", "“coffer/", "less than a minute ago")
	b.press("I started this: sign it in")
	b.wants("The program is signed in")
	login.ends(0)

	if got := laptop.run("whoami"); !strings.Contains(got, "ann") {
		t.Errorf("whoami: %s", got)
	}
	laptop.run("vault", "create", "--repo", "ann/app")
	const file = "PASSWORD='two words'\nTOKEN=$up\n"
	laptop.file(".env", file)
	laptop.run("push", "--repo", "ann/app")
	laptop.file(".env", "")
	laptop.run("pull", "--repo", "ann/app", "--force")
	if got := laptop.run("run", "--repo", "ann/app", "--", "sh", "-c", `printf %s "$PASSWORD/$TOKEN"`); got != "two words/$up" {
		t.Errorf("the values came back as %q", got)
	}
	laptop.run("sessions", "ls")

	b.press("Home")
	b.press("Account")
	b.wants("Signed in as ann", "coffer/")
	b.press(b.names(button, "End the session that began")[0])
	if said := laptop.fails(2, "whoami"); !strings.Contains(said, "coffer login "+in.url) {
		t.Errorf("once the session was ended:\n%s", said)
	}
}

func TestACommandLineIsRefused(t *testing.T) {
	in := serve(t)
	in.user("ann")
	laptop, b := newTerminal(t), newBrowser(t, in.url)
	login := laptop.logsIn(in.url)
	b.open("/")
	b.signIn("ann", password)
	b.press("Account")
	b.press("Enter the code")
	b.fill("Code", "ABCDE-FGH23")
	b.press("Continue")
	b.wants("Sign a program in", "not known")
	b.cursorIn("Code")
	b.fill("Code", strings.ToLower(strings.ReplaceAll(login.code, "-", " ")))
	b.press("Continue")
	b.wants("Is this you?", login.code, "no repository in particular")
	b.press("Refuse")
	b.wants("The program was refused")
	if said := login.ends(2).notice.String(); !strings.Contains(said, "refused") {
		t.Errorf("the command line says:\n%s", said)
	}
	if said := laptop.fails(2, "whoami", "--server", in.url); !strings.Contains(said, "not signed in") {
		t.Errorf("whoami:\n%s", said)
	}
	b.open(login.link)
	b.press("Continue")
	b.wants("Sign a program in", "code")
}

func TestALinkAloneShowsAndDoesNothing(t *testing.T) {
	in := serve(t)
	in.user("ann")
	login := newTerminal(t).logsIn(in.url, "--repo", "ann/app")
	ann, thief := newBrowser(t, in.url), newBrowser(t, in.url)
	thief.open(login.link)
	thief.wants("Sign in")
	if text := thief.text(); strings.Contains(text, "ann") || strings.Contains(text, login.code) {
		t.Errorf("the link tells a stranger:\n%s", text)
	}
	ann.open(login.link)
	ann.signIn("ann", password)
	thief.open(login.link) // that somebody else is signed in is of no use
	thief.wants("Sign in")
	thief.open("/device/approve")
	thief.wants("This address cannot be used like that")
	ann.approve(login.code)
	login.ends(0)
}
