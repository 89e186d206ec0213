package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/hosting/hostingtest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// dock is ann at a terminal that nobody answers on, with a vault and a project at
// Vercel that is built from its repository.
type dock struct {
	*servertest.Instance
	ann            *client.Client
	vercel         *hostingtest.Vercel
	user, project  string // at Vercel
	stdout, stderr bytes.Buffer
	out            *console
}

func newDock(t *testing.T, options ...func(*server.Config)) *dock {
	t.Helper()
	v := hostingtest.NewVercel(t, time.Now)
	options = append(options, func(c *server.Config) { c.Hosting.Vercel.APIURL = v.URL })
	d := &dock{Instance: servertest.New(t, options...), vercel: v, user: v.AddUser("ann-there")}
	d.project = v.AddProject(d.user, "backend")
	v.Link(d.project, map[string]any{"type": "github", "org": "ann", "repo": "app"})
	d.ann = d.User("ann")
	d.Vault(d.ann, "ann/app")
	d.out = &console{in: strings.NewReader(""), out: &d.stdout, err: &d.stderr, yes: true}
	return d
}

func (d *dock) connect(t *testing.T) {
	t.Helper()
	token := d.vercel.Token(hostingtest.VercelToken{User: d.user})
	_, err := d.ann.Connect(t.Context(), api.Connect{ProviderRef: api.ProviderRef{Provider: "vercel"}, Token: api.NewSecret(token)})
	if err != nil {
		t.Fatal(err)
	}
}

func many(n int) map[string]string {
	values := make(map[string]string)
	for i := range n {
		values[fmt.Sprintf("KEY_%03d", i)] = fmt.Sprintf("c4n4ry-%d", i)
	}
	return values
}

func production() syncOptions {
	return syncOptions{aim: aim{place: place{"ann/app", "production"}, provider: "vercel"}}
}

func (d *dock) expect(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(d.stderr.String(), part) {
			t.Errorf("%q is not in:\n%s", part, d.stderr.String())
		}
	}
	if all := d.stdout.String() + d.stderr.String(); strings.Contains(all, "c4n4ry") || strings.Contains(all, "vercel-token") {
		t.Errorf("a secret is shown:\n%s", all)
	}
}

// TestAnInterruptedSyncIsStopped: what was sent is told, and nothing is sent after.
func TestAnInterruptedSyncIsStopped(t *testing.T) {
	d := newDock(t)
	d.connect(t)
	d.Push(d.ann, "ann/app", "production", many(30))
	for key := range many(30) {
		d.vercel.Put(d.project, "production", key, "old") // each is changed on its own
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.vercel.Break("/v9/projects/"+d.project+"/env/", standin.After(5, func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		cancel()
		standin.Slow(500*time.Millisecond)(f, rw, r, next)
	}))
	if err := runSync(ctx, production(), d.ann, d.out); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	d.expect(t, "Stopping the sync. What is done stays done.", "updated, 0 deleted, 0 skipped", "The run was stopped before it got here. Sync again to finish.")
	sent := func() (n int) {
		for _, value := range d.vercel.Held(d.project, "production") {
			if value != "old" {
				n++
			}
		}
		return n
	}
	before := sent()
	if before < 5 || before == 30 {
		t.Errorf("%d were sent", before)
	}
	time.Sleep(600 * time.Millisecond)
	if after := sent(); after != before {
		t.Errorf("%d were sent after the end", after-before)
	}
	d.vercel.Heal()
	if err := runSync(t.Context(), production(), d.ann, d.out); err != nil || sent() != 30 {
		t.Errorf("%v, %d were sent", err, sent())
	}
}

// TestAPartialSyncNamesEveryKeyThatFailed, and exits with 1.
func TestAPartialSyncNamesEveryKeyThatFailed(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		d := newDock(t)
		d.connect(t)
		d.out.json = asJSON
		d.Push(d.ann, "ann/app", "production", map[string]string{"A": "c4n4ry", "AWS_SECRET_KEY": "c4n4ry"})
		o := production()
		o.link = true
		if err := runSync(t.Context(), o, d.ann, d.out); exitCode(err) != exitError {
			t.Fatalf("got %v", err)
		}
		if asJSON {
			var got api.SyncResult
			if err := json.Unmarshal(d.stdout.Bytes(), &got); err != nil || got.Status != api.SyncPartial || len(got.Failed) != 1 || got.Failed[0].Key != "AWS_SECRET_KEY" {
				t.Errorf("%v: %s", err, d.stdout.String())
			}
			d.expect(t)
		} else {
			d.expect(t, "1 created, 0 updated, 0 deleted, 0 skipped, 1 not done.", "! AWS_SECRET_KEY  create  The provider keeps this name for itself. Rename the secret.")
		}
		if v, err := d.ann.Vault(t.Context(), "ann/app"); err != nil || len(v.Syncs) > 0 {
			t.Errorf("remembered %+v, %v", v.Syncs, err)
		}
	}
}

// TestASyncThatCannotBeginSaysWhy: somebody was faster, or the provider is away.
func TestASyncThatCannotBeginSaysWhy(t *testing.T) {
	d := newDock(t)
	d.connect(t)
	d.Push(d.ann, "ann/app", "production", map[string]string{"A": "c4n4ry"})
	mine := *d.ann
	mine.Transport = tampering{"/sync", func() { d.Push(d.ann, "ann/app", "production", map[string]string{"B": "c4n4ry"}) }}
	if err := runSync(t.Context(), production(), &mine, d.out); exitCode(err) != exitConflict || !strings.Contains(err.Error(), "changed since the preview") {
		t.Errorf("got %v", err)
	}
	mine.Transport = tampering{"/sync", func() { d.vercel.Break("", standin.Status(http.StatusBadGateway)) }}
	if err := runSync(t.Context(), production(), &mine, d.out); exitCode(err) != exitError {
		t.Errorf("got %v", err)
	}
	d.expect(t, "Nothing was synced.", "Vercel did not answer. Try again in a moment.")
	if held := d.vercel.Held(d.project, "production"); len(held) > 0 {
		t.Errorf("sent %v", held)
	}
}

