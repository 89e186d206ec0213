package browsertest

import (
	"strings"
	"testing"
)

func TestSomebodyShapesEnvironments(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/vaults/ann/app")
	b.press("Environments")
	b.fill("Name", "preview")
	b.press("Create environment")
	b.wants("Environments", "The environment is there.", "preview")
	b.press("Change preview")
	b.fill("New name", "review")
	b.press("Rename")
	b.wants("Environments", "The environment has its new name.", "review")
	if text := b.text(); strings.Contains(text, "preview") {
		t.Errorf("the old name is still there:\n%s", text)
	}
	b.press("Change review")
	b.enterInto("#type", "protected")
	b.press("Change the type")
	b.wants("Environments", "The environment has its new type.")
	b.press("Change staging")
	b.fill("Type staging to confirm", "stage")
	b.press("Delete the environment")
	b.wants("staging standard", "Type exactly staging. Nothing was deleted.")
	b.fill("Type staging to confirm", "staging")
	b.press("Delete the environment")
	b.wants("Environments", "The environment is gone, with everything in it.")
	b.press("Secrets")
	if text := b.text(); strings.Contains(text, "staging") || !strings.Contains(text, "review protected") {
		t.Errorf("the environments are not what they were made:\n%s", text)
	}
}

// TestAnOverrideDecides what somebody may do whose role says otherwise.
func TestAnOverrideDecides(t *testing.T) {
	in := serve(t)
	ann := in.furnish()
	in.user("bob")
	in.operator("", "admin", "repo", "grant", "ann/app", "bob", "read")
	bob := newBrowser(t, in.url)
	bob.open("/vaults/ann/app")
	bob.signIn("bob", password)
	bob.wants("Secrets", "read only")
	if text := bob.text(); strings.Contains(text, "production") || strings.Contains(text, "Add a secret") {
		t.Errorf("bob sees more than he may:\n%s", text)
	}
	bob.looksGood("matrix-read-only")

	ann.open("/vaults/ann/app/access")
	ann.enterInto("#target", "bob")
	ann.enterInto("#environment", "production")
	ann.tick("#canRead")
	ann.press("Create override")
	ann.wants("Access", "The override holds from now on.", "bob in production")
	bob.open("/vaults/ann/app")
	bob.wants("Secrets", "production")

	ann.unfold()
	ann.press("Remove this override")
	ann.wants("Access", "The override is removed.", "There is none.")
	bob.open("/vaults/ann/app")
	if text := bob.text(); strings.Contains(text, "production") {
		t.Errorf("bob still sees what the override let him:\n%s", text)
	}
}

func TestActivityIsFiltered(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/vaults/ann/app/activity")
	b.wants("Activity", "3 reads upwards, 3 writes downwards", "ann made the vault", "ann pushed to development: 4 created", "ann pushed to production")
	const drawn = `document.querySelectorAll("svg .writes").length + " " + document.querySelectorAll("svg .reads").length`
	if got := evaluate[string](b, drawn); got != "1 1" {
		t.Errorf("the chart has bars %s", got)
	}
	b.fill("Environment", "development")
	b.press("Show")
	b.wants("Activity", "ann pushed to development")
	if text := b.text(); strings.Contains(text, "pushed to production") || strings.Contains(text, "made the vault") {
		t.Errorf("the filter for an environment lets others through:\n%s", text)
	}
	b.fill("By whom", "bob")
	b.press("Show")
	b.wants("Activity", "Nothing that was done is like that.")
	b.press("Show all")
	b.wants("Activity", "ann made the vault", "ann pushed to production")
}

func TestAVaultIsDeletedByItsName(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/vaults/ann/app")
	b.press("Settings")
	b.fill("Type ann/app to confirm", "ann/ap")
	b.press("Delete the vault")
	b.wants("Settings", "Nothing was deleted.")
	b.fill("Type ann/app to confirm", "ann/app")
	b.press("Delete the vault")
	b.wants("Vaults", "The vault is gone, with everything in it.")
	b.open("/vaults/ann/app")
	b.wants("There is nothing here", "There is no vault for ann/app")
}
