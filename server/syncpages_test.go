package server_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"coffer/server/servertest"
	"coffer/server/standin"
)

const syncsAt = "/vaults/ann/api/syncs"

// target is what the address of a preview says, of Ann's production with the
// project's. More comes in pairs.
func (h *hosted) target(connection string, more ...string) string {
	q := url.Values{"connectionId": {connection}, "projectId": {h.project}, "keywayEnvironment": {"production"}, "providerEnvironment": {"production"}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return q.Encode()
}

var previewForm = regexp.MustCompile(`<form method="post" action="([^"]+/syncs/preview[^"]*)"[^>]*>\n<input type="hidden" name="planHash" value="([0-9a-f]+)">`)

// planOf is where the form of a preview goes, and what it was planned as.
func planOf(t *testing.T, s *servertest.Seen) (action, hash string) {
	t.Helper()
	m := previewForm.FindStringSubmatch(s.Text)
	if m == nil {
		t.Fatalf("there is no form: %s", s.Text)
	}
	return html.UnescapeString(m[1]), m[2]
}

// answers presses a button of a preview.
func answers(t *testing.T, b *servertest.Browser, s *servertest.Seen, do string) *servertest.Seen {
	t.Helper()
	action, hash := planOf(t, s)
	return b.Submit(action, "planHash", hash, "do", do)
}

var stepRow = regexp.MustCompile(`<tr><th scope="row"><code>([^<]+)</code></th><td><span class="badge[^"]*">([^<]+)</span> <span>([^<]+)</span></td></tr>`)

// steps is what a preview says, in lines.
func steps(s *servertest.Seen) (lines string) {
	for _, m := range stepRow.FindAllStringSubmatch(s.Text, -1) {
		lines += m[1] + ": " + m[2] + ": " + html.UnescapeString(m[3]) + "\n"
	}
	return lines
}

// led wants a form to lead to a page of a run, and returns that.
func led(t *testing.T, b *servertest.Browser, s *servertest.Seen) *servertest.Seen {
	t.Helper()
	if s.Status != 303 || !strings.HasPrefix(s.Location(), syncsAt+"/runs/") {
		t.Fatalf("got %d to %q: %s", s.Status, s.Location(), s.Text)
	}
	return b.Open(s.Location())
}

// TestASyncIsChosenStepByStep, previewed and done.
func TestASyncIsChosenStepByStep(t *testing.T) {
	h := hostedTown(t)
	h.vercel.Put(h.project, "production", "DB_URL", "another-canary")
	h.vercel.Put(h.project, "production", "DB_HOST", "canary-1")
	h.vercel.Put(h.project, "production", "OLD", "canary-old")
	expect(t, h.Browser().Open(syncsAt), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fsyncs")
	ann := inBrowser(h.Instance, "ann")
	s := expectSeen(t, ann.Open(syncsAt), 200, "No sync is saved with this vault.", "New sync")
	if got := current(s); got != "Vaults true, Integrations page" {
		t.Errorf("it is at %q", got)
	}
	expectSeen(t, ann.Open(syncsAt+"/new"), 200, "You are connected to no hosting provider yet.")
	id := h.connects(t, ann)
	expectSeen(t, ann.Open(syncsAt+"/new"), 200, `<option value="`+id+`">Vercel: Acme `+markup)
	s = expectSeen(t, ann.Open(syncsAt+"/new?connectionId="+id), 200, `<option value="`+h.project+`">site `+markup)
	unharmed(t, s)
	expectSeen(t, ann.Open(syncsAt+"/new?connectionId="+id+"&project=x"), 200, "no such project any more", `<option value="`+h.project+`"`)
	s = expectSeen(t, ann.Open(syncsAt+"/new?connectionId="+id+"&project="+h.project), 200, "<option selected>production</option>", `<option value="preview">`)
	unharmed(t, s)

	preview := syncsAt + "/preview?" + h.target(id)
	s = expectSeen(t, ann.Open(preview), 200, "What would change at Vercel", "1 to create, 1 to update, 0 to delete, 1 to skip, 1 to keep", "Takes effect with the next deployment.")
	unharmed(t, s)
	want := "DB_URL: ~ update: Vercel has another value.\nLIVE_KEY: + create: Vercel does not have it there.\n" +
		"OLD: keep: The vault does not have it, and deleting was not chosen.\nDB_HOST: skip: Both have the same value.\n"
	if got := steps(s); got != want || strings.Contains(s.Text, "canary") {
		t.Errorf("the plan is\n%s", got)
	}
	action, hash := planOf(t, s)
	refusedFrom(t, h.Instance, ann, action, "planHash", hash, "do", "sync")
	expectSeen(t, answers(t, ann, s, "x"), 400, "nothing that this page can do")
	expectSeen(t, ann.Submit(action, "do", "sync"), 400, "nothing that this page can do")

	// What changes meanwhile is shown before anything is done.
	h.vercel.Put(h.project, "production", "LIVE_KEY", "canary")
	s = expectSeen(t, answers(t, ann, s, "sync"), 409, "Something has changed since the preview", "LIVE_KEY")
	if h.vercel.Held(h.project, "production")["DB_URL"] != "another-canary" {
		t.Fatal("it was synced nevertheless")
	}
	s = led(t, ann, answers(t, ann, s, "sync"))
	expectSeen(t, s, 200, "All is done: 0 created, 1 updated, 0 deleted, 2 skipped", "Preview it again")
	if got := h.vercel.Held(h.project, "production"); got["DB_URL"] != "canary-same" || got["OLD"] == "" {
		t.Errorf("Vercel has %v", got)
	}
	expectSeen(t, ann.Open(syncsAt), 200, "0 created, 1 updated", "by ann")

	// Deleting is chosen, and the button says so.
	s = expectSeen(t, ann.Open(syncsAt+"/preview?"+h.target(id, "allowDelete", "true")), 200, "OLD", "− delete", "Sync and delete 1 key")
	expectSeen(t, led(t, ann, answers(t, ann, s, "sync")), 200, "1 deleted")
	expectSeen(t, ann.Open(preview), 200, "Nothing would change.")
}

func TestAPullIsPreviewedAndDone(t *testing.T) {
	h := hostedTown(t)
	h.vercel.Put(h.project, "production", "FROM_THERE", "x")
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	s := expectSeen(t, ann.Open(syncsAt+"/preview?"+h.target(id, "direction", "pull")), 200, "What would change in production", "1 to create")
	if strings.Contains(s.Text, `value="link"`) {
		t.Error("a pull can be saved")
	}
	expectSeen(t, led(t, ann, answers(t, ann, s, "sync")), 200, "All is done: 1 created")
	if got := h.Pull(h.SignIn("ann"), "ann/api", "production"); got["FROM_THERE"] != "x" || len(got) != 4 {
		t.Errorf("production has %v", got)
	}
}

// TestWhatWentWrongStandsWithItsKey.
func TestWhatWentWrongStandsWithItsKey(t *testing.T) {
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	s := ann.Open(syncsAt + "/preview?" + h.target(id))
	h.vercel.Break("/", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(rw, r)
			return
		}
		standin.Status(403)(f, rw, r, next)
	})
	s = led(t, ann, answers(t, ann, s, "sync"))
	expectSeen(t, s, 200, "What was not done", "LIVE_KEY", ">create</span>", "Preview it again")
	h.vercel.Heal()
	expectSeen(t, ann.Open(syncsAt), 200, "failed", "Not done: ")
	expectSeen(t, ann.Open(syncsAt+"/runs/x"), 404, "no such sync any more")
}

