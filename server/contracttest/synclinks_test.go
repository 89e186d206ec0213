package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestALinkIsSavedOnceForEachTarget(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	vault := h.ann.do(t, "GET "+v.at(), "").ok(200).text("data.id")
	saved := `{"link":{"id":"<id>","vaultId":"` + vault + `","connectionId":"` + g.connection + `","provider":"vercel","projectId":"` + h.project + `","projectName":"shop",
		"serviceId":null,"keywayEnvironment":"production","providerEnvironment":"production","autoSync":%t,"lastSyncedAt":null,"isNew":%t}}`
	a := h.ann.link(t, v, g).holds(200, fmt.Sprintf(saved, false, true))
	id := a.text("data.link.id")
	h.ann.recorded(t, v, "sync_link_saved", `"provider":"vercel","environment":"production","autoSync":false`)
	again := h.ann.link(t, v, g.at("providerEnvironment=production", "keywayEnvironment=")).holds(200, fmt.Sprintf(saved, false, false))
	if got := again.text("data.link.id"); got != id {
		t.Errorf("another link: %s, was %s", got, id)
	}
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	h.ann.sync(t, v, g).ok(200)
	a = h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[{"id":"`+id+`","provider":"vercel","connectionId":"`+g.connection+`","projectId":"`+h.project+`","projectName":"shop","serviceId":null,
		"keywayEnvironment":"production","providerEnvironment":"production","autoSync":false,"lastSyncedAt":"<time>","lastStatus":"success","lastRunAt":"<time>"}]`, a.at("data.syncs"))
	list := h.ann.do(t, "GET /v1/vaults", "").ok(200)
	list.same(quoted(id), list.at("data.0.syncs.0.id"))

	h.ann.do(t, "PATCH "+v.at()+"/environments/production", `{"newName":"live"}`).ok(200)
	a = h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`"live"`, a.at("data.syncs.0.keywayEnvironment"))

	link := "DELETE " + v.syncs() + "/link/"
	other := h.ann.vault(t, "@ann/other")
	h.ann.do(t, "DELETE "+other.syncs()+"/link/"+id, "").fails(404, "not-found")
	h.ann.do(t, link+someID, "").fails(404, "not-found")
	h.ann.do(t, link+"1", "").fails(404, "not-found")
	h.ann.do(t, link+strings.ToUpper(id), "").ok(204)
	h.ann.recorded(t, v, "sync_link_removed", `"provider":"vercel","environment":"live","autoSync":false`)
	h.ann.do(t, link+id, "").fails(404, "not-found")
	a = h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[]`, a.at("data.syncs"))
	h.held(t, "production", map[string]string{"A": "1"})
}

