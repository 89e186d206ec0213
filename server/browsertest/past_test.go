package browsertest

import (
	"strings"
	"testing"
)

// change pushes other values to production, from a command line that ann signs in.
func (in *instance) change(b *browser, lines string) *terminal {
	in.t.Helper()
	c := newTerminal(in.t)
	login := c.logsIn(in.url)
	b.open(login.link)
	b.approve(login.code)
	login.ends(0)
	c.file(".env", lines)
	c.run("push", "--repo", "ann/app", "--env", "production", "--prune", "--yes")
	return c
}

func TestSomebodyGoesBackToWhatWas(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	in.change(b, "DATABASE_URL=mistaken\nNEWER=1\n")
	b.open("/vaults/ann/app")
	b.press("Compare")
	b.wants("Compare", "Different values (1)", "Only in development now (2)")
	b.press("History")
	b.press("production (2)")
	b.wants("History of production", "Revision 2 now", "DATABASE_URL", "NEWER", "SESSION", "by ann")
	b.press("Compare with now, revision 1")
	b.wants("Compare", "Different values (1)", "Only in production at revision 1 (1)", "Only in production now (1)")
	b.press("Swap sides")
	b.wants("Compare", "Only in production now (1)")
	b.fill("As it was at", "0") // on the left, which comes first
	b.press("Compare")
	b.wants("Compare", "Only in production at revision 1 (2)")
	b.open("/vaults/ann/app/history?environment=production")
	b.press("Roll back to here, revision 1")
	b.wants("Roll back production to revision 1", "Get their value of then (1)", "Come back (1)", "Go to the trash (1)")
	stale := b.at()
	b.press("Roll back")
	b.wants("History of production", "holds again what it held then", "Revision 3 now")
	b.open("/vaults/ann/app/compare?left=production&at=1")
	b.wants("Compare", "production at revision 1 and production now hold the same.")
	b.open(stale)
	b.wants("Roll back production to revision 1", "holds what it held at revision 1 already")
	if text := b.text(); strings.Contains(text, "mistaken") {
		t.Errorf("a value is shown:\n%s", text)
	}
}

// TestAnOldVersionComesBack to whoever reads the secret.
func TestAnOldVersionComesBack(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	c := in.change(b, "DATABASE_URL=mistaken\nSESSION=same\n")
	b.open("/vaults/ann/app")
	b.press("DATABASE_URL in production: differs, C")
	b.press("Show version 1")
	b.wants("DATABASE_URL in production protected", "Value of version 1", "one")
	b.press("Restore version 1")
	b.wants("DATABASE_URL in production protected", "The old value is the current one again, as a new version.", "Version 3")
	if got := c.run("get", "DATABASE_URL", "--repo", "ann/app", "-e", "production"); strings.TrimSpace(got) != "one" {
		t.Errorf("the value is %q", got)
	}
}

// TestWhatWasTrashedIsTakenBack with one click.
func TestWhatWasTrashedIsTakenBack(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	c := in.change(b, "DATABASE_URL=one\nSESSION=same\n")
	b.open("/vaults/ann/app")
	b.press("SESSION in production: set")
	b.press("Move to the trash")
	b.press("Move to the trash")
	b.wants("Secrets", "The secret is in the trash.")
	c.fails(3, "get", "SESSION", "--repo", "ann/app", "-e", "production")
	b.press("Undo")
	b.wants("Secrets", "out of the trash again")
	if got := c.run("get", "SESSION", "--repo", "ann/app", "-e", "production"); strings.TrimSpace(got) != "same" {
		t.Errorf("the value is %q", got)
	}
	b.press("Trash")
	b.wants("Trash", "There is nothing in the trash.")
	b.looksGood("trash-empty")
}

// TestTwoRollBackAtTheSameTime: who comes second looks again.
func TestTwoRollBackAtTheSameTime(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	in.change(b, "DATABASE_URL=mistaken\n")
	other := newBrowser(t, in.url)
	other.open("/vaults/ann/app/history/rollback?environment=production&revision=1")
	other.signIn("ann", password)
	other.wants("Roll back production to revision 1")
	in.change(b, "DATABASE_URL=mended\nNEWER=1\n")
	other.press("Roll back")
	other.wants("Roll back production to revision 1", "production was changed by somebody meanwhile", "Get their value of then (1)", "Come back (1)", "Go to the trash (1)")
	other.looksGood("rollback-overtaken")
	other.press("What was changed meanwhile")
	other.wants("Compare", "Different values (1)", "Only in production now (1)")
}

func TestPagesOfThePastLookGood(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	c := in.change(b, "DATABASE_URL=mistaken\nNEWER=1\n")
	b.open("/vaults/ann/app/compare")
	b.looksGood("compare")
	b.open("/vaults/ann/app/compare?left=production&at=1")
	b.looksGood("compare-past")
	b.open("/vaults/ann/app/compare?left=production&at=1&rightAt=1")
	b.looksGood("compare-alike")
	b.open("/vaults/ann/app/compare?left=production&at=yesterday")
	b.looksGood("compare-wrong")
	b.open("/vaults/ann/app/history?environment=production")
	b.looksGood("history")
	b.open("/vaults/ann/app/history/rollback?environment=production&revision=1")
	b.looksGood("rollback")
	b.open("/vaults/ann/app/history/rollback?environment=production&revision=2")
	b.looksGood("rollback-nothing")
	b.open("/vaults/ann/app/history?environment=development")
	b.looksGood("history-short")
	c.run("trash", "empty", "--repo", "ann/app", "--yes")
	b.open("/vaults/ann/app/history/rollback?environment=production&revision=1")
	b.wants("Roll back production to revision 1", "Not all of revision 1 is left")
	b.looksGood("rollback-incomplete")
}