func TestALinkIsSavedSwitchedAndForgotten(t *testing.T) {
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	s := ann.Open(syncsAt + "/preview?" + h.target(id))
	expect(t, answers(t, ann, s, "link"), 303, syncsAt)
	s = expectSeen(t, ann.Open(syncsAt), 200, "The sync is saved.", "by hand", "not synced yet", "saved by ann", "Sync by itself")
	unharmed(t, s)
	link := regexp.MustCompile(`name="link" value="([^"]+)"`).FindStringSubmatch(s.Text)
	if link == nil {
		t.Fatalf("no link: %s", s.Text)
	}
	refusedFrom(t, h.Instance, ann, syncsAt, "do", "forget", "link", link[1])
	expectSeen(t, ann.Submit(syncsAt, "do", "x", "link", link[1]), 400, "nothing that this page can do")
	expectSeen(t, ann.Submit(syncsAt, "do", "sync", "link", "x"), 404, "no such link")
	expectSeen(t, led(t, ann, ann.Submit(syncsAt, "do", "sync", "link", link[1])), 200, "All is done: 3 created")
	expectSeen(t, ann.Open(syncsAt), 200, "all synced")

	h.vercel.Break("/", standin.Status(500))
	expectSeen(t, ann.Submit(syncsAt, "do", "sync", "link", link[1]), 502, "Vercel did not answer.", "Sync now")
	expectSeen(t, ann.Submit(syncsAt, "do", "auto", "link", link[1]), 502, "Vercel did not answer.")
	h.vercel.Heal()
	expectSeen(t, ann.Open("/connections/"+id), 200, "This saved sync goes with it", "ann/api", "site "+markup)
	expect(t, ann.Submit(syncsAt, "do", "auto", "link", link[1]), 303, syncsAt)
	expectSeen(t, ann.Open(syncsAt), 200, "by itself", "By hand only")
	expect(t, ann.Submit(syncsAt, "do", "hand", "link", link[1]), 303, syncsAt)

	h.vercel.Revoke(h.token)
	expectSeen(t, ann.Submit(syncsAt, "do", "sync", "link", link[1]), 409, "Reconnect", "Connect again")
	s = expectSeen(t, ann.Open(syncsAt), 200, `href="/connections/`+id+`">Connect again`)
	if strings.Contains(s.Text, "Sync now") {
		t.Error("what cannot be done is offered")
	}
	expect(t, ann.Submit(syncsAt, "do", "forget", "link", link[1]), 303, syncsAt)
	expectSeen(t, ann.Open(syncsAt), 200, "The sync is forgotten.", "No sync is saved with this vault.")
}