func TestALinkIsItsCreatorsOrAnAdmins(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	who := h.users(t, "bob", "cyd")
	h.grant(t, v.repo, "bob=write", "cyd=write")
	g := target{connection: h.connect(t, who["bob"], "vercel"), project: h.project, environment: "development"}
	theirs := g.at("connectionId=" + h.connect(t, who["cyd"], "vercel"))
	id := who["bob"].link(t, v, g).ok(200).text("data.link.id")
	who["cyd"].link(t, v, theirs).fails(409, "conflict")
	who["cyd"].do(t, "DELETE "+v.syncs()+"/link/"+id, "").fails(403, "forbidden")
	who["bob"].do(t, "DELETE "+v.syncs()+"/link/"+id, "").ok(204)
	id = who["cyd"].link(t, v, theirs).ok(200).text("data.link.id")
	h.ann.do(t, "DELETE "+v.syncs()+"/link/"+id, "").ok(204)
	who["bob"].link(t, v, g).ok(200)
	who["bob"].do(t, "DELETE /v1/integrations/connections/"+g.connection, "").ok(204) // its links go too
	a := h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[]`, a.at("data.syncs"))

	h.ann.link(t, v, target{connection: h.connect(t, h.ann, "vercel"), project: h.project, environment: "production"}).ok(200)
	h.grant(t, v.repo, "cyd=read")
	a = who["cyd"].do(t, "GET "+v.at(), "").ok(200)
	a.same(`[]`, a.at("data.syncs")) // who may not read production learns nothing of its links
}

// synced waits until a vault's link stands like this.
func (h *hosted) synced(t testing.TB, v *sample, status string) *answer {
	t.Helper()
	for range 400 {
		a := h.ann.do(t, "GET "+v.at(), "").ok(200)
		if a.text("data.syncs.0.lastStatus") == status {
			return a
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no sync came out as %s", status)
	return nil
}

// TestALinkSyncsByItself waits for real: a link syncs when an environment was left
// alone for some seconds.
func TestALinkSyncsByItself(t *testing.T) {
	t.Parallel()
	h, v, _ := connected(t)
	bob := h.user(t, "bob")
	h.grant(t, v.repo, "bob=write")
	g := target{connection: h.connect(t, bob, "vercel"), project: h.project, environment: "development"}
	h.vercel.Put(h.project, "development", "THEIRS", "kept")
	h.ann.push(t, v, "development", `{"A":"1"}`, "").ok(200)
	saved := bob.link(t, v, g.at("autoSync=true")).ok(200)
	saved.same(`true`, saved.at("data.link.autoSync"))
	h.synced(t, v, "success")
	h.held(t, "development", map[string]string{"A": "1", "THEIRS": "kept"})
	meta := h.ann.note(t, v, "secrets_synced")
	a := h.ann.do(t, "GET "+v.at()+"/activity?limit=1&action=secrets_synced", "").ok(200)
	a.same(`[true,"push","success","@bob"]`, []any{meta["auto"], meta["direction"], meta["status"], a.at("data.0.actor.username")})

	h.grant(t, v.repo, "bob=none") // what is pushed by itself is asked for anew each time
	h.ann.push(t, v, "development", `{"A":"2"}`, "").ok(200)
	a = h.synced(t, v, "disabled")
	a.same(`false`, a.at("data.syncs.0.autoSync"))
	h.held(t, "development", map[string]string{"A": "1", "THEIRS": "kept"})
}

func TestTheOperatorHasSyncsLookedAfter(t *testing.T) {
	t.Parallel()
	var c clock
	h, v, g := connected(t, c.option)
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	job := "GET /v1/integrations/jobs/" + h.ann.sync(t, v, g).ok(200).text("data.jobId")
	c.forward(23 * time.Hour)
	h.job(t, "syncs", 0)
	h.ann.do(t, job, "").ok(200)
	c.forward(2 * time.Hour)
	h.job(t, "syncs", 1)
	h.ann.do(t, job, "").fails(404, "not-found")
	h.job(t, "drift", 0)
}

// job has a job run, which removes this many records.
func (h *hosted) job(t testing.TB, name string, removed int) {
	t.Helper()
	done, err := h.Operator.RunJob(t.Context(), name)
	if err != nil || done.Removed != removed || done.LastError != nil {
		t.Errorf("%s: %+v, %v", name, done, err)
	}
}

func TestDriftIsSeenAndNotUndone(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.ann.push(t, v, "production", `{"A":"1","B":"2"}`, "").ok(200)
	h.ann.link(t, v, g.at("autoSync=true")).ok(200)
	h.ann.sync(t, v, g).ok(200)
	h.vercel.Put(h.project, "production", "B", "theirs")
	h.job(t, "drift", 0)
	a := h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[1,"<time>"]`, []any{a.at("data.syncs.0.driftKeys"), a.at("data.syncs.0.checkedAt")})
	h.held(t, "production", map[string]string{"A": "1", "B": "theirs"})
	h.ann.sync(t, v, g).ok(200)
	a = h.ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`null`, a.at("data.syncs.0.driftKeys"))
}