// tampering lets something happen before a change is asked for at an address.
type tampering struct {
	suffix string
	act    func()
}

func (m tampering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, m.suffix) {
		m.act()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestTheWaitingSurvivesARestart of the server, which goes on with the sync.
func TestTheWaitingSurvivesARestart(t *testing.T) {
	var asked int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		switch asked {
		case 1:
			fmt.Fprint(w, `{"data":{"jobId":"j","status":"running","progress":{"done":1,"total":2},"finishedAt":null}}`)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"type":"https://x/errors/sealed","title":"t","detail":"Sealed."}`)
		default:
			fmt.Fprint(w, `{"data":{"jobId":"j","status":"success","result":{"success":true,"status":"success","created":2},"finishedAt":"2031-02-03T04:05:06.000Z"}}`)
		}
	}))
	defer s.Close()
	var stderr bytes.Buffer
	r := &running{client: &client.Client{URL: s.URL}, out: &console{out: &stderr, err: &stderr}}
	job, err := r.follow(t.Context(), "j")
	if err != nil || job.Result.Created != 2 {
		t.Errorf("got %+v, %v", job, err)
	}
}

// TestConnectingInTheBrowser opens a page that asks for no other credential, and
// waits for the connection that comes of it, also where there was one before.
func TestConnectingInTheBrowser(t *testing.T) {
	d := newDock(t, func(c *server.Config) {
		c.Hosting.Vercel = server.ProviderConfig{ClientID: "c1", ClientSecret: "s3cret", Slug: "coffer", WebURL: "https://web.example"}
	})
	d.vercel.AddApp(hostingtest.VercelApp{Slug: "coffer", ClientID: "c1", Secret: "s3cret", Redirect: "https://vault.example/v1/integrations/vercel/callback"})
	team := d.vercel.AddTeam("Acme", d.user)
	for range 2 {
		o := connectOptions{provider: "vercel", browser: func(page string) bool {
			at, err := url.Parse(page)
			if err != nil || !strings.HasPrefix(page, d.URL) || strings.Contains(page, d.ann.Token) {
				t.Errorf("opened %s, %v", page, err)
			}
			b := d.Browser()
			there := b.Open(at.RequestURI()).Location()
			back := b.Open("/v1/integrations/vercel/callback?" + d.vercel.Install(there, d.user, team).Encode())
			if back.Status != http.StatusFound {
				t.Errorf("came back to %d %s", back.Status, back.Text)
			}
			return true
		}}
		if err := runConnect(t.Context(), o, d.ann, d.out); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "in the browser that opens now", "It opens once, within 60 seconds.", "Connected to Vercel, team Acme.")
		d.stderr.Reset()
	}
	if all, err := d.ann.Connections(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestProjectsAreTold: projects are told apart by what was named, by saved syncs, by the repository
// and by the name, in this order.
func TestProjectsAreTold(t *testing.T) {
	vault := &api.Vault{RepoFullName: "Ann/App", Syncs: []api.VaultSync{{Provider: "vercel", KeywayEnvironment: "staging", ProjectID: "p3"}}}
	service := func(id, name string) api.ProviderProject {
		return api.ProviderProject{ID: "p4", Name: "shop", ServiceID: id, ServiceName: name}
	}
	all := []api.ProviderProject{
		{ID: "p1", Name: "app"}, {ID: "p2", Name: "site", LinkedRepo: "ann/app"}, {ID: "p3", Name: "other"},
		service("", ""), service("s1", "web"), service("s2", "db"),
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		aim  aim
		want string // ids of the first project that is told, and its service
	}{
		{aim{}, "p2/"},
		{aim{place: place{environment: "staging"}}, "p3/"},
		{aim{project: "p1"}, "p1/"},
		{aim{project: "SITE"}, "p2/"},
		{aim{project: "p9"}, ""},
		{aim{project: "p1", service: text("s1")}, ""},
		{aim{project: "shop", service: text("WEB")}, "p4/s1"},
		{aim{project: "p4", service: text("s2")}, "p4/s2"},
		{aim{project: "p4", service: text("")}, "p4/"},
		{aim{project: "p4"}, "p4/ p4/s1 p4/s2"},
	} {
		c.aim.provider = "vercel"
		var got []string
		for _, fits := range c.aim.tests(vault) {
			for _, p := range all {
				if fits(p) {
					got = append(got, p.ID+"/"+p.ServiceID)
				}
			}
			if len(got) > 0 {
				break
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: got %q, want %q", c.aim, text, c.want)
		}
	}
}

// TestEveryReasonHasWords, in both directions, and none is shown as it is on the
// wire.
func TestEveryReasonHasWords(t *testing.T) {
	for _, code := range []string{"absent_at_target", "differs", "unreadable_changed", "unchanged", "unchanged_unreadable", "unreadable",
		"invalid_key", "reserved_key", "too_large", "not_owned", "absent_at_source", "delete_not_allowed"} {
		for _, pull := range []bool{false, true} {
			w := &syncWords{display: "Vercel", pull: pull}
			if text := w.reason(code); text == "" || text == strings.ReplaceAll(code, "_", " ") {
				t.Errorf("%s: %q", code, text)
			}
		}
	}
	w := &syncWords{display: "Vercel"}
	if got := w.reason("made_up_later"); got != "made up later" {
		t.Errorf("got %q", got)
	}
}