// TestWhatARoleMayNotSyncIsNotOffered, nor shown of environments that it may not
// read.
func TestWhatARoleMayNotSyncIsNotOffered(t *testing.T) {
	h := hostedTown(t)
	ann, bob := inBrowser(h.Instance, "ann"), inBrowser(h.Instance, "bob")
	annsID := h.connects(t, ann)
	s := ann.Open(syncsAt + "/preview?" + h.target(annsID))
	expect(t, answers(t, ann, s, "link"), 303, syncsAt)
	led(t, ann, answers(t, ann, s, "sync"))
	s = expectSeen(t, bob.Open(syncsAt), 200, "No sync is saved with this vault.", "There was no sync since yesterday.")
	if strings.Contains(s.Text, "production") {
		t.Errorf("bob sees production: %s", s.Text)
	}
	id := h.connects(t, bob)
	s = expectSeen(t, bob.Open(syncsAt+"/new?connectionId="+id+"&project="+h.project), 200)
	if strings.Contains(s.Text, "<option>production</option>") || strings.Contains(s.Text, "<option selected>production</option>") {
		t.Error("bob is offered production")
	}
	expectSeen(t, bob.Open(syncsAt+"/preview?"+h.target(id)), 403)

	into := h.target(id, "keywayEnvironment", "development", "providerEnvironment", "production")
	s = expectSeen(t, bob.Open(syncsAt+"/preview?"+into), 200, "only an admin of the repository may do that")
	if strings.Contains(s.Text, `value="sync"`) || strings.Contains(s.Text, `value="auto"`) {
		t.Error("bob is offered what is refused")
	}
	s = expectSeen(t, bob.Open(syncsAt+"/preview?"+h.target(id, "keywayEnvironment", "development", "providerEnvironment", "development", "direction", "pull")), 200, "You may read development but not change it.")
	if strings.Contains(s.Text, `value="sync"`) {
		t.Error("bob is offered to change development")
	}
	s = expectSeen(t, bob.Open(syncsAt+"/preview?"+h.target(id, "keywayEnvironment", "development", "providerEnvironment", "development")), 200)
	expectSeen(t, led(t, bob, answers(t, bob, s, "sync")), 200, "All is done")
	expectSeen(t, bob.Submit(syncsAt+"/preview?"+into, "do", "sync", "planHash", "x"), 403, "more protected")
	for _, page := range []string{syncsAt, syncsAt + "/new", syncsAt + "/preview", syncsAt + "/runs/x"} {
		expectSeen(t, bob.Open(strings.Replace(page, "ann/api", "ann/web", 1)), 404)
	}

	// A link of Bob's is Ann's to forget, and nobody else's to sync.
	expect(t, answers(t, bob, s, "auto"), 303, syncsAt)
	s = expectSeen(t, ann.Open(syncsAt), 200, "saved by bob", "Forget it, development to")
	if strings.Contains(s.Text, "Sync now, development") {
		t.Error("ann may sync through bob's connection")
	}

	// Who has left sees of a vault no more than that there is a link of their own.
	expectSeen(t, bob.Open("/connections/"+id), 200, "ann/api", ", development, with site")
	h.Grant("ann/api", "bob", "none")
	s = expectSeen(t, bob.Open("/connections/"+id), 200, "a vault that you see no more, with site")
	if strings.Contains(s.Text, "ann/api") || strings.Contains(s.Text, ", development, with") {
		t.Errorf("bob sees what they left: %s", s.Text)
	}
}

// TestARunningSyncCanBeStopped by whoever began it.
func TestARunningSyncCanBeStopped(t *testing.T) {
	h := hostedTown(t)
	ann := inBrowser(h.Instance, "ann")
	id := h.connects(t, ann)
	s := ann.Open(syncsAt + "/preview?" + h.target(id))
	action, hash := planOf(t, s)
	h.vercel.Break("/v10/projects/"+h.project+"/env", standin.Slow(3*time.Second))
	ended := make(chan *servertest.Seen, 1)
	go func() { ended <- ann.Submit(action, "planHash", hash, "do", "sync") }()
	run := ""
	for end := time.Now().Add(10 * time.Second); run == "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		s = inBrowser(h.Instance, "ann").Open(syncsAt)
		if m := regexp.MustCompile(`name="run" value="([^"]+)"`).FindStringSubmatch(s.Text); m != nil {
			run = m[1]
		}
	}
	if run == "" {
		t.Fatalf("no run is under way: %s", s.Text)
	}
	other := inBrowser(h.Instance, "ann")
	expectSeen(t, other.Open(syncsAt+"/runs/"+run), 200, "0 of 3 changes done", "Look again", `data-run="`+run+`"`)
	h.Grant("ann/api", "bob", "admin")
	bob := inBrowser(h.Instance, "bob")
	s = expectSeen(t, bob.Open(syncsAt+"/runs/"+run), 200, "0 of 3 changes done")
	if strings.Contains(s.Text, `value="stop"`) || strings.Contains(s.Text, "/static/sync.") {
		t.Error("bob may stop ann's sync")
	}
	expectSeen(t, bob.Submit(syncsAt, "do", "stop", "run", run), 404)
	expect(t, other.Submit(syncsAt, "do", "stop", "run", run), 303, syncsAt)
	expectSeen(t, other.Open(syncsAt), 200, "The sync stops as soon as")
	s = led(t, ann, <-ended)
	expectSeen(t, s, 200, "It was stopped.")
	expect(t, other.Submit(syncsAt, "do", "stop", "run", run), 303, syncsAt)
}
